// Reads the body of a request piece by piece: counted against its bound and, where it does not come in one piece, against the
// caller's share of bytes under way (I4). Without room the sender waits, because its connection is not read on. Used by bodies.ts,
// import-body.ts and v1/auth.ts.
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../../domain/callers/byte-budget.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import { BodyBuffer } from './body-buffers.ts';
import { trackRequest } from './request-work.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The budget of incomplete bodies. */
    byteBudget: ByteBudget;
  }
}

interface BodyUse {
  /** True where the body is used longer than `take` runs: then it gets a buffer of its own. */
  readonly isKept?: boolean;
  readonly take: (body: Buffer) => unknown;
  readonly done: (error: Error | null, taken?: unknown) => void;
}

/** Reads the body of a request. `take` may use it while it runs; its result, or what it throws, goes to `done`. */
export function readBody(request: FastifyRequest, payload: IncomingMessage, use: BodyUse): void {
  const length = Number(request.headers['content-length']);
  // The route's bound is looked up only for large bodies, because that costs more than the rest of a small one.
  const bytesMax = length <= limits.smallBodyBytesMax ? limits.smallBodyBytesMax : request.routeOptions.bodyLimit;
  if (length > bytesMax) use.done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
  else new BodyReading(request, payload, { ...use, length, bytesMax }).begin();
}

class BodyReading {
  readonly #request: FastifyRequest;
  readonly #payload: IncomingMessage;
  readonly #use: BodyUse;
  /** Bytes announced; NaN where they are not. */
  readonly #length: number;
  readonly #bytesMax: number;
  readonly #buffer: BodyBuffer;
  readonly #budget: ByteBudget;
  readonly #caller: Caller;
  #reservation: ByteReservation | undefined;
  #isOver = false;
  #isWaiting = false;
  #hasEnded = false;

  constructor(
    request: FastifyRequest,
    payload: IncomingMessage,
    use: BodyUse & { readonly length: number; readonly bytesMax: number },
  ) {
    this.#request = request;
    this.#payload = payload;
    this.#use = use;
    this.#length = use.length;
    this.#bytesMax = use.bytesMax;
    this.#buffer = new BodyBuffer(use.length, use.isKept === true);
    this.#budget = request.server.byteBudget;
    this.#caller = request.actor?.caller ?? this.#budget.callerAt(request.ip);
  }

  begin(): void {
    const payload = this.#payload;
    payload.on('data', this.#onData);
    // A stream whose last piece was taken ends in the next tick, paused or not.
    payload.once('end', () => {
      this.#hasEnded = true;
      if (!this.#isWaiting) this.#finish();
    });
    payload.once('error', (error: Error) => this.#end(() => this.#use.done(Object.assign(error, { statusCode: 400 }))));
    payload.once('close', () => this.#hasEnded || this.#end(() => {}));
    payload.resume();
  }

  readonly #onData = (piece: Buffer): void => {
    // A body in one piece is held only within this turn of the event loop.
    if (this.#reservation !== undefined || piece.length !== this.#length) {
      this.#reservation ??= this.#budget.begin(this.#caller, () => this.#payload.destroy());
      if (!this.#budget.take(this.#reservation, piece.length)) {
        void this.#waitForRoom(this.#reservation, piece);
        return;
      }
    }
    this.#add(piece);
  };

  /** Resumes reading when there is room; the sender waits meanwhile. */
  async #waitForRoom(waiting: ByteReservation, piece: Buffer): Promise<void> {
    this.#payload.pause();
    this.#isWaiting = true;
    const isRoom = await this.#budget.wait(waiting, piece.length);
    this.#isWaiting = false;
    if (this.#isOver) return;
    if (!isRoom) return this.#end(() => this.#use.done(tooMuchAtOnce()));
    this.#add(piece);
    if (this.#hasEnded) this.#finish();
    else this.#payload.resume();
  }

  #add(piece: Buffer): void {
    if (this.#buffer.add(piece) && this.#buffer.bytes <= this.#bytesMax) return;
    this.#end(() => this.#use.done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()));
  }

  /** The body has come to its end. */
  #finish(): void {
    this.#end(() => {
      const { take, done } = this.#use;
      if (!Number.isNaN(this.#length) && this.#buffer.bytes !== this.#length) {
        done(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
        return;
      }
      let taken: unknown;
      try {
        trackRequest(this.#request);
        taken = take(this.#buffer.whole());
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, taken);
    });
  }

  /** Reads no more, and answers by `answer` once: at once where the body is short, else when it is the caller's turn. */
  #end(answer: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#payload.removeListener('data', this.#onData);
    const answerAndFree = () => {
      try {
        answer();
      } finally {
        this.#buffer.end();
        this.#reservation?.end();
      }
    };
    if (this.#buffer.bytes < limits.longBodyBytesMin) loopTurns.do(this.#caller, answerAndFree);
    else loopTurns.run(this.#caller, answerAndFree);
  }
}

function tooMuchAtOnce(): Refusal {
  return new Refusal('busy', 'More is being sent at once than can be held. Send the request again shortly.', {
    retryAfterS: limits.busyRetryAfterS,
  });
}
