// Logs refusals of MQTT quotas: the first at once, then at most one line in each interval, so that no client can fill
// the log. Called for every refusal; keeps only a count.

import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';

export class QuotaLog {
  readonly #clock: Clock;
  readonly #log: Log;
  #nextMs = Number.NEGATIVE_INFINITY;
  #since = 0;

  constructor(parts: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  note(user: number, kind: string): void {
    this.#since += 1;
    const nowMs = this.#clock.elapsedMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + limits.quotaLogMs;
    this.#log.warn({ user, kind, refused: this.#since }, 'an MQTT quota refused something');
    this.#since = 0;
  }
}
