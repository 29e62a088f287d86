// How fast a count grows: its growth a second over the last while, from looks at it at intervals. Before the first while is over, since
// the start.
import type { Clock } from '../../base/time/clock.ts';

interface Look {
  readonly atMs: number;
  readonly count: number;
}

export class RecentRate {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  readonly #count: () => number;
  readonly #overMs: number;
  readonly #lookMs: number;
  /** The oldest first: one at least as old as the while, if there is one, and those after it. */
  readonly #looks: Look[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: {
    readonly clock: Pick<Clock, 'elapsedMs'>;
    readonly count: () => number;
    readonly overMs: number;
    readonly lookMs: number;
  }) {
    this.#clock = parts.clock;
    this.#count = parts.count;
    this.#overMs = parts.overMs;
    this.#lookMs = parts.lookMs;
  }

  start(): void {
    this.look();
    this.#timer = setInterval(() => this.look(), this.#lookMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Notes the count, unless it was noted a moment ago. */
  look(): void {
    const atMs = this.#clock.elapsedMs();
    const last = this.#looks.at(-1);
    if (last === undefined || atMs - last.atMs >= this.#lookMs) this.#looks.push({ atMs, count: this.#count() });
    while ((this.#looks[1]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs - this.#overMs) this.#looks.shift();
  }

  /** In the first second as if that was over. */
  get perSecond(): number {
    const oldest = this.#looks[0];
    if (oldest === undefined) return 0;
    const seconds = Math.max(1, (this.#clock.elapsedMs() - oldest.atMs) / 1_000);
    return Math.max(0, this.#count() - oldest.count) / seconds;
  }
}
