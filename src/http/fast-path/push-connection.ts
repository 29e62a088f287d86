// An HTTP connection whose bytes arrive here before Node.js gets them. Complete usual pushes are taken out and answered
// after their commit (I1). Every other request goes to Node.js unchanged, and nothing after it is taken before it has
// been answered, so that answers keep their order (I3). Where the end of a request cannot be determined with certainty,
// Node.js gets the connection for good. Used by push-fast-path.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { SecurityHeaderSet } from '../../base/network/security-headers.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import type { AppendCallback } from '../../domain/datapoints/ingest/append.ts';
import type { Push } from '../../domain/datapoints/ingest/push.ts';
import { type HeaderCache, isHeadCut, type RequestHead, readHead } from './request-head.ts';

/** Pushes of one caller that are stored together, and whose answers are the same. */
export class PushGroup {
  readonly pushes: Push[] = [];
  caller: Caller | undefined;
  securityHeaders: SecurityHeaderSet | undefined;
}

/** Finds and stores pushes for connections. */
export interface PushHandler {
  readonly headers: HeaderCache;
  /** True once the service is closing and takes nothing more. */
  readonly isClosing: boolean;
  /** Adds the usual pushes of one caller at the beginning of the bytes to `into`; returns the index after the last. */
  takeFrom(bytes: Buffer, socket: Socket, into: PushGroup): number;
  /** Whose turn it must be for what Node.js parses. */
  callerOf(socket: Socket): Caller;
  /** Stores them, all or none. */
  store(group: PushGroup, done: AppendCallback): void;
  /** The answers to stored pushes. */
  answerOf(group: PushGroup): string;
}

/** A socket of Node.js's server, with a private field: true while Node.js must not be given anything. */
type ServedSocket = Socket & { readonly _paused?: boolean };

/**
 * - `free`: the next byte begins a request.
 * - `storing`: pushes wait for their commit.
 * - `node`: Node.js has a request that is incomplete or not answered.
 * - `full`: the client does not read its answers.
 * - `over`: the last answer was sent; further bytes are dropped.
 */
type State = 'free' | 'storing' | 'node' | 'full' | 'over';

/** Name of Node.js's listener for the end of input. */
const endListener = 'bound socketOnEnd';

export class PushConnection {
  readonly #socket: ServedSocket;
  readonly #handler: PushHandler;
  /** Pass bytes, and the end of input, to Node.js. */
  readonly #toNode: (piece: Buffer) => void;
  readonly #endToNode: () => void;
  readonly #onData = (piece: Buffer) => this.#take(piece);
  readonly #onDataForNode: (piece: Buffer) => void;
  #state: State = 'free';
  /** False until the first request, which goes to Node.js: it applies its time-outs until then. */
  #isKnown = false;
  /** Of the request that Node.js has: bytes that are missing, and whether its answer was sent. */
  #owed = 0;
  #isAnswered = false;
  /** A push whose body is missing: many clients send it separately. */
  #begun: Buffer | undefined;
  /** True when the client has closed its half and Node.js, which may then close the other, has not been told. */
  #isEndHeld = false;

  private constructor(
    socket: Socket,
    handler: PushHandler,
    node: { readonly data: (piece: Buffer) => void; readonly end: () => void },
  ) {
    this.#socket = socket;
    this.#handler = handler;
    this.#toNode = node.data;
    this.#endToNode = node.end;
    // `listener`: Node.js removes its own listener when it gives the connection away; this one stands for it.
    this.#onDataForNode = Object.assign((piece: Buffer) => this.#toNodeInTurns(piece), { listener: node.data });
  }

