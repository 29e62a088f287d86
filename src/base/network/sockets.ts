// Tracks the sockets that a server has accepted. Node.js hands sockets on in many places (connection, TLS, upgrade,
// CONNECT, clientError), removes its own listeners there, and ends the process for an 'error' without a listener. Every
// server is given to this class before it listens, so that each socket always has an error listener, is known, and can
// be cut. Used by http-server.ts and mqtt-server.ts.
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import { limits } from '../../config/limits.ts';

/** A TLS socket with the plain socket below it. */
type SecuredSocket = Socket & { readonly _parent?: Socket };

/** An accepted connection, as ConnectionAdmission sees it. */
export interface AcceptedConnection {
  /** Address of the peer, which may be a proxy. */
  readonly address: string | undefined;
  /** Bytes received so far. */
  readonly bytesRead: number;
  /** True while an answer is pending. */
  readonly isUnderWay: boolean;
  cut(): void;
}

/** Decides which connections are accepted when there are too many. */
export interface ConnectionAdmission {
  /**
   * Accepts the connection and returns the function to call when it has closed; undefined: the connection is refused.
   */
  letIn(connection: AcceptedConnection): (() => void) | undefined;
}

/** Sockets that `sendAndClose` is closing. */
const closing = new WeakSet<Duplex>();

export class AcceptedSockets {
  readonly #open = new Set<Socket>();
  /** Sockets whose TLS handshake is incomplete. */
  readonly #handshaking = new Set<Socket>();
  /** TLS sockets by the plain socket below them, kept where `isUnderWay` must be asked about the TLS socket. */
  readonly #secured = new Map<Socket, Socket>();

  /**
   * Tracks the server's sockets from now on.
   * @param sharing decides which connections are accepted, and tells whether an answer is pending on one.
   */
  constructor(
    server: Server,
    sharing?: { readonly connectionAdmission: ConnectionAdmission; readonly isUnderWay?: (socket: Socket) => boolean },
  ) {
    const isTls = server instanceof TlsServer;
    // Before all other listeners, because one of them may cause an error.
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
    // A failed handshake affects that client only.
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
    // In the next tick, because the server's own listeners run after this one and expect an open socket.
    else process.nextTick(() => socket.destroy());
  }

  /** Number of open sockets. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Cuts sockets from which no request can come any more: those whose handshake is incomplete, and those being
   * closed.
   */
  cutUseless(): void {
    for (const socket of this.#open) {
      if (this.#handshaking.has(socket) || closing.has(socket)) socket.destroy();
    }
  }

  /** Cuts all sockets. */
  cutAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

/** Makes an error end its socket and nothing else. */
function destroySocket(this: Duplex): void {
  this.destroy();
}

/**
 * Sends the last bytes of a connection and closes it. Closing with unread input would reset the connection, and the
 * reset may overtake the last bytes. So input is read and dropped for `lastWordsMs` first; then the socket is cut.
 */
export function sendAndClose(socket: Duplex, lastWords: string): void {
  if (socket.destroyed || closing.has(socket)) return;
  closing.add(socket);
  socket.on('error', destroySocket);
  // No other reader, such as a parser that failed, may go on reading.
  socket.removeAllListeners('data');
  socket.resume();
  if (socket.writable) socket.end(lastWords);
  const cut = setTimeout(() => socket.destroy(), limits.lastWordsMs);
  socket.once('end', () => socket.writableFinished && socket.destroy());
  socket.once('close', () => clearTimeout(cut));
}
