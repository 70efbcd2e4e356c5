import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopbackHost } from './listen.ts';

const unixSockets = new WeakSet<Socket>();
const users = new WeakMap<IncomingMessage, string>();

/** Marks a connection that came through a Unix socket. A TCP socket that was closed has no address either, and is none. */
export function markUnix(socket: Socket): void {
  unixSockets.add(socket);
}

export function isUnixPeer(request: Pick<IncomingMessage, 'socket'>): boolean {
  return unixSockets.has(request.socket);
}

/**
 * Whether the peer is a TCP client on this machine. That can be any user of it, or a proxy that speaks for the outside:
 * it says where a request came from, not who sent it. Forwarding headers are not believed.
 */
export function isLoopback(request: Pick<IncomingMessage, 'socket'>): boolean {
  return isLoopbackHost(request.socket.remoteAddress);
}

/** The name that basic authentication proved; undefined where nobody was asked. */
export function userOf(request: IncomingMessage): string | undefined {
  return users.get(request);
}

export function setUser(request: IncomingMessage, user: string): void {
  users.set(request, user);
}
