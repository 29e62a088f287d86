// One connection of HTTP on its way to Node.js: its bytes come here first. Usual pushes that are there whole are taken out
// and answered after their commit (I1); every other request goes to Node.js byte for byte, and nothing behind it is taken
// before it has been answered, so that all answers leave in their turn (I3). Where it is not beyond doubt at which byte a
// request ends, Node.js has the connection for good. Used by push-fast-path.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import type { AppendCallback } from '../../domain/datapoints/ingest/append.ts';
import type { Push } from '../../domain/datapoints/ingest/push.ts';
import { type HeaderCache, isHeadCut, type RequestHead, readHead } from './request-head.ts';

/** Pushes of one caller that are stored together. */
export class PushGroup {
  readonly pushes: Push[] = [];
  caller: Caller | undefined;
}

/** Takes pushes out of the bytes of connections. */
export interface PushHandler {
  readonly headers: HeaderCache;
  /** True from the moment at which nothing is taken any more. */
  readonly isClosing: boolean;
  /** Adds the usual pushes of one caller that the bytes begin with to `into`; gives the index behind the last of them. */
  takeFrom(bytes: Buffer, socket: Socket, into: PushGroup): number;
  /** Stores them, all or none. */
  store(group: PushGroup, done: AppendCallback): void;
  /** What stored pushes are answered with. */
  answerOf(pushes: number): string;
}

/** A socket as Node.js's server has it: with a mark while it must not be given anything. */
type ServedSocket = Socket & { readonly _paused?: boolean };

/**
 * - `free`: the next byte begins a request.
 * - `storing`: pushes are on their way to the disk.
 * - `node`: Node.js has a request that is not answered, or not there whole.
 * - `full`: the client does not read its answers.
 * - `over`: the last answer has left; what the client still sends is dropped.
 */
type State = 'free' | 'storing' | 'node' | 'full' | 'over';

/** The name of Node.js's listener for the end of what a client sends. */
const endListener = 'bound socketOnEnd';

export class PushConnection {
  readonly #socket: ServedSocket;
  readonly #handler: PushHandler;
  /** Gives bytes to Node.js, and tells it that no more will come. */
  readonly #toNode: (piece: Buffer) => void;
  readonly #endToNode: () => void;
  readonly #onData = (piece: Buffer) => this.#take(piece);
  #state: State = 'free';
  /** Node.js watches over a connection that has not sent a request yet: the first one is for it. */
  #isKnown = false;
  /** Of the request that Node.js has: bytes that are still to come, and whether its answer has left. */
  #owed = 0;
  #isAnswered = false;
  /** A push whose body is still to come: many clients send it after the head. */
  #begun: Buffer | undefined;
  /** True when the client has closed its half and Node.js, which may close the other, has not been told. */
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
  }

  /** Has all bytes of a connection pass by here that Node.js's server was given a moment ago. */
  static open(socket: Socket, handler: PushHandler): PushConnection | undefined {
    const [toNode, ...others] = socket.listeners('data') as ((piece: Buffer) => void)[];
    // The other one is the socket's own.
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

  /** The client has closed its half; Node.js closes the other where it owes no answer, so that ours must have left. */
  #takeEnd(): void {
    if (this.#state === 'storing') {
      this.#isEndHeld = true;
      return;
    }
    // Node.js says what is wrong with a request that ends in its middle.
    this.giveBegun();
    this.#endToNode();
  }

  /** Node.js has read the head of a request. */
  onRequest(response: ServerResponse): void {
    response.once('finish', () => {
      this.#isKnown = true;
      this.#isAnswered = true;
      this.#endTurn();
    });
  }

  /** True while pushes of the connection are on their way to the disk. */
  get isStoring(): boolean {
    return this.#state === 'storing';
  }

  /** A push that has begun and will not be taken is for Node.js, which knows how long to wait for the rest. */
  giveBegun(): void {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun !== undefined && !this.#socket.destroyed) this.#give(begun);
  }

  /** Node.js is done with its request when it has all of it, which may be after the answer. */
  #endTurn(): void {
    if (this.#owed > 0 || !this.#isAnswered || this.#state !== 'node') return;
    const socket = this.#socket;
    this.#state = socket.writable ? 'free' : 'over';
    // What was held back begins the next request.
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

  /** True for a push without its whole body, and for a head without its end: the next piece tells. */
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
        // Nothing was stored: the framework has its turn, which says why or succeeds.
        this.#give(bytes.subarray(0, end));
      } else if (socket.writable) {
        socket.write(this.#handler.answerOf(group.pushes.length), 'latin1');
        if (socket.writableLength > limits.fastPathAnswerBytesMax && !this.#isEndHeld) {
          this.#waitForReader();
          return;
        }
      }
      if (this.#isEndHeld) this.#endToNode();
      else if (socket.isPaused() && socket._paused !== true) socket.resume();
    });
  }

  /** Reads on when the client has read its answers. */
  #waitForReader(): void {
    const socket = this.#socket;
    this.#state = 'full';
    socket.pause();
    socket.once('drain', () => {
      this.#state = 'free';
      if (socket._paused !== true) socket.resume();
    });
  }

  /** The request that the bytes begin with is for Node.js, and so is whatever is not told from it. */
  #give(bytes: Buffer, head = readHead(bytes, 0, this.#handler.headers)): void {
    if (head === undefined) {
      this.#leave();
      this.#toNode(bytes);
      return;
    }
    this.#state = 'node';
    this.#owed = head.end;
    this.#isAnswered = false;
    this.#goOn(bytes);
  }

  /** More of the request that Node.js has. What comes behind it waits until it has been answered, which may be the last. */
  #goOn(piece: Buffer): void {
    const own = piece.length > this.#owed ? piece.subarray(0, this.#owed) : piece;
    if (own.length < piece.length) this.#hold(piece.subarray(own.length));
    if (own.length === 0) return;
    this.#owed -= own.length;
    this.#toNode(own);
    this.#endTurn();
  }

  /** Puts bytes back before those that have not been read, and reads on later. */
  #hold(piece: Buffer): void {
    this.#socket.pause();
    this.#socket.unshift(piece);
  }

  /** Node.js has the connection from now on. */
  #leave(): void {
    this.#socket.on('data', this.#toNode);
    this.#socket.removeListener('data', this.#onData);
  }
}
