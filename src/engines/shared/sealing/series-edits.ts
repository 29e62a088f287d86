// Removes and corrects datapoints, on the main thread: finds out which part of the log has some of them, has the writer
// thread change what is on disk, and then changes the head, before any later commit is handled.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { type Asker, assertThere } from '../../../domain/callers/asker.ts';
import { FairQueue } from '../../../domain/callers/fair-queue.ts';
import { FairShare } from '../../../domain/callers/fair-share.ts';
import { loopTurns } from '../../../domain/callers/loop-turns.ts';
import type { Series, SeriesCorrection, SeriesRemoval } from '../../../domain/ports/series.ts';
import type { Head } from '../head/head.ts';
import type { EditOrder, EditResult } from './edit-order.ts';

/** Changes what is stored. */
export interface EditWriter {
  /**
   * Changes stored datapoints, in steps among other commits; resolves when all is done. `done` is called synchronously
   * then, before later commits are handled; also before it rejects, where a part was done and the rest will be.
   * @throws Refusal `storage`, `damaged` where a page of the database is damaged. If `done` was not called, nothing was changed.
   */
  edit(order: EditOrder, done: (result: EditResult) => void): Promise<EditResult>;
}

export class SeriesEdits implements Pick<Series, 'remove' | 'correct'> {
  readonly #writer: EditWriter;
  readonly #head: Head;
  readonly #queue = new FairQueue({
    share: new FairShare('edits', { aloneMax: limits.editsWaitingMax, reserve: limits.editsWaitingReserve }),
    atOnceMax: limits.editsAtOnceMax,
  });

  constructor(parts: { readonly writer: EditWriter; readonly head: Head }) {
    this.#writer = parts.writer;
    this.#head = parts.head;
  }

  remove(removal: SeriesRemoval, asker: Asker): Promise<number> {
    return this.#inTurn(asker, async () => {
      let [firstSeq, lastSeq] = [0, 0];
      for (const seq of this.#head.select(removal)) {
        firstSeq = seq;
        if (lastSeq === 0) lastSeq = seq;
      }
      const order = { ...removal, firstSeq, lastSeq };
      const [removed, unreadable] = await this.#writer.edit({ removal: order }, () => {
        if (lastSeq > 0) this.#head.remove(removal, lastSeq);
      });
      if (unreadable > 0)
        throw damaged(`${removed} datapoints were removed. ${unreadable} are damaged on disk and stay`);
      return removed;
    });
  }

  correct(correction: SeriesCorrection, asker: Asker): Promise<number> {
    return this.#inTurn(asker, async () => {
      const { sensor, atMs, receivedMs, value } = correction;
      const seqs: number[] = [];
      for (const seq of this.#head.select({ sensor, fromMs: atMs, toMs: atMs })) {
        if (receivedMs === undefined || this.#head.receivedMsOf(seq) === receivedMs) seqs.push(seq);
        if (seqs.length > 1) return seqs.length;
      }
      const [seq = 0] = seqs;
      const [found, unreadable] = await this.#writer.edit({ correction: { ...correction, seq } }, ([found]) => {
        if (found === 1 && seq > 0) this.#head.correct(seq, value);
      });
      if (unreadable > 0) throw damaged('Datapoints of that time are damaged on disk. Nothing was corrected');
      return found;
    });
  }

  /** Callers take turns; the head is looked through in a turn of the event loop of the caller's. */
  async #inTurn(asker: Asker, work: () => Promise<number>): Promise<number> {
    const isGone = asker.isGone === undefined ? undefined : () => asker.isGone?.() === true;
    if (!(await this.#queue.acquire(asker.caller, { isGone }))) throw tooMany();
    try {
      await loopTurns.turn(asker.caller);
      assertThere(asker);
      return await work();
    } finally {
      this.#queue.release();
    }
  }
}

function damaged(what: string): Refusal {
  return new Refusal('damaged', `${what}. dundun check tells more.`);
}

function tooMany(): Refusal {
  return new Refusal('busy', 'More datapoints are being removed or corrected than can be. Send the request again.', {
    retryAfterS: limits.busyRetryAfterS,
  });
}
