// How many datapoints may wait for their commit so that none waits much longer than its client will: as many as were
// committed in that time lately. Without it a queue that fits a fast disk holds seconds of work of a slow one. Only
// writer.ts calls it.

export interface QueueDelayBounds {
  /** Milliseconds that a datapoint should wait at most. */
  readonly queueDelayMsMax: number;
  /** Datapoints that may wait however slow commits are. */
  readonly queueDelayDatapointsMin: number;
}

/** Weight of the last commit in the rate. */
const weightOfLast = 0.3;

export class QueueDelay {
  readonly #bounds: QueueDelayBounds;
  /** Datapoints per millisecond while some waited; unknown until then. */
  #rate = Number.NaN;

  constructor(bounds: QueueDelayBounds) {
    this.#bounds = bounds;
  }

  /** Datapoints of one caller that may wait when nobody else's do. */
  get datapointsMax(): number {
    if (Number.isNaN(this.#rate)) return Number.POSITIVE_INFINITY;
    return Math.max(this.#bounds.queueDelayDatapointsMin, this.#rate * this.#bounds.queueDelayMsMax);
  }

  /** A commit has ended `elapsedMs` after the one before it, while its datapoints waited. */
  committed(datapoints: number, elapsedMs: number): void {
    const rate = datapoints / Math.max(elapsedMs, 0.1);
    this.#rate = Number.isNaN(this.#rate) ? rate : this.#rate + (rate - this.#rate) * weightOfLast;
  }
}
