import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { createActuator } from '../actuator/app.ts';
import { type Holder, type HostLock, hostLockHolder, takeHostLock } from '../actuator/host-lock.ts';
import { canonicalPci } from '../actuator/intake/pci.ts';
import { type Ledger, openLedger } from '../actuator/ledger/ledger.ts';
import { FollowedRules } from '../actuator/rules-follow.ts';
import { playSignals } from '../actuator/signals-play.ts';
import { type Daemon, runUntilSignal } from '../base/app.ts';
import { followBearerTokens, openBearerTokens, requireAuthBeyondHost } from '../base/bearer.ts';
import { systemClock } from '../base/clock.ts';
import { configurationError, describe, NightshiftError } from '../base/errors.ts';
import { keepHeapSmall } from '../base/heap.ts';
import { createWebServer } from '../base/http.ts';
import { parseListenAddress } from '../base/listen.ts';
import { createLog, type Log } from '../base/log.ts';
import { loadWebConfig } from '../base/webconfig.ts';
import type { ActuatorFlags } from './actuator.ts';
import { folder, pathsOf } from './paths.ts';
import { revision, version } from './version.ts';

/** Starts the actuator of this process on a daemon; the demo starts it beside an exporter. */
export async function startActuator(given: ActuatorFlags, log: Log, daemon: Daemon): Promise<Running> {
  const { life } = daemon;
  const paths = pathsOf(given);
  const listen = given['web.listen-address'];
  const webConfig = given['web.config.file'];
  const tokenFile = given['web.bearer-token-file'];
  const tokens = tokenFile === undefined ? undefined : openBearerTokens(tokenFile);
  const config = webConfig === undefined ? undefined : loadWebConfig(webConfig);
  const clientCertificates = config?.tls?.clientAuth === 'RequireAndVerifyClientCert';
  requireAuthBeyondHost(listen.map(parseListenAddress), {
    bearer: tokens !== undefined,
    users: (config?.users.size ?? 0) > 0,
    clientCertificates,
  });
  const protectedCards = new Set(given.protect.map(addressOf));
  const rules = new FollowedRules({ path: given.rules, clock: systemClock, log });
  const loaded = rules.load();
  const ledgerFile = resolve(given.ledger);
  const { ledger, frozenBecause } = openOrFreeze(ledgerFile, log);
  life.add('ledger', () => ledger?.close());
  const self = { pid: process.pid, ledger: ledgerFile };
  let lock = await writerLock(paths.sysfs, self, log);
  life.add('host lock', () => lock?.release());
  const actuator = createActuator({
    paths,
    clock: systemClock,
    log,
    node: given['node.name'] ?? hostname(),
    version: version(),
    revision: revision(),
    rules: loaded,
    ledger,
    frozenBecause,
    observing: lock === undefined,
    enforce: given.enforce,
    protectedCards,
    intervalMs: given.interval,
    laneDeadlineMs: given['lane.deadline'],
    acts: { acts: given['limits.acts'], perMs: 60_000 },
    failures: { failures: given['limits.failures'], perMs: 600_000 },
    exporterUrl: given['exporter.url'],
    tokens,
    clientCertificates: () => clientCertificates,
  });
  const socket = resolve(given['control.socket'] ?? `${ledgerFile}.sock`);
  const server = createWebServer({
    app: actuator.app,
    listen: [...listen, `unix:${socket}`],
    webConfigFile: webConfig,
    socketMode: 0o660,
    proven: tokens && ((request) => tokens.check(request.headers.authorization) === 'granted'),
    log,
  });
  const addresses = await server.start();
  life.add('web server', () => server.stop(200));
  life.add('actuator', () => actuator.stop());
  if (tokens !== undefined) {
    const following = followBearerTokens(tokens, systemClock, log);
    life.add('bearer tokens', () => following.stop());
  }
  await actuator.start();
  if (lock === undefined) {
    const waiting = systemClock.every(LOCK_MS, async () => {
      lock ??= await takeHostLock(paths.sysfs, self).catch(() => undefined);
      if (lock === undefined) return;
      waiting.stop();
      actuator.becomeWriter();
    });
    life.add('waiting for the host', () => waiting.stop());
  }
  const followed = rules.follow(
    (next) => actuator.reload(next),
    () => actuator.reloadFailed(),
  );
  life.add('rules', () => followed.stop());
  const recording = given['signals.recording'];
  if (recording !== undefined) {
    const { accept, now, book } = actuator;
    const known = (key: string) => book.triggers.get(key);
    const playing = playSignals({ file: recording, clock: systemClock, log, accept, known, now });
    life.add('signals', () => playing.stop());
  }
  return {
    addresses,
    socket,
    async reload() {
      actuator.rediscover();
      await server.reload();
      tokens?.reload();
      rules.reload(
        (next) => actuator.reload(next),
        () => actuator.reloadFailed(),
      );
    },
  };
}

function addressOf(text: string): string {
  const pci = canonicalPci(text);
  if (pci !== undefined) return pci;
  throw configurationError('FLAG_INVALID', `--protect=${text}: not a PCI address`, 'Write it like 0000:c1:00.0.');
}

export interface Running {
  addresses: readonly { url: string }[];
  socket: string;
  reload(): Promise<void>;
}

export async function runActuator(given: ActuatorFlags): Promise<void> {
  keepHeapSmall();
  const log = createLog({ level: given['log.level'], format: given['log.format'] });
  let running: Running | undefined;
  await runUntilSignal({
    log,
    async start(daemon) {
      running = await startActuator(given, log, daemon);
    },
    reload: () => running?.reload(),
  });
}

/**
 * A ledger that somebody else holds, or that lies where it cannot be written, is the operator's to put right, and nothing
 * starts. One that cannot be read is worse: what we hold of the cards is not known, so the process stands, says so, and
 * begins nothing.
 */
function openOrFreeze(file: string, log: Log): { ledger: Ledger | undefined; frozenBecause?: string } {
  folder('ledger', dirname(file));
  try {
    return { ledger: openLedger(file, { now: () => systemClock.now(), log, waitMs: 5_000 }) };
  } catch (error) {
    if (!(error instanceof NightshiftError) || !FREEZING.has(error.code)) throw error;
    log.error(`frozen: ${describe(error)}`);
    return { ledger: undefined, frozenBecause: describe(error) };
  }
}

const FREEZING = new Set(['LEDGER_BROKEN', 'LEDGER_NEWER']);

/** How often an observer looks whether the other one has gone. */
const LOCK_MS = 5_000;

/** Undefined where another process acts on these cards: this one then observes. */
async function writerLock(sysfs: string, self: Holder, log: Log): Promise<HostLock | undefined> {
  try {
    return await takeHostLock(sysfs, self);
  } catch (error) {
    if (!(error instanceof NightshiftError) || error.code !== 'HOST_LOCK_HELD') throw error;
    const holder = await hostLockHolder(sysfs);
    log.warn({ holder }, `observing only: ${describe(error)}`);
    return undefined;
  }
}
