import { chmodSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatListenAddress, type ListenAddress, listenError } from './listen.ts';
import { clearStaleSocket, withFileMode } from './unix-socket.ts';

/** An address that is served. `url` is one that a client on this machine can use; empty for a Unix socket. */
export interface ServedAddress {
  address: ListenAddress;
  url: string;
}

/** Opens `address`; `mode` is for Unix sockets. Rejects with what the refusal means. */
export async function bind(server: Server, address: ListenAddress, mode: number): Promise<void> {
  if (address.kind === 'unix') await clearStaleSocket(address.path);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(listenError(address, error));
    server.once('error', fail);
    server.once('listening', () => {
      server.off('error', fail);
      try {
        if (address.kind === 'unix') chmodSync(address.path, mode);
        resolve();
      } catch (error) {
        fail(error);
      }
    });
    if (address.kind === 'unix') withFileMode(mode, () => server.listen(address.path));
    else if (address.host === undefined) server.listen(address.port);
    else server.listen(address.port, address.host);
  });
}

/** What a listening server serves, with the port that the system chose. */
export function servedAddress(address: ListenAddress, server: Server): ServedAddress {
  if (address.kind === 'unix') return { address, url: '' };
  const { port } = server.address() as AddressInfo;
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const everywhere = address.host === undefined || address.host === '0.0.0.0' || address.host === '::';
  const bound: ListenAddress = { ...address, port };
  return {
    address: bound,
    url: `${scheme}://${formatListenAddress(everywhere ? { ...bound, host: 'localhost' } : bound)}`,
  };
}
