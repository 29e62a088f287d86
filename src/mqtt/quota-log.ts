// Tells the log what quotas keep out over MQTT: the first time at once, and then no more than a line in each interval, so
// that nobody fills the log by asking for too much. Called for every refusal; keeps a count and nothing of who asked.

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
    const nowMs = this.#clock.now();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + limits.quotaLogMs;
    this.#log.warn({ user, kind, refused: this.#since }, 'an MQTT quota refused something');
    this.#since = 0;
  }
}
