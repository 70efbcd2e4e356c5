import { isIPv4, isIPv6 } from 'node:net';
import { posix } from 'node:path';
import { baseError, errnoOf, type NightshiftError, toError } from './errors.ts';

/** Where to listen. `host` is undefined for every interface, IPv6 and IPv4. */
export type ListenAddress = { kind: 'tcp'; host: string | undefined; port: number } | { kind: 'unix'; path: string };

/** sun_path of sockaddr_un holds 108 bytes, the last of them NUL. */
const MAX_SOCKET_PATH = 107;
const HINT = 'Write :9510, 127.0.0.1:9510, [::1]:9510 or unix:/run/name.sock.';
const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

function refuse(text: string, why: string, hint = HINT): NightshiftError {
  return baseError('LISTEN_ADDRESS_INVALID', `listen address "${text}": ${why}`, hint);
}

/** Reads a value of `--web.listen-address`. Port 0 asks the system for a free port. */
export function parseListenAddress(text: string): ListenAddress {
  if (text.startsWith('unix:')) return parseUnix(text);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) throw refuse(text, 'an address carries no scheme');
  const colon = text.lastIndexOf(':');
  if (colon < 0) {
    throw /^\d+$/.test(text)
      ? refuse(text, 'the colon is missing', `Write :${text}.`)
      : refuse(text, 'the port is missing');
  }
  if (text.endsWith(']') || (text.startsWith('[') && !text.includes(']'))) throw refuse(text, 'the port is missing');
  const host = parseHost(text, text.slice(0, colon));
  return { kind: 'tcp', host, port: parsePort(text, text.slice(colon + 1)) };
}

function parseUnix(text: string): ListenAddress {
  const raw = text.slice('unix:'.length);
  if (raw.startsWith('@')) throw refuse(text, 'abstract sockets have no file mode to protect them');
  if (!raw.startsWith('/')) throw refuse(text, 'the path of a Unix socket must be absolute');
  if (raw.includes('\0') || raw.endsWith('/')) throw refuse(text, 'this is not the path of a file');
  const path = posix.normalize(raw.replace(/^\/+/, '/'));
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH) {
    throw refuse(text, `the path has ${bytes} bytes, the kernel takes ${MAX_SOCKET_PATH}`, 'Choose a shorter path.');
  }
  return { kind: 'unix', path };
}

function parseHost(text: string, host: string): string | undefined {
  if (host === '') return undefined;
  if (host.startsWith('[')) {
    const inner = host.slice(1, -1);
    if (!host.endsWith(']') || !isIPv6(inner)) throw refuse(text, `"${host}" is not an IPv6 address in brackets`);
    return inner;
  }
  if (host.includes(':')) throw refuse(text, 'an IPv6 address stands in brackets', `Write [${host}]:port.`);
  if (isIPv4(host)) return host;
  // Four numbers that are no IPv4 address would otherwise be looked up as a host name.
  if (/^[\d.]+$/.test(host) || !HOST_NAME.test(host))
    throw refuse(text, `"${host}" is neither an address nor a host name`);
  return host;
}

function parsePort(text: string, digits: string): number {
  if (digits === '') throw refuse(text, 'the port is missing');
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : Number.NaN;
  if (!(port <= 65_535)) throw refuse(text, `"${digits}" is not a port between 0 and 65535`);
  return port;
}

/** As `--web.listen-address` takes it. */
export function formatListenAddress(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  const { host, port } = address;
  if (host === undefined) return `:${port}`;
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True for 127.0.0.0/8, ::1 and IPv4 loopback written as IPv6. A host name is not resolved: only `localhost` counts. */
export function isLoopbackHost(host: string | undefined): boolean {
  if (host === undefined) return false;
  const name = host.toLowerCase();
  const v4 = name.startsWith('::ffff:') ? name.slice('::ffff:'.length) : name;
  if (isIPv4(v4)) return v4.startsWith('127.');
  return name === 'localhost' || (isIPv6(name) && (name === '::1' || /^(0{1,4}:){7}0{0,3}1$/.test(name)));
}

/** Whether other machines can reach this address. */
export function reachesBeyondHost(address: ListenAddress): boolean {
  return address.kind === 'tcp' && !isLoopbackHost(address.host);
}

/** What the system's refusal to listen means and how to mend it. */
export function listenError(address: ListenAddress, thrown: unknown): NightshiftError {
  const where = formatListenAddress(address);
  const cause = toError(thrown);
  const errno = errnoOf(cause);
  const other = 'or choose another address with --web.listen-address.';
  const fail = (why: string, hint: string) =>
    baseError('LISTEN_FAILED', `cannot listen on ${where}: ${why}`, hint, { cause });
  if (errno === 'EADDRINUSE') {
    const find = address.kind === 'tcp' ? `ss -ltnp 'sport = :${address.port}'` : `ss -lxp src ${address.path}`;
    const message = `cannot listen on ${where}: another program already listens there`;
    return baseError('LISTEN_IN_USE', message, `Find it with: ${find}, ${other}`, { cause });
  }
  if (errno === 'EACCES' || errno === 'EPERM') {
    return address.kind === 'unix'
      ? fail('the folder is not writable for this user', 'Let the service manager create it (RuntimeDirectory=).')
      : fail('this user may not open the port', 'Ports below 1024 need CAP_NET_BIND_SERVICE; choose a higher one.');
  }
  if (errno === 'EADDRNOTAVAIL')
    return fail('no interface of this machine has that address', `Check ip addr, ${other}`);
  if (errno === 'EAFNOSUPPORT')
    return fail('this machine has no such protocol', 'Is IPv6 switched off? Use an IPv4 address.');
  if (errno === 'ENOENT' || errno === 'ENOTDIR') return fail('the folder does not exist', 'Create it first.');
  if (errno === 'ENOTFOUND' || errno === 'EAI_AGAIN') return fail('the host name is not known', 'Use an IP address.');
  if (errno === 'EROFS') return fail('the file system is read-only', 'Use a path below /run.');
  return fail(cause.message, `Mend that, ${other}`);
}
