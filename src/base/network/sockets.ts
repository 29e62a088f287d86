// The sockets that a server has accepted. Node.js hands a socket on in many places (connection, TLS, upgrade, CONNECT,
// clientError), takes its own listeners off where it does, and ends the process for an 'error' that nobody listens to.
// Every server of ours is given to this class before it listens, so that from its first moment to its last each socket has
// a listener for errors, is known, and can be cut. Used by http-server.ts and mqtt-server.ts.
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import { limits } from '../../config/limits.ts';

/** A TLS socket as Node.js makes it of an accepted one. */
type SecuredSocket = Socket & { readonly _parent?: Socket };

/** An accepted connection as those see it who decide which ones may stay. */
export interface AcceptedConnection {
  /** Of the peer itself, which may be a proxy. */
  readonly address: string | undefined;
  /** Bytes received so far. */
  readonly bytesRead: number;
  /** True while an answer is owed to it. */
  readonly isUnderWay: boolean;
  cut(): void;
}

/** Decides who is let in where there are too many connections. */
export interface ConnectionAdmission {
  /** What is to be called when the connection has ended; undefined: it is refused. */
  letIn(connection: AcceptedConnection): (() => void) | undefined;
}

/** Sockets that have been told their last words (`sendAndClose`) and are not closed yet. */
const ending = new WeakSet<Duplex>();

export class AcceptedSockets {
  readonly #open = new Set<Socket>();
  /** Those of them whose TLS handshake is not done. */
  readonly #handshaking = new Set<Socket>();
  /** The TLS socket of each whose handshake is done; only where it is asked whether an answer is owed. */
  readonly #secured = new Map<Socket, Socket>();

  /**
   * Watches over what the server accepts from now on.
   * @param sharing who may stay where there are too many, and whether an answer is owed on a socket.
   */
  constructor(
    server: Server,
    sharing?: { readonly connectionAdmission: ConnectionAdmission; readonly isUnderWay?: (socket: Socket) => boolean },
  ) {
    const isTls = server instanceof TlsServer;
    // Before all other listeners, one of which may already provoke an error.
    server.prependListener('connection', (socket: Socket) => {
      socket.on('error', destroySocket);
      this.#open.add(socket);
      if (isTls) this.#handshaking.add(socket);
      socket.once('close', () => {
        this.#open.delete(socket);
        this.#handshaking.delete(socket);
        this.#secured.delete(socket);
      });
      if (sharing !== undefined) this.#admit(socket, sharing);
    });
    if (!isTls) return;
    server.prependListener('secureConnection', (socket: SecuredSocket) => {
      socket.on('error', destroySocket);
      if (socket._parent === undefined) return;
      this.#handshaking.delete(socket._parent);
      if (sharing?.isUnderWay !== undefined) this.#secured.set(socket._parent, socket);
    });
    // A failed handshake concerns that client alone.
    server.prependListener('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  }

  #admit(
    socket: Socket,
    sharing: { readonly connectionAdmission: ConnectionAdmission; readonly isUnderWay?: (socket: Socket) => boolean },
  ): void {
    const secured = this.#secured;
    const end = sharing.connectionAdmission.letIn({
      address: socket.remoteAddress,
      get bytesRead() {
        return socket.bytesRead;
      },
      get isUnderWay() {
        return sharing.isUnderWay?.(secured.get(socket) ?? socket) ?? false;
      },
      cut: () => void socket.destroy(),
    });
    if (end !== undefined) socket.once('close', end);
    // The server's own listeners, which come after this one, expect a socket that is open.
    else process.nextTick(() => socket.destroy());
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Cuts those that no request can come of any more: their handshake is not done, or they have been told to go. */
  cutUseless(): void {
    for (const socket of this.#open) {
      if (this.#handshaking.has(socket) || ending.has(socket)) socket.destroy();
    }
  }

  /** Cuts all. */
  cutAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

/** An error ends the socket on which it happens, and nothing else. */
function destroySocket(this: Duplex): void {
  this.destroy();
}

/**
 * Sends the last words of a connection and ends it. What the peer still sends is read and dropped for a while, because a
 * connection closed with unread bytes is reset, and a reset may overtake the words; then it is cut.
 */
export function sendAndClose(socket: Duplex, lastWords: string): void {
  if (socket.destroyed || ending.has(socket)) return;
  ending.add(socket);
  socket.on('error', destroySocket);
  // Nobody must read on: neither a parser that has failed nor a protocol that was not agreed upon.
  socket.removeAllListeners('data');
  socket.resume();
  if (socket.writable) socket.end(lastWords);
  const cut = setTimeout(() => socket.destroy(), limits.lastWordsMs);
  socket.once('end', () => socket.writableFinished && socket.destroy());
  socket.once('close', () => clearTimeout(cut));
}
