import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

interface Connection {
  /** The TCP or Unix socket, and above it the TLS socket once the handshake is done. */
  sockets: Socket[];
  open: Set<ServerResponse>;
}

/**
 * Knows which connections of a server have a request under way. Node's own closing of idle connections misses those that
 * have not sent anything yet or are still in their handshake, and would wait for them.
 */
export class Connections {
  readonly #all = new Set<Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #draining = false;

  constructor(server: Server) {
    const handshaking = new Map<string, Connection>();
    server.on('connection', (socket: Socket) => {
      const connection: Connection = { sockets: [socket], open: new Set() };
      const peer = peerOf(socket);
      this.#all.add(connection);
      this.#bySocket.set(socket, connection);
      if (server instanceof TlsServer) handshaking.set(peer, connection);
      socket.once('close', () => {
        this.#all.delete(connection);
        if (handshaking.get(peer) === connection) handshaking.delete(peer);
      });
      if (this.#draining) socket.destroy();
    });
    server.prependListener('secureConnection', (socket: Socket) => {
      const connection = handshaking.get(peerOf(socket));
      if (!connection) return;
      connection.sockets.push(socket);
      this.#bySocket.set(socket, connection);
    });
    server.prependListener('request', (request, response) => {
      const connection = this.#bySocket.get(request.socket);
      if (!connection) return;
      connection.open.add(response);
      if (this.#draining) lastOne(response);
      response.once('close', () => {
        connection.open.delete(response);
        if (this.#draining && connection.open.size === 0) connection.sockets.at(-1)?.destroySoon();
      });
    });
  }

  /** Connections that exist now. */
  count(): number {
    return this.#all.size;
  }

  /** Closes what is idle; the rest closes as soon as it has answered. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#all) {
      if (connection.open.size === 0) destroy(connection);
      for (const response of connection.open) lastOne(response);
    }
  }

  destroyAll(): void {
    this.#draining = true;
    for (const connection of this.#all) destroy(connection);
  }
}

function destroy(connection: Connection): void {
  for (const socket of connection.sockets.toReversed()) socket.destroy();
}

function lastOne(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`;
}
