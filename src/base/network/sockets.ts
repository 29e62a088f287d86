// Tracks the sockets that a server has accepted. Node.js hands sockets on in many places (connection, TLS, upgrade,
// CONNECT, clientError), removes its own listeners there, and ends the process for an 'error' without a listener. Every
// server is given to this class before it listens, so that each socket always has an error listener, is known, and can
// be cut. Used by http-server.ts and mqtt-server.ts.
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import { limits } from '../../config/limits.ts';

/** A TLS socket with the plain socket it was made from. */
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
  /** Returns the function to call when the connection has closed; undefined: it is refused. */
  letIn(connection: AcceptedConnection): (() => void) | undefined;
}

/** Sockets that `sendAndClose` is closing. */
const closing = new WeakSet<Duplex>();

export class AcceptedSockets {
  readonly #open = new Set<Socket>();
  /** Sockets whose TLS handshake is incomplete. */
  readonly #handshaking = new Set<Socket>();
  /** TLS sockets by their plain socket, where it matters whether an answer is pending. */
  readonly #secured = new Map<Socket, Socket>();

  /**
   * Tracks the server's sockets from now on.
   * @param sharing decides about acceptance, and whether an answer is pending.
   */
  constructor(
    server: Server,
    sharing?: { readonly connectionAdmission: ConnectionAdmission; readonly isUnderWay?: (socket: Socket) => boolean },
  ) {
    const isTls = server instanceof TlsServer;
    // Before all other listeners, because those may cause an error.
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

  /** Cuts sockets from which no request can come any more: the handshake is incomplete, or they are being closed. */
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

/** An error destroys its socket and nothing else. */
function destroySocket(this: Duplex): void {
  this.destroy();
}

/**
 * Sends the last bytes of a connection and closes it. Input is read and dropped for a while, because closing with
 * unread input resets the connection, and the reset may overtake the last bytes; then the socket is cut.
 */
export function sendAndClose(socket: Duplex, lastWords: string): void {
  if (socket.destroyed || closing.has(socket)) return;
  closing.add(socket);
  socket.on('error', destroySocket);
  // Neither a failed parser nor a protocol that was not agreed upon may read on.
  socket.removeAllListeners('data');
  socket.resume();
  if (socket.writable) socket.end(lastWords);
  const cut = setTimeout(() => socket.destroy(), limits.lastWordsMs);
  socket.once('end', () => socket.writableFinished && socket.destroy());
  socket.once('close', () => clearTimeout(cut));
}
