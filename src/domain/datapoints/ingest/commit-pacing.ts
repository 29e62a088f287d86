// Spares the disk commits where datapoints come in a stream, from many or in many small pushes: a commit writes whole pages
// however little it holds, so that five hundred small ones a second wear flash memory out twice as fast as two hundred. In a
// spared stretch a commit waits until a few milliseconds after the one before began. Who sends the next push only when the
// last one is answered must not be slowed down by that, and only trying tells: where fewer datapoints come in a spared
// stretch than in a free one, the next free one is twice as long. Called by the writer alone, for the size and time of commits.

export interface CommitPacingBounds {
  /** Milliseconds between the beginnings of two commits, in spared stretches. */
  readonly everyMs: number;
  /** Datapoints in that time from which on a stream is paced. */
  readonly datapointsMin: number;
  /** With so many datapoints a commit waits no longer. */
  readonly datapointsEnough: number;
  /**
   * Milliseconds of a free stretch: the shortest, and the longest, which is used after several spared stretches were
   * too slow.
   */
  readonly freeMsMin: number;
  readonly freeMsMax: number;
  /**
   * Milliseconds of a spared stretch, after which its rate is compared; and the number of such stretches before the
   * next free one.
   */
  readonly sparedMs: number;
  readonly sparedMax: number;
}

/** Elapsed time in milliseconds; tests provide their own. */
export interface PacingTimer {
  now(): number;
  sleep(ms: number): Promise<void>;
}

const timer: PacingTimer = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** A spared stretch must reach this share of the free stretch's rate. */
const shareMin = 0.9;

export class CommitPacing {
  readonly #bounds: CommitPacingBounds;
  readonly #timer: PacingTimer;
  #commitMs = Number.NEGATIVE_INFINITY;
  #stretchMs = Number.NEGATIVE_INFINITY;
  /** Datapoints committed in this stretch. */
  #datapoints = 0;
  /** Consecutive spared stretches including this one; 0 in a free one. */
  #spared = 0;
  #freeMs: number;
  /** Datapoints per millisecond in the last free stretch. */
  #freeRate = 0;

  constructor(bounds: CommitPacingBounds, time = timer) {
    this.#bounds = bounds;
    this.#timer = time;
    this.#freeMs = bounds.freeMsMin;
  }

  /** Waits until the next commit may begin; `waiting` datapoints are in the queue. */
  async wait(waiting: number): Promise<void> {
    if (this.#spared === 0 || waiting >= this.#bounds.datapointsEnough) return;
    const leftMs = this.#commitMs + this.#bounds.everyMs - this.#timer.now();
    if (leftMs >= 1) await this.#timer.sleep(leftMs);
  }

  /** A commit of so many datapoints begins. */
  commitBegins(datapoints: number): void {
    const nowMs = this.#timer.now();
    const elapsedMs = nowMs - this.#stretchMs;
    this.#commitMs = nowMs;
    if (elapsedMs >= (this.#spared === 0 ? this.#freeMs : this.#bounds.sparedMs)) {
      // A stretch with a pause in it says nothing about the cost of pacing.
      if (this.#spared > 0 && elapsedMs > this.#bounds.sparedMs * 2) this.#spareAnew();
      else this.#endStretch(this.#datapoints / elapsedMs);
      this.#stretchMs = nowMs;
      this.#datapoints = 0;
    }
    this.#datapoints += datapoints;
  }

  #spareAnew(): void {
    this.#spared = 0;
    this.#freeMs = this.#bounds.freeMsMin;
  }

  #endStretch(rate: number): void {
    const { everyMs, datapointsMin, freeMsMin, freeMsMax, sparedMax } = this.#bounds;
    if (this.#spared === 0) {
      this.#freeRate = rate;
      if (rate * everyMs >= datapointsMin) this.#spared = 1;
      return;
    }
    const isCheap = rate >= this.#freeRate * shareMin;
    this.#freeMs = isCheap ? freeMsMin : Math.min(this.#freeMs * 2, freeMsMax);
    this.#spared = isCheap && this.#spared < sparedMax ? this.#spared + 1 : 0;
  }
}
