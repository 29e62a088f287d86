// One connection of HTTP on its way to Node.js: its bytes come here first. Usual pushes that are there whole are taken out
// and answered after their commit (I1); every other request goes to Node.js byte for byte, and nothing behind it is taken
// before it has been answered, so that all answers leave in their turn (I3). Where it is not beyond doubt at which byte a
// request ends, Node.js has the connection for good. Used by push-lane.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../config/limits.ts';
import type { Push } from '../domain/datapoints/push.ts';
import type { Done } from '../domain/datapoints/writer.ts';
import { type HeaderMemory, type RequestHead, readHead } from './request-head.ts';

/** Takes pushes out of the bytes of connections. */
export interface PushTaker {
  readonly headers: HeaderMemory;
  /** True from the moment at which nothing is taken any more. */
  readonly isClosing: boolean;
  /** Adds the usual pushes that the bytes begin with to `into`; gives the index behind the last of them. */
  takeFrom(bytes: Buffer, socket: Socket, into: Push[]): number;
  /** Stores them, all or none. */
  store(pushes: readonly Push[], done: Done): void;
  /** What stored pushes are answered with. */
  answerOf(pushes: number): string;
}

/** A socket as Node.js's server has it: with a mark while it must not be given anything. */
type ServedSocket = Socket & { readonly _paused?: boolean };

/**
 * - `free`: the next byte begins a request.
 * - `storing`: pushes are on their way to the disk.
 * - `node`: Node.js has a request that is not answered, or not there whole.
 */
type State = 'free' | 'storing' | 'node';

export class PushConnection {
  readonly #socket: ServedSocket;
  readonly #taker: PushTaker;
  /** Gives bytes to Node.js. */
  readonly #toNode: (piece: Buffer) => void;
  readonly #onData = (piece: Buffer) => this.#take(piece);
  #state: State = 'free';
  /** Node.js watches over a connection that has not sent a request yet: the first one is for it. */
  #isKnown = false;
  /** Of the request that Node.js has: bytes that are still to come, and whether its answer has left. */
  #owed = 0;
  #isAnswered = false;
  /** A push whose body is still to come: many clients send it after the head. */
  #begun: Buffer | undefined;

  private constructor(socket: Socket, taker: PushTaker, toNode: (piece: Buffer) => void) {
    this.#socket = socket;
    this.#taker = taker;
    this.#toNode = toNode;
  }

  /** Has all bytes of a connection pass by here that Node.js's server was given a moment ago. */
  static open(socket: Socket, taker: PushTaker): PushConnection | undefined {
    const [toNode, ...others] = socket.listeners('data') as ((piece: Buffer) => void)[];
    if (toNode === undefined || others.length > 0) return undefined;
    const connection = new PushConnection(socket, taker, toNode);
    socket.on('data', connection.#onData);
    // Before Node.js hears of it, which says what is wrong with a request that ends in its middle.
    socket.prependListener('end', () => connection.giveBegun());
    socket.removeListener('data', toNode);
    return connection;
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
    if (this.#owed === 0 && this.#isAnswered && this.#state === 'node') this.#state = 'free';
  }

  #take(piece: Buffer): void {
    if (this.#state === 'storing' || this.#socket._paused === true) this.#hold(piece);
    else if (this.#state === 'node') this.#goOn(piece);
    else this.#begin(piece);
  }

  #begin(piece: Buffer): void {
    const begun = this.#begun;
    const bytes = begun === undefined ? piece : Buffer.concat([begun, piece]);
    this.#begun = undefined;
    const pushes: Push[] = [];
    const end = this.#isKnown ? this.#taker.takeFrom(bytes, this.#socket, pushes) : 0;
    if (end > 0) {
      this.#store(pushes, bytes, end);
      return;
    }
    const head = readHead(bytes, 0, this.#taker.headers);
    if (begun === undefined && this.#isBeginning(head, bytes)) this.#begun = bytes;
    else this.#give(bytes, head);
  }

  /** True for a push without its whole body. */
  #isBeginning(head: RequestHead | undefined, bytes: Buffer): boolean {
    if (!this.#isKnown || this.#taker.isClosing) return false;
    return head?.facts.isUsual === true && head.method === 'POST' && head.end > bytes.length;
  }

  #store(pushes: readonly Push[], bytes: Buffer, end: number): void {
    this.#state = 'storing';
    const isMore = end < bytes.length;
    if (isMore) this.#hold(bytes.subarray(end));
    this.#taker.store(pushes, (error) => {
      this.#state = 'free';
      const socket = this.#socket;
      if (socket.destroyed) return;
      if (error !== undefined) {
        // Nothing was stored: the framework has its turn, which says why or succeeds.
        this.#give(bytes.subarray(0, end));
      } else if (socket.writable) {
        socket.write(this.#taker.answerOf(pushes.length), 'latin1');
        if (socket.writableLength > limits.quickAnswerBytesMax) this.#leave();
      }
      if (socket.isPaused() && socket._paused !== true) socket.resume();
    });
  }

  /** The request that the bytes begin with is for Node.js, and so is whatever is not told from it. */
  #give(bytes: Buffer, head = readHead(bytes, 0, this.#taker.headers)): void {
    if (head === undefined || head.end < bytes.length) this.#leave();
    else {
      this.#state = 'node';
      this.#owed = head.end - bytes.length;
      this.#isAnswered = false;
    }
    this.#toNode(bytes);
  }

  /** More of the request that Node.js has; or a client that does not wait for its answer, which Node.js knows how to serve. */
  #goOn(piece: Buffer): void {
    if (piece.length > this.#owed) this.#leave();
    else this.#owed -= piece.length;
    this.#toNode(piece);
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
