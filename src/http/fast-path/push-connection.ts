// An HTTP connection whose bytes arrive here before Node.js gets them. Complete usual pushes are taken out and answered
// after their commit (I1). Every other request goes to Node.js unchanged, and nothing after it is taken before it has
// been answered, so that answers keep their order (I3). Where the end of a request cannot be determined with certainty,
// Node.js gets the connection for good. Used by push-fast-path.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { pushTurns } from '../../domain/callers/push-turns.ts';
import { BareHead, type MendedRequest } from './bare-lines.ts';
import { mayOweAnswers, type ServedSocket, type State, takeAllHeld } from './connection-state.ts';
import { FirstPush } from './first-push.ts';
import { giveInTurns } from './give-in-turns.ts';
import { type NodeSide, nodeSideOf } from './node-side.ts';
import { PushGroup, type PushHandler, type WaitingConnection } from './push-handler.ts';
import { isHeadCut, pushIn, type RequestHead, readHead } from './request-head.ts';
import { TurnToRead } from './turn-to-read.ts';
import { GivenPush } from './unknown-pushes.ts';

export class PushConnection implements WaitingConnection {
  readonly #socket: ServedSocket;
  readonly #handler: PushHandler;
  /** Pass bytes, and the end of input, to Node.js. */
  readonly #toNode: (piece: Buffer) => void;
  readonly #endToNode: () => void;
  readonly #onData = (piece: Buffer) => this.#take(piece);
  readonly #onDataForNode: (piece: Buffer) => void;
  #state: State = 'free';
  /** False until Node.js has answered the first request: its time-outs apply until then. */
  #isKnown = false;
  /** Whose push the framework has, or is to have, because its sender or sensor is not in memory; and what ends that. */
  #unknownOf: Caller | undefined;
  readonly #given = new GivenPush();
  /** The first request, where it is a usual push, until its answer. */
  #first: FirstPush | undefined;
  /** Of the request that Node.js has: bytes that are missing, and whether its answer was sent. */
  #owed = 0;
  #isAnswered = false;
  /** Whose pushes came last. */
  #caller: Caller | undefined;
  /** A push whose body is missing: many clients send it separately. */
  #begun: Buffer | undefined;
  /** A head with bare line feeds that comes in pieces. */
  readonly #bareHead = new BareHead();
  /** Pushes that wait for room, or for their turn; how many may be taken at once; and since when they wait, by the clock of the event loop. */
  #waiting: Buffer | undefined;
  /** What could not be put back into the socket. */
  #left: Buffer | undefined;
  readonly #turn: TurnToRead;
  pushesMax: number = limits.fastPathPushesMax;
  waitingSinceMs = Number.NaN;
  /** True when the client has closed its half and Node.js, which may then close the other, has not been told. */
  #isEndHeld = false;

  private constructor(socket: ServedSocket, handler: PushHandler, node: NodeSide) {
    this.#socket = socket;
    this.#handler = handler;
    this.#turn = new TurnToRead(handler.readingTurns);
    this.#toNode = node.data;
    this.#endToNode = node.end;
    // `listener`: Node.js removes its own listener when it gives the connection away; this one stands for it.
    this.#onDataForNode = Object.assign((piece: Buffer) => this.#toNodeInTurns(piece), { listener: node.data });
  }

