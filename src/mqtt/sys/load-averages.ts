// Moving averages of a figure over 1, 5 and 15 minutes, a minute's worth each, as mosquitto computes them: an exponential
// decay, applied at each look.

export const loadSpans = { '1min': 60, '5min': 300, '15min': 900 } as const;
export type LoadSpan = keyof typeof loadSpans;

export class LoadAverages {
  #last = 0;
  readonly #averages: { [span in LoadSpan]: number } = { '1min': 0, '5min': 0, '15min': 0 };

  /** @param total the figure since the start. @param seconds since the last call, or since the start; above 0. */
  take(total: number, seconds: number): void {
    const perMinute = ((total - this.#last) * 60) / seconds;
    this.#last = total;
    for (const span of Object.keys(loadSpans) as LoadSpan[]) {
      const before = this.#averages[span];
      this.#averages[span] = perMinute + Math.exp(-seconds / loadSpans[span]) * (before - perMinute);
    }
  }

  of(span: LoadSpan): number {
    return this.#averages[span];
  }
}
