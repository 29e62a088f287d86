// The memory for answers that wait for their readers: long lists, and what a stream has ready. All of them share one budget, by
// caller, so that nobody fills the memory by asking for much and reading nothing. Used by the senders of lists
// (row-streams.ts, json-array.ts) and, for whatever else is long, by a hook of its own. Keeps true: what
// has been claimed for an answer is given back when the answer has left or its connection has ended, whatever happens.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { FairShare } from '../../domain/callers/fair-share.ts';

declare module 'fastify' {
  interface FastifyInstance {
    readonly answerBudget: AnswerBudget;
  }
  interface FastifyRequest {
    /** What is claimed for the answer; undefined for one that is short. */
    answerClaim: AnswerReservation | undefined;
  }
}

/** The memory claimed for one answer. */
export class AnswerReservation {
  readonly #share: FairShare;
  readonly #caller: Caller;
  #bytes: number;
  #isOver = false;

  constructor(share: FairShare, caller: Caller, bytes: number) {
    this.#share = share;
    this.#caller = caller;
    this.#bytes = bytes;
  }

  /** Says how many bytes it really is; what is there already cannot be refused any more. */
  setTo(bytes: number): void {
    if (this.#isOver) return;
    this.#share.force(this.#caller, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#share.giveBack(this.#caller, this.#bytes);
  }
}

class AnswerBudget {
  readonly #share: FairShare;
  #waiting = 0;

  constructor(passing: FairShare) {
    this.#share = new FairShare('answerBytes', {
      aloneMax: limits.answerBytesMax,
      reserve: limits.answerBytesReserve,
      within: passing,
    });
  }

  /** Bytes that are claimed now. */
  get held(): number {
    return this.#share.held;
  }

  /** Claims memory for an answer if there is room for it now. */
  tryClaim(request: FastifyRequest, reply: FastifyReply, bytes: number): AnswerReservation | undefined {
    const { caller } = request.actor;
    if (reply.raw.destroyed || !this.#share.take(caller, bytes)) return undefined;
    const reservation = new AnswerReservation(this.#share, caller, bytes);
    // Behind the last byte too: a server's answer closes when it is finished.
    reply.raw.once('close', () => reservation.end());
    request.answerClaim = reservation;
    return reservation;
  }

  /**
   * Claims memory for an answer that is about to be made, waiting a while for room.
   * @throws Refusal `busy` when there is none in time, or when too many wait already.
   */
  async claim(request: FastifyRequest, reply: FastifyReply, bytes: number): Promise<AnswerReservation> {
    const reservation = this.tryClaim(request, reply, bytes);
    if (reservation !== undefined) return reservation;
    if (this.#waiting >= limits.answersWaitingMax) throw noRoom();
    this.#waiting += 1;
    try {
      return await this.#claimInTime(request, reply, bytes);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #claimInTime(request: FastifyRequest, reply: FastifyReply, bytes: number): Promise<AnswerReservation> {
    const endMs = performance.now() + limits.answerWaitMs;
    while (!reply.raw.destroyed && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, limits.answerCapacityLookMs));
      const reservation = this.tryClaim(request, reply, bytes);
      if (reservation !== undefined) return reservation;
    }
    throw noRoom();
  }
}

/** Bytes to claim for a JSON list of at most so many datapoints, before it is known how long they are. */
export function listReservationBytes(limit: number): number {
  const bytes = limit * limits.answerRowBytes;
  return Math.min(limits.listBytesMax, Math.max(limits.answerCountedBytesMin, bytes));
}

/**
 * Counts every long answer that nobody claimed memory for before it was made.
 * @param passing the memory for all that is on its way in or out.
 */
export function registerAnswerBudget(app: FastifyInstance, passing: FairShare): void {
  app.decorate('answerBudget', new AnswerBudget(passing));
  app.decorateRequest('answerClaim', undefined);
  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes < limits.answerCountedBytesMin || request.actor === undefined) done(null, payload);
    else if (request.answerClaim !== undefined) {
      request.answerClaim.setTo(bytes);
      done(null, payload);
    } else if (app.answerBudget.tryClaim(request, reply, bytes) !== undefined) done(null, payload);
    else done(noRoom() as never);
  });
}

function noRoom(): Refusal {
  return new Refusal(
    'busy',
    'Too many long answers wait for their readers. Read those you asked for, then ask again.',
    {
      retryAfterS: limits.busyRetryAfterS,
    },
  );
}