  /** Redirects the bytes of a connection that Node.js's server has just accepted. */
  static open(socket: Socket, handler: PushHandler): PushConnection | undefined {
    const node = nodeSideOf(socket);
    if (node === undefined) return undefined;
    const connection = new PushConnection(socket, handler, node);
    socket.on('data', connection.#onData);
    socket.on('end', () => connection.#takeEnd());
    socket.removeListener('end', node.end);
    socket.removeListener('data', node.data);
    return connection;
  }

  /**
   * The client has closed its half. Node.js closes the other half if it owes no answer, so it is told only after our
   * answers.
   */
  #takeEnd(): void {
    if (mayOweAnswers(this.#state)) this.#isEndHeld = true;
    else this.#endNow();
  }

  /** Node.js has parsed the head of a request, which is answered here or by the framework. */
  onRequest(response: ServerResponse, toFramework: () => void): void {
    response.once('finish', () => {
      this.#isKnown = true;
      this.#first = undefined;
      this.#isAnswered = true;
      this.#endTurn();
    });
    this.#given.requested(response);
    if (this.#first === undefined) toFramework();
    else this.#first.answer(response, toFramework);
  }

  /** True while pushes of the connection wait for their commit, or for room, or may wait in the kernel. */
  get isStoring(): boolean {
    return mayOweAnswers(this.#state) || this.#first?.isStoring === true;
  }

  /** It has closed: nothing that it has sent is kept. */
  forget(): void {
    this.#turn.leave();
    this.#waiting = undefined;
    this.#begun = undefined;
    this.#left = undefined;
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
    if (this.#left !== undefined) {
      this.#beginLeft();
      return;
    }
    // Resumes the socket: held bytes begin the next request.
    if (socket.isPaused() && socket._paused !== true) socket.resume();
  }

  #take(piece: Buffer): void {
    if (mayOweAnswers(this.#state) || this.#state === 'full' || this.#socket._paused === true) this.#hold(piece);
    else if (this.#state === 'node') this.#goOn(piece);
    else if (this.#state === 'free') this.#begin(piece);
  }

  #begin(piece: Buffer): void {
    const begun = this.#begun;
    const bytes = begun === undefined ? piece : Buffer.concat([begun, piece]);
    this.#begun = undefined;
    if (this.#mustWait(bytes) || pushTurns.do(() => this.#takePushes(bytes))) return;
    const head = readHead(bytes, 0, this.#handler.headers);
    if (head === undefined && this.#mend(bytes)) return;
    this.#bareHead.end();
    if (begun === undefined && this.#isBeginning(head, bytes)) this.#begun = bytes;
    else if (this.#unknownOf !== undefined) this.#giveUnknown(bytes, head, this.#unknownOf);
    else this.#give(bytes, head);
  }

  /** Gives the framework a push of which only it can tell what it is, once it may have one more of them. */
  #giveUnknown(bytes: Buffer, head: Pick<RequestHead, 'end'> | undefined, caller: Caller): void {
    const { unknownPushes } = this.#handler;
    if (!unknownPushes.mayGive(caller)) {
      this.#keepUnread(bytes);
      this.#handler.waitUnknown(this, caller);
      return;
    }
    this.#given.give(unknownPushes, caller, () => this.#give(bytes, head));
  }

  /** Takes a request with bare line feeds in its head, or what may become one. False: it is not of this kind. */
  #mend(bytes: Buffer): boolean {
    if (this.#handler.isClosing || this.#handler.isOfProxy(this.#socket)) return false;
    const mended = this.#bareHead.mend(bytes);
    if (mended === 'begun') this.#begun = bytes;
    else if (mended !== undefined) this.#beginMended(mended);
    return mended !== undefined;
  }

  #beginMended({ bytes, end }: MendedRequest): void {
    this.#bareHead.end();
    if (this.#mustWait(bytes) || pushTurns.do(() => this.#takePushes(bytes))) return;
    if (this.#unknownOf !== undefined) this.#giveUnknown(bytes, { end }, this.#unknownOf);
    else this.#give(bytes, { end });
  }

  /** Takes the usual pushes that the bytes begin with. False: there are none. */
  #takePushes(bytes: Buffer): boolean {
    const group = new PushGroup(this.#isKnown ? this.pushesMax : 1);
    const end = this.#handler.takeFrom(bytes, this.#socket, group);
    this.#unknownOf = group.unknownOf;
    if (end === 0) return false;
    const caller = group.caller as Caller;
    this.#caller = caller;
    if (!this.#handler.mayHaveCapacity(caller)) this.#wait(bytes, caller);
    else if (this.#isKnown) this.#store(group, bytes, end);
    else this.#introduce(group, bytes, end);
    return true;
  }

  #introduce(group: PushGroup, bytes: Buffer, end: number): void {
    this.#first = new FirstPush(group, this.#handler, this.#socket);
    this.#give(bytes, { end });
    // Where the parser has found a fault, nothing is stored.
    if (!this.#first.isStoring) this.#first = undefined;
  }

  /** True for a push without its complete body, and for an incomplete head: the next bytes decide. */
  #isBeginning(head: RequestHead | undefined, bytes: Buffer): boolean {
    if (!this.#isKnown || this.#handler.isClosing) return false;
    if (head === undefined) return isHeadCut(bytes);
    return head.facts.isUsual && head.method === 'POST' && head.end > bytes.length;
  }

  #store(group: PushGroup, bytes: Buffer, end: number): void {
    this.#state = 'storing';
    if (end < bytes.length) this.#hold(bytes.subarray(end));
    const stored = this.#handler.store(group, (error) => this.#afterCommit(group, bytes.subarray(0, end), error));
    if (stored === 'busy') {
      // There may be room for fewer.
      this.pushesMax = Math.ceil(group.pushes.length / 2);
      this.#wait(bytes.subarray(0, end), group.caller as Caller);
      return;
    }
    this.pushesMax = limits.fastPathPushesMax;
    this.waitingSinceMs = Number.NaN;
  }

  #afterCommit(group: PushGroup, bytes: Buffer, error: unknown): void {
    this.#state = 'free';
    const socket = this.#socket;
    if (socket.destroyed) return;
    if (error !== undefined) {
      // Nothing was stored: the framework tries again, and reports the reason if it fails.
      this.#give(bytes);
    } else if (socket.writable) {
      socket.write(this.#handler.answerOf(group), 'latin1');
      if (socket.writableLength > limits.fastPathAnswerBytesMax && !this.#isEndHeld) {
        this.#waitForReader(group);
        return;
      }
    }
    this.#readNext(group);
  }

  /**
   * Reads what follows an answer, in its turn. Connections of a proxy are shared by callers, so what follows may be another's, and
   * does not wait for pushes.
   */
  #readNext(answered: PushGroup): void {
    const isReadOn = this.#left !== undefined || this.#isEndHeld || this.#handler.isClosing;
    const mayWait = this.#state === 'free' && !isReadOn && !this.#handler.isOfProxy(this.#socket);
    if (mayWait && this.#turn.waitUnread(this.#socket, answered, () => this.#endUnread())) this.#state = 'unread';
    else this.#readOnOrEnd();
  }

  /** It is its turn to be read, or the service stops. */
  #endUnread(): void {
    if (this.#state !== 'unread') return;
    this.#state = 'free';
    this.#turn.readOn();
    if (!this.#socket.destroyed) this.#readOnOrEnd();
  }

  /** There is no room for the pushes that these bytes begin with: they stay as they are until there may be. */
  #wait(bytes: Buffer, caller: Caller): void {
    this.#keepUnread(bytes);
    this.#handler.wait(this, caller);
  }

  /** Whether these are pushes that wait: there is no time for more of them in this turn of the event loop, or many are under way. */
  #mustWait(bytes: Buffer): boolean {
    const { headers, isClosing } = this.#handler;
    if (this.#turn.isNow || isClosing) return false;
    const push = pushIn(bytes, { headers, isFirst: !this.#isKnown });
    if (push === undefined) return false;
    this.#keepUnread(bytes);
    const caller = this.#caller ?? this.#handler.callerOf(this.#socket, push.facts.forwardedFor);
    this.#turn.waitWithBytes(caller, () => this.goOn());
    return true;
  }

  /** Nothing more is read from the connection either. */
  #keepUnread(bytes: Buffer): void {
    this.#state = 'waiting';
    this.#waiting = bytes;
    this.#socket.pause();
  }

  /** There may be room, or it is its turn: tries again. */
  goOn(): void {
    const bytes = this.#endWait();
    if (bytes === undefined) return;
    this.#begin(bytes);
    if (this.#state === 'free') this.#readOnOrEnd();
    // They were no usual pushes, and the client has closed its half meanwhile.
    else if ((this.#state as State) === 'node' && this.#isEndHeld && this.#left === undefined) this.#endToNode();
  }

  /** Those that wait have no room in time, or the service stops: Node.js gets the first, and the framework refuses it. */
  giveUp(): void {
    this.#endUnread();
    const bytes = this.#endWait();
    if (bytes === undefined) return;
    this.#give(bytes);
    if (this.#isEndHeld && this.#left === undefined) this.#endToNode();
  }

  #endWait(): Buffer | undefined {
    if (this.#state !== 'waiting') return undefined;
    const bytes = this.#waiting;
    this.#waiting = undefined;
    this.#state = 'free';
    // Node.js may have said the last word meanwhile.
    return this.#socket.destroyed || !this.#socket.writable ? undefined : bytes;
  }

  /** Goes on with what could not be put back; Node.js hears of the end of input behind all of it. */
  #beginLeft(): void {
    const left = this.#left;
    if (left === undefined || this.#state !== 'free') return;
    this.#left = undefined;
    this.#begin(left);
    const isWithNode = this.#state === 'free' || (this.#state as State) === 'node';
    if (this.#left === undefined && isWithNode) this.#endNow();
  }

  /** Node.js hears of the end of input behind what has begun: it reports an incomplete request. */
  #endNow(): void {
    this.giveBegun();
    this.#endToNode();
  }

  #readOnOrEnd(): void {
    const socket = this.#socket;
    if (this.#left !== undefined) this.#beginLeft();
    else if (this.#isEndHeld) this.#endNow();
    else if (socket.isPaused() && socket._paused !== true)
      takeAllHeld(socket, () => this.#state === 'free' || this.#state === 'node');
  }

  /** Resumes reading when the client has read its answers. */
  #waitForReader(answered: PushGroup): void {
    const socket = this.#socket;
    this.#state = 'full';
    socket.pause();
    socket.once('drain', () => {
      this.#state = 'free';
      this.#readNext(answered);
    });
  }

  /** Gives the first request to Node.js, with everything where its end is unknown. */
  #give(bytes: Buffer, head: Pick<RequestHead, 'end'> | undefined = readHead(bytes, 0, this.#handler.headers)): void {
    this.waitingSinceMs = Number.NaN;
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
    if (this.#socket.readableEnded) {
      // Nothing can be put back once the client has closed its half.
      this.#left = this.#left === undefined ? piece : Buffer.concat([piece, this.#left]);
      return;
    }
    this.#socket.pause();
    this.#socket.unshift(piece);
  }

  /** Gives Node.js bytes of a connection that it has for good; what it cannot have in this turn is put back. */
  #toNodeInTurns(bytes: Buffer): void {
    const socket = this.#socket;
    const readOn = () => void (socket._paused === true || socket.resume());
    giveInTurns(bytes, {
      ...{ socket, caller: () => this.#handler.callerOf(socket), give: this.#toNode },
      ...{ listener: this.#onDataForNode, readOn, hold: (piece) => this.#hold(piece) },
    });
  }

  /** Gives the connection to Node.js for good. */
  #leave(): void {
    this.#socket.on('data', this.#onDataForNode);
    this.#socket.removeListener('data', this.#onData);
  }
}
