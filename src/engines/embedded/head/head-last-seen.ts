// Which sensors were heard since the search thread was last told: what is in the head is in this thread's memory alone,
// and lists are put in order by it (last-seen-index.ts). Nothing is gathered before the first question.
import type { Head } from './head.ts';

export class HeadLastSeen {
  readonly #head: Head;
  /** Up to here it has been told, or gathered; undefined before the first question. */
  #seq: number | undefined;
  /** By sensor, what the thread has not been told. Bounded by the number of sensors. */
  #unreported = new Map<number, number>();

  constructor(head: Head) {
    this.#head = head;
  }

  /** Pairs of a sensor and when its last datapoint was received, milliseconds since 1970. */
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

  /** To be called before the head forgets what has been sealed; the table `latest` has it by then. */
  beforeSealed(): void {
    if (this.#seq !== undefined) this.#gather();
  }

  /** Nobody knows anything any more: the next question is the first. */
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
