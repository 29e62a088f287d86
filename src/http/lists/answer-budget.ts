// The memory for answers that wait for slow readers: long lists, and the part of a stream that is not sent yet. All
// answers share one budget, divided by caller, so that nobody fills the memory by asking for much and reading nothing.
// The senders of lists (row-streams.ts, json-array.ts) reserve memory before they make an answer; a hook counts other long
// answers. A reservation always ends when the answer was sent or its connection has closed.
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
    /** The reservation of the answer; undefined for a short one. */
    answerReservation: AnswerReservation | undefined;
  }
}

/** The memory reserved for one answer. */
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

  /** Sets the real number of bytes, which cannot be refused any more. */
  setTo(bytes: number): void {
    if (this.#isOver) return;
    this.#share.force(this.#caller, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#share.release(this.#caller, this.#bytes);
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

  /** Reserves memory for an answer if there is room now. */
  tryReserve(request: FastifyRequest, reply: FastifyReply, bytes: number): AnswerReservation | undefined {
    const { caller } = request.actor;
    if (reply.raw.destroyed || !this.#share.take(caller, bytes)) return undefined;
    const reservation = new AnswerReservation(this.#share, caller, bytes);
    // 'close' also follows a complete answer.
    reply.raw.once('close', () => reservation.end());
    request.answerReservation = reservation;
    return reservation;
  }

  /**
   * Reserves memory for an answer before it is made, waiting a while for room.
   * @throws Refusal `busy` when there is none in time, or too many wait already.
   */
  async reserve(request: FastifyRequest, reply: FastifyReply, bytes: number): Promise<AnswerReservation> {
    const reservation = this.tryReserve(request, reply, bytes);
    if (reservation !== undefined) return reservation;
    if (this.#waiting >= limits.answersWaitingMax) throw noRoom();
    this.#waiting += 1;
    try {
      return await this.#reserveInTime(request, reply, bytes);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #reserveInTime(request: FastifyRequest, reply: FastifyReply, bytes: number): Promise<AnswerReservation> {
    const endMs = performance.now() + limits.answerWaitMs;
    while (!reply.raw.destroyed && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, limits.answerCapacityLookMs));
      const reservation = this.tryReserve(request, reply, bytes);
      if (reservation !== undefined) return reservation;
    }
    throw noRoom();
  }
}

/** Bytes to reserve for a JSON list of at most so many datapoints, whose lengths are not known yet. */
export function listReservationBytes(limit: number): number {
  const bytes = limit * limits.answerRowBytes;
  return Math.min(limits.listBytesMax, Math.max(limits.answerCountedBytesMin, bytes));
}

/**
 * Counts long answers without a reservation.
 * @param passing the memory for all data on its way in or out.
 */
export function registerAnswerBudget(app: FastifyInstance, passing: FairShare): void {
  app.decorate('answerBudget', new AnswerBudget(passing));
  app.decorateRequest('answerReservation', undefined);
  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes < limits.answerCountedBytesMin || request.actor === undefined) done(null, payload);
    else if (request.answerReservation !== undefined) {
      request.answerReservation.setTo(bytes);
      done(null, payload);
    } else if (app.answerBudget.tryReserve(request, reply, bytes) !== undefined) done(null, payload);
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
