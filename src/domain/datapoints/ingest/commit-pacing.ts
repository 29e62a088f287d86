// Reduces the number of commits while datapoints arrive in a stream. A commit writes whole pages however little it
// holds, so five hundred small commits in a second wear out flash memory twice as fast as two hundred. In a paced
// phase a commit begins at the earliest `intervalMs` after the one before. That must not slow down senders that wait
// for each answer before they send again. Whether it does can only be measured: phases with and without pacing
// alternate, and if a paced phase takes in fewer datapoints than the unpaced phase before, the next unpaced phase is
// twice as long. Only the writer calls it.

export interface CommitPacingBounds {
  /** Minimum time in milliseconds between the beginnings of two commits in a paced phase. */
  readonly intervalMs: number;
  /** Pacing begins when at least this many datapoints arrive in `intervalMs`. */
  readonly datapointsMin: number;
  /** With this many waiting datapoints a commit begins at once. */
  readonly datapointsAtOnce: number;
  /** Shortest length of an unpaced phase in milliseconds; and the longest, after several paced phases were too slow. */
  readonly unpacedMsMin: number;
  readonly unpacedMsMax: number;
  /** Length of a paced phase in milliseconds; and how many may follow each other before the next unpaced phase. */
  readonly pacedMs: number;
  readonly pacedPhasesMax: number;
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

/** A paced phase must reach this share of the rate of the unpaced phase before, or it counts as too slow. */
const rateShareMin = 0.9;

export class CommitPacing {
  readonly #bounds: CommitPacingBounds;
  readonly #timer: PacingTimer;
  #commitStartMs = Number.NEGATIVE_INFINITY;
  #phaseStartMs = Number.NEGATIVE_INFINITY;
  /** Datapoints committed in this phase. */
  #datapoints = 0;
  /** Number of consecutive paced phases including this one; 0 in an unpaced phase. */
  #pacedPhases = 0;
  #unpacedMs: number;
  /** Datapoints per millisecond in the last unpaced phase. */
  #unpacedRate = 0;

  constructor(bounds: CommitPacingBounds, time = timer) {
    this.#bounds = bounds;
    this.#timer = time;
    this.#unpacedMs = bounds.unpacedMsMin;
  }

  /** Waits until the next commit may begin; `waiting` datapoints are in the queue. */
  async wait(waiting: number): Promise<void> {
    if (this.#pacedPhases === 0 || waiting >= this.#bounds.datapointsAtOnce) return;
    const leftMs = this.#commitStartMs + this.#bounds.intervalMs - this.#timer.now();
    if (leftMs >= 1) await this.#timer.sleep(leftMs);
  }

  /** Must be called when a commit begins, with its number of datapoints. */
  commitBegins(datapoints: number): void {
    const nowMs = this.#timer.now();
    const elapsedMs = nowMs - this.#phaseStartMs;
    this.#commitStartMs = nowMs;
    if (elapsedMs >= (this.#pacedPhases === 0 ? this.#unpacedMs : this.#bounds.pacedMs)) {
      // A phase of more than twice its length contains a pause of the senders, so its rate says nothing about pacing.
      if (this.#pacedPhases > 0 && elapsedMs > this.#bounds.pacedMs * 2) this.#restart();
      else this.#endPhase(this.#datapoints / elapsedMs);
      this.#phaseStartMs = nowMs;
      this.#datapoints = 0;
    }
    this.#datapoints += datapoints;
  }

  #restart(): void {
    this.#pacedPhases = 0;
    this.#unpacedMs = this.#bounds.unpacedMsMin;
  }

  #endPhase(rate: number): void {
    const { intervalMs, datapointsMin, unpacedMsMin, unpacedMsMax, pacedPhasesMax } = this.#bounds;
    if (this.#pacedPhases === 0) {
      this.#unpacedRate = rate;
      if (rate * intervalMs >= datapointsMin) this.#pacedPhases = 1;
      return;
    }
    const isCheap = rate >= this.#unpacedRate * rateShareMin;
    this.#unpacedMs = isCheap ? unpacedMsMin : Math.min(this.#unpacedMs * 2, unpacedMsMax);
    this.#pacedPhases = isCheap && this.#pacedPhases < pacedPhasesMax ? this.#pacedPhases + 1 : 0;
  }
}
