// Reuses a few large buffers, because one buffer a request is promoted to the old generation and holds hundreds of
// megabytes until a major collection. Each holds one body at a time, from its first piece until it has been parsed.
// Used by bodies.ts.
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyRequest } from 'fastify';
import { reportReleasedBytes } from '../../base/memory/garbage-collection.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../../domain/callers/byte-budget.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import { trackRequest } from './request-work.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The budget of incomplete bodies. */
    byteBudget: ByteBudget;
  }
}

/** Buffers that are not in use. */
const free: Buffer[] = [];
let made = 0;

/** A body being received. */
class BodyBuffer {
  readonly #wantsMemory: boolean;
  #memory: Buffer | undefined;
  #pieces: Buffer[] = [];
  /** The block into which pieces are copied, and how much of it is filled. */
  #block: Buffer | undefined;
  #blockBytes = 0;
  #bytes = 0;

  /** Small bodies, those of unknown length, and those for which no buffer is free are kept as pieces. */
  constructor(length: number, isKept: boolean) {
    this.#wantsMemory = !isKept && length > limits.bodyBufferBytesMin && length <= limits.bodyBufferBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when it is longer than announced. */
  add(piece: Buffer): boolean {
    // Not before the first piece: a client may announce a body and never send it.
    if (this.#wantsMemory && this.#bytes === 0) this.#memory = free.pop() ?? make();
    const memory = this.#memory;
    this.#bytes += piece.length;
    if (memory === undefined) this.#addPiece(piece);
    else if (this.#bytes > memory.length) return false;
    else piece.copy(memory, this.#bytes - piece.length);
    return true;
  }

  /**
   * Copies pieces into blocks: a body sent byte by byte takes little more than its bytes, and a block of a large body goes
   * back to the system when it is freed, which the pieces, shorter than 128 KiB, would not.
   */
  #addPiece(piece: Buffer): void {
    if (this.#pieces.length === 0) {
      this.#pieces.push(piece);
      return;
    }
    for (let at = 0; at < piece.length; ) {
      this.#block ??= Buffer.allocUnsafeSlow(
        this.#bytes < limits.bodyLargeBlockBytes ? limits.bodyBlockBytes : limits.bodyLargeBlockBytes,
      );
      const copied = piece.copy(this.#block, this.#blockBytes, at);
      at += copied;
      this.#blockBytes += copied;
      if (this.#blockBytes === this.#block.length) this.#closeBlock();
    }
    if (piece.length >= limits.bodyBlockBytes) reportReleasedBytes(piece.length);
  }

  #closeBlock(): void {
    if (this.#block !== undefined) this.#pieces.push(this.#block.subarray(0, this.#blockBytes));
    this.#block = undefined;
    this.#blockBytes = 0;
  }

  /** Valid until `end`. */
  whole(): Buffer {
    this.#closeBlock();
    return this.#memory?.subarray(0, this.#bytes) ?? Buffer.concat(this.#pieces);
  }

  end(): void {
    this.#pieces = [];
    this.#block = undefined;
    if (this.#memory !== undefined) free.push(this.#memory);
    this.#memory = undefined;
  }
}

function make(): Buffer | undefined {
  if (made >= limits.bodyBuffersMax) return undefined;
  made += 1;
  return Buffer.allocUnsafeSlow(limits.bodyBufferBytes);
}

/** Reads the body of a request. `take` may use it while it runs; its result, or what it throws, goes to `done`. */
export function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  {
    take,
    done,
    isKept = false,
  }: {
    /** True where the body is used longer than `take` runs: then it gets a buffer of its own. */
    readonly isKept?: boolean;
    readonly take: (body: Buffer) => unknown;
    readonly done: (error: Error | null, taken?: unknown) => void;
  },
): void {
  const length = Number(request.headers['content-length']);
  // The route's bound is looked up only for large bodies, because that costs more than the rest of a small one.
  const bytesMax = length <= limits.smallBodyBytesMax ? limits.smallBodyBytesMax : request.routeOptions.bodyLimit;
  if (length > bytesMax) {
    done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    return;
  }
  const gathering = new BodyBuffer(length, isKept);
  const budget = request.server.byteBudget;
  const caller = request.actor?.caller ?? budget.callerAt(request.ip);
  let reservation: ByteReservation | undefined;
  let isOver = false;
  let isWaiting = false;
  let hasEnded = false;
  const end = (finish: () => void): void => {
    if (isOver) return;
    isOver = true;
    payload.removeListener('data', onData);
    const finishOnce = () => {
      try {
        finish();
      } finally {
        gathering.end();
        reservation?.end();
      }
    };
    if (gathering.bytes < limits.longBodyBytesMin) loopTurns.do(caller, finishOnce);
    else loopTurns.run(caller, finishOnce);
  };
  const onData = (piece: Buffer): void => {
    // A body in one piece is held only within this turn of the event loop.
    if (reservation !== undefined || piece.length !== length) {
      reservation ??= budget.begin(caller, () => payload.destroy());
      if (!budget.take(reservation, piece.length)) {
        void waitForRoom(reservation, piece);
        return;
      }
    }
    add(piece);
  };
  /** Resumes reading when there is room; the sender waits meanwhile. */
  const waitForRoom = async (waiting: ByteReservation, piece: Buffer): Promise<void> => {
    payload.pause();
    isWaiting = true;
    const isRoom = await budget.wait(waiting, piece.length);
    isWaiting = false;
    if (isOver) return;
    if (!isRoom) return end(() => done(tooMuchAtOnce()));
    add(piece);
    if (hasEnded) finishWhole();
    else payload.resume();
  };
  const add = (piece: Buffer): void => {
    if (gathering.add(piece) && gathering.bytes <= bytesMax) return;
    end(() => done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()));
  };
  payload.on('data', onData);
  const finishWhole = (): void =>
    end(() => {
      if (!Number.isNaN(length) && gathering.bytes !== length) {
        done(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
        return;
      }
      let taken: unknown;
      try {
        trackRequest(request);
        taken = take(gathering.whole());
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, taken);
    });
  // A stream whose last piece was taken ends in the next tick, paused or not.
  payload.once('end', () => {
    hasEnded = true;
    if (!isWaiting) finishWhole();
  });
  payload.once('error', (error: Error) => end(() => done(Object.assign(error, { statusCode: 400 }))));
  payload.once('close', () => hasEnded || end(() => {}));
  payload.resume();
}

function tooMuchAtOnce(): Refusal {
  return new Refusal('busy', 'More is being sent at once than can be held. Send the request again shortly.', {
    retryAfterS: limits.busyRetryAfterS,
  });
}
