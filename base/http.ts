import { createServer as createHttp, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps, type Server as HttpsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { type BcryptThread, bcryptThread, type Compare } from './bcrypt.ts';
import { bind, type ServedAddress, servedAddress } from './bind.ts';
import { type Clock, type Stoppable, systemClock } from './clock.ts';
import { Connections } from './connections.ts';
import { baseError, describe } from './errors.ts';
import { createGate, type Gate } from './gate.ts';
import { formatListenAddress, type ListenAddress, parseListenAddress } from './listen.ts';
import { type Log, type OnceLog, onceLog } from './log.ts';
import { markUnix } from './peer.ts';
import { clientIdentity, clientRefusal, type TlsMaterial } from './tls.ts';
import type { WebConfig } from './webconfig.ts';
import type { WebConfigStore } from './webconfig-store.ts';

export type { ServedAddress } from './bind.ts';
export { isLoopback, isUnixPeer, userOf } from './peer.ts';

/** Bounds against slow and greedy clients; times in ms. */
export const LIMITS = {
  /** From the connection to the end of the request's headers. */
  headersMs: 10_000,
  /** From the connection to the end of the request's body. */
  requestMs: 30_000,
  handshakeMs: 10_000,
  /** Longer than common scrape intervals, so that Prometheus keeps its connection. */
  keepAliveMs: 95_000,
  headerBytes: 16_384,
  connections: 512,
} as const;
export type Limits = { readonly [Name in keyof typeof LIMITS]: number };

export interface WebServerOptions {
  /** An Express app or any handler. */
  app: RequestListener;
  /** Values of `--web.listen-address`. */
  listen: readonly string[];
  /** exporter-toolkit's file; followed on change. TCP only: a Unix socket is protected by its mode and folder. */
  webConfigFile?: string | undefined;
  log: Log;
  clock?: Clock;
  /** Permissions of Unix sockets. */
  socketMode?: number;
  limits?: Partial<Limits>;
  /** Password check; default is bcrypt in a thread of its own. */
  compare?: Compare;
  /** Requests that need no password, because they carry another proof that the app accepts. */
  proven?: ((request: IncomingMessage) => boolean) | undefined;
  /** How often the files of the web configuration are looked at, ms. */
  watchMs?: number;
}

export interface WebServer {
  /** Opens all addresses, or none: throws after closing those that were open. */
  start(): Promise<readonly ServedAddress[]>;
  /** Accepts nothing new, closes idle connections now and busy ones after `graceMs` at the latest. */
  stop(graceMs: number): Promise<void>;
  /** Reads the web configuration again. Rejects where it is wrong; the last good one stays in force. */
  reload(): Promise<void>;
  readonly addresses: readonly ServedAddress[];
}

interface Listener {
  address: ListenAddress;
  server: Server;
  connections: Connections;
}

/** Serves one app on several addresses. Throws at once where an address cannot be understood. */
export function createWebServer(options: WebServerOptions): WebServer {
  return new NodeWebServer(options);
}

class NodeWebServer implements WebServer {
  addresses: readonly ServedAddress[] = [];
  readonly #options: WebServerOptions;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #wanted: readonly ListenAddress[];
  readonly #once: OnceLog;
  #listeners: Listener[] = [];
  #store: WebConfigStore | undefined;
  #gate: Gate | undefined;
  #bcrypt: BcryptThread | undefined;
  #watch: Stoppable | undefined;
  #watching = false;

  constructor(options: WebServerOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#once = onceLog(options.log);
    this.#wanted = options.listen.map(parseListenAddress);
    if (this.#wanted.length === 0) {
      throw baseError(
        'LISTEN_ADDRESS_INVALID',
        'no listen address is given',
        'Set --web.listen-address, for example :9510.',
      );
    }
  }

  async start(): Promise<readonly ServedAddress[]> {
    await this.#openConfig();
    try {
      for (const address of this.#wanted) await this.#open(address);
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    this.addresses = this.#listeners.map(({ address, server }) => servedAddress(address, server));
    for (const { address, url } of this.addresses) {
      this.#options.log.info({ address: formatListenAddress(address), url: url || undefined }, 'listening');
    }
    return this.addresses;
  }

  async stop(graceMs: number): Promise<void> {
    this.#watch?.stop();
    const listeners = this.#listeners;
    this.#listeners = [];
    this.addresses = [];
    const closed = listeners.map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const { connections } of listeners) connections.drain();
    const cut = this.#clock.timer(
      graceMs,
      () => {
        for (const { connections } of listeners) connections.destroyAll();
      },
      { keepAlive: true },
    );
    await Promise.all(closed);
    cut.stop();
    await this.#bcrypt?.stop();
  }

  async reload(): Promise<void> {
    if (!this.#store) return;
    const config = this.#store.reload();
    this.#apply(config);
    this.#once.report('web configuration', undefined);
    this.#options.log.info(
      { file: config.file, users: config.users.size, tls: config.tls !== undefined },
      'web configuration read',
    );
  }

  async #openConfig(): Promise<void> {
    const { webConfigFile: file, log, watchMs = 5_000 } = this.#options;
    if (!file) return;
    // Loaded on demand: YAML and schema checking cost start-up time that a plain server need not pay.
    const { openWebConfig } = await import('./webconfig-store.ts');
    this.#store = openWebConfig(file, { now: () => this.#clock.now() });
    let { compare } = this.#options;
    if (!compare) {
      this.#bcrypt = bcryptThread(this.#clock);
      compare = this.#bcrypt.compare;
    }
    this.#gate = createGate({
      clock: this.#clock,
      compare,
      log,
      config: this.#store.current(),
      proven: this.#options.proven,
    });
    this.#warn(this.#store.current());
    await this.#store.changed();
    this.#watch = this.#clock.every(watchMs, () => void this.#look());
  }

  /** Reloads where a file changed. A bad state is told once, and again when it changes. */
  async #look(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    try {
      if (await this.#store?.changed()) await this.reload();
    } catch (error) {
      this.#once.report('web configuration', describe(error), { kept: 'last good' });
    } finally {
      this.#watching = false;
    }
  }

  #apply(config: WebConfig): void {
    this.#gate?.use(config);
    this.#warn(config);
    const { tls } = config;
    if (!tls) return;
    for (const { address, server } of this.#listeners) {
      if (address.kind === 'tcp') (server as HttpsServer).setSecureContext(tls.context);
    }
  }

  #warn(config: WebConfig): void {
    this.#once.report('web configuration hints', config.warnings.length > 0 ? config.warnings.join('; ') : undefined);
  }

  async #open(address: ListenAddress): Promise<void> {
    const server = this.#create(address);
    this.#listeners.push({ address, server, connections: new Connections(server) });
    await bind(server, address, this.#options.socketMode ?? 0o660);
    server.on('error', (error) =>
      this.#options.log.error({ err: error, address: formatListenAddress(address) }, 'listener'),
    );
  }

  #create(address: ListenAddress): Server {
    const limits = this.#limits;
    const shared = {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
      maxHeaderSize: limits.headerBytes,
    };
    const tls = address.kind === 'tcp' ? this.#store?.current().tls : undefined;
    const handler = address.kind === 'tcp' && this.#gate ? this.#gate.guard(this.#options.app) : this.#options.app;
    const server = tls ? this.#createTls(tls, shared, handler) : createHttp(shared, handler);
    server.maxConnections = limits.connections;
    if (address.kind === 'unix') server.prependListener('connection', markUnix);
    return server;
  }

  #createTls(tls: TlsMaterial, shared: object, handler: RequestListener): HttpsServer {
    const server = createHttps(
      {
        ...shared,
        ...tls.context,
        handshakeTimeout: this.#limits.handshakeMs,
        requestCert: tls.clientAuth !== 'NoClientCert',
        // Judged below by the policy that is in force at that moment, which Node's own switch cannot follow.
        rejectUnauthorized: false,
      },
      (request, response) => {
        if (!request.socket.destroyed) handler(request, response);
      },
    );
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      const policy = this.#store?.current().tls;
      const refusal = policy && clientRefusal(policy, clientIdentity(socket));
      if (!refusal) return;
      this.#options.log.debug({ peer: socket.remoteAddress, reason: refusal }, 'TLS client turned away');
      socket.destroy();
    });
    server.on('tlsClientError', (error, socket) =>
      this.#options.log.debug({ peer: socket.remoteAddress, reason: error.message }, 'TLS handshake failed'),
    );
    return server;
  }
}
