// Collects when sensors last sent a datapoint, for the search thread's last-seen index (last-seen-index.ts), because the
// head is in the memory of the main thread only. Does nothing before the first call of `since`.
import type { Head } from './head.ts';

export class HeadLastSeen {
  readonly #head: Head;
  /** Datapoints up to this seq have been reported or collected; undefined before the first call of `since`. */
  #seq: number | undefined;
  /** By sensor: times of receiving not reported yet. Bounded by the number of sensors. */
  #unreported = new Map<number, number>();

  constructor(head: Head) {
    this.#head = head;
  }

  /**
   * What is new since the last call: pairs of a sensor's key and the time its last datapoint was received, in
   * milliseconds since 1970 UTC.
   */
  since(): Float64Array {
    this.#gather();
    const pairs = new Float64Array(this.#unreported.size * 2);
    let at = 0;
    for (const [sensor, receivedMs] of this.#unreported) {
      pairs[at] = sensor;
      pairs[at + 1] = receivedMs;
      at += 2;
    }
    this.#unreported = new Map();
    return pairs;
  }

  /** Must be called before the head forgets sealed datapoints. The table `latest` has them by then. */
  beforeSealed(): void {
    if (this.#seq !== undefined) this.#gather();
  }

  /** The search thread has ended: the next call of `since` starts from the beginning. */
  forget(): void {
    this.#seq = undefined;
    this.#unreported = new Map();
  }

  #gather(): void {
    if (this.#seq === this.#head.lastSeq) return;
    this.#head.eachBehind(this.#seq ?? 0, (sensor, receivedMs) => this.#unreported.set(sensor, receivedMs));
    this.#seq = this.#head.lastSeq;
  }
}