  /** Redirects the bytes of a connection that Node.js's server has just accepted. */
  static open(socket: Socket, handler: PushHandler): PushConnection | undefined {
    const [toNode, ...others] = socket.listeners('data') as ((piece: Buffer) => void)[];
    // The other 'end' listener is the socket's own.
    const ends = (socket.listeners('end') as (() => void)[]).filter(({ name }) => name === endListener);
    const [end] = ends;
    if (toNode === undefined || others.length > 0 || end === undefined || ends.length > 1) return undefined;
    const connection = new PushConnection(socket, handler, { data: toNode, end });
    socket.on('data', connection.#onData);
    socket.on('end', () => connection.#takeEnd());
    socket.removeListener('end', end);
    socket.removeListener('data', toNode);
    return connection;
  }

  /**
   * The client has closed its half. Node.js closes the other half if it owes no answer, so it is told only after our
   * answers.
   */
  #takeEnd(): void {
    if (this.#state === 'storing') {
      this.#isEndHeld = true;
      return;
    }
    // Node.js reports incomplete requests.
    this.giveBegun();
    this.#endToNode();
  }

  /** Node.js has parsed the head of a request. */
  onRequest(response: ServerResponse): void {
    response.once('finish', () => {
      this.#isKnown = true;
      this.#isAnswered = true;
      this.#endTurn();
    });
  }

  /** True while pushes of the connection wait for their commit. */
  get isStoring(): boolean {
    return this.#state === 'storing';
  }

  /** Gives an incomplete push to Node.js, which applies the time-outs for the rest. */
  giveBegun(): void {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun === undefined || this.#socket.destroyed) return;
    const head = readHead(begun, 0, this.#handler.headers);
    if (head !== undefined) this.#give(begun, head);
    else {
      this.#leave();
      // At once: where the client has closed its half, nothing can be put back. It is at most an incomplete head.
      this.#toNode(begun);
    }
  }

  /** Node.js is done with its request once it has all of it, which may be after the answer. */
  #endTurn(): void {
    if (this.#owed > 0 || !this.#isAnswered || this.#state !== 'node') return;
    const socket = this.#socket;
    this.#state = socket.writable ? 'free' : 'over';
    // Resumes the socket: held bytes begin the next request.
    if (socket.isPaused() && socket._paused !== true) socket.resume();
  }

  #take(piece: Buffer): void {
    if (this.#state === 'storing' || this.#state === 'full' || this.#socket._paused === true) this.#hold(piece);
    else if (this.#state === 'node') this.#goOn(piece);
    else if (this.#state === 'free') this.#begin(piece);
  }

  #begin(piece: Buffer): void {
    const begun = this.#begun;
    const bytes = begun === undefined ? piece : Buffer.concat([begun, piece]);
    this.#begun = undefined;
    const group = new PushGroup();
    const end = this.#isKnown ? this.#handler.takeFrom(bytes, this.#socket, group) : 0;
    if (end > 0) {
      this.#store(group, bytes, end);
      return;
    }
    const head = readHead(bytes, 0, this.#handler.headers);
    if (begun === undefined && this.#isBeginning(head, bytes)) this.#begun = bytes;
    else this.#give(bytes, head);
  }

  /** True for a push without its complete body, and for an incomplete head: the next bytes decide. */
  #isBeginning(head: RequestHead | undefined, bytes: Buffer): boolean {
    if (!this.#isKnown || this.#handler.isClosing) return false;
    if (head === undefined) return isHeadCut(bytes);
    return head.facts.isUsual && head.method === 'POST' && head.end > bytes.length;
  }

  #store(group: PushGroup, bytes: Buffer, end: number): void {
    this.#state = 'storing';
    const isMore = end < bytes.length;
    if (isMore) this.#hold(bytes.subarray(end));
    this.#handler.store(group, (error) => {
      this.#state = 'free';
      const socket = this.#socket;
      if (socket.destroyed) return;
      if (error !== undefined) {
        // Nothing was stored: the framework tries again, and reports the reason if it fails.
        this.#give(bytes.subarray(0, end));
      } else if (socket.writable) {
        socket.write(this.#handler.answerOf(group), 'latin1');
        if (socket.writableLength > limits.fastPathAnswerBytesMax && !this.#isEndHeld) {
          this.#waitForReader();
          return;
        }
      }
      if (this.#isEndHeld) this.#endToNode();
      else if (socket.isPaused() && socket._paused !== true) socket.resume();
    });
  }

  /** Resumes reading when the client has read its answers. */
  #waitForReader(): void {
    const socket = this.#socket;
    this.#state = 'full';
    socket.pause();
    socket.once('drain', () => {
      this.#state = 'free';
      if (socket._paused !== true) socket.resume();
    });
  }

  /** Gives the first request to Node.js, with everything where its end is unknown. */
  #give(bytes: Buffer, head = readHead(bytes, 0, this.#handler.headers)): void {
    if (head === undefined) {
      this.#leave();
      this.#toNodeInTurns(bytes);
      return;
    }
    this.#state = 'node';
    this.#owed = head.end;
    this.#isAnswered = false;
    this.#goOn(bytes);
  }

  /**
   * More bytes of the request that Node.js has. Bytes after it are held until it has been answered, because that may
   * end the connection.
   */
  #goOn(piece: Buffer): void {
    const own = piece.length > this.#owed ? piece.subarray(0, this.#owed) : piece;
    if (own.length < piece.length) this.#hold(piece.subarray(own.length));
    if (own.length === 0) return;
    this.#owed -= own.length;
    this.#toNode(own);
    this.#endTurn();
  }

  /** Puts bytes back into the socket, to be read later. */
  #hold(piece: Buffer): void {
    this.#socket.pause();
    this.#socket.unshift(piece);
  }

  /**
   * Gives bytes to Node.js in short pieces while there is time in this turn of the event loop: 64 KiB can hold ten
   * thousand chunks of a body. The rest is put back until the next turn, or until Node.js reads on.
   */
  #toNodeInTurns(bytes: Buffer): void {
    const socket = this.#socket;
    let at = 0;
    while (at < bytes.length && !socket.destroyed) {
      const listeners = socket.rawListeners('data');
      if (!listeners.includes(this.#onDataForNode)) {
        // Who has taken the connection over was given the piece before as all that came; a faulty one is read no more.
        if (listeners.length > 0) socket.destroy();
        return;
      }
      // Node.js pauses a socket whose request it cannot read now, and resumes it later.
      const isHeld = at > 0 && socket.isPaused();
      if (isHeld || !loopTurns.isOpen) {
        this.#hold(bytes.subarray(at));
        if (!isHeld) loopTurns.wait(this.#handler.callerOf(socket), () => this.#readOn());
        return;
      }
      const piece = bytes.subarray(at, at + limits.parserPieceBytes);
      at += piece.length;
      loopTurns.do(this.#handler.callerOf(socket), () => this.#toNode(piece));
    }
  }

  /** Resumes a socket that Node.js has not paused. */
  #readOn(): void {
    if (this.#socket._paused !== true) this.#socket.resume();
  }

  /** Gives the connection to Node.js for good. */
  #leave(): void {
    this.#socket.on('data', this.#onDataForNode);
    this.#socket.removeListener('data', this.#onData);
  }
}
