// Ends stored MQTT sessions whose clients have been away for too long. Looks for them once in `sessionExpiryRoundMs`.
// The time a client went away is stored with its session, so a restart does not prolong it. Rounds are planned by the
// monotonic clock, and wait while the wall clock cannot be trusted (decision 30).

import type { Log } from '../../../../base/log.ts';
import type { AgeClocks } from '../../../../base/time/clock-watch.ts';
import { limits } from '../../../../config/limits.ts';
import type { StoredSessions } from './stored-sessions.ts';

export class MqttExpiry {
  readonly #sessions: Pick<StoredSessions, 'endExpired'>;
  readonly #clock: AgeClocks;
  readonly #log: Log | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** By the monotonic clock. */
  #dueMs: number;
  #isClosed = false;

  constructor(parts: {
    readonly sessions: Pick<StoredSessions, 'endExpired'>;
    readonly clock: AgeClocks;
    readonly log: Log | undefined;
  }) {
    this.#sessions = parts.sessions;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#dueMs = parts.clock.elapsedMs() + limits.sessionExpiryRoundMs;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      if (this.#clock.elapsedMs() >= this.#dueMs) this.#running ??= this.#round();
      this.start();
    }, limits.sessionExpiryRoundMs);
    this.#timer.unref();
  }

  /** Resolves when no round is due or in progress. */
  async idle(): Promise<void> {
    while (!this.#isClosed && (this.#running !== undefined || this.#clock.elapsedMs() >= this.#dueMs)) {
      this.#running ??= this.#round();
      await this.#running;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #round(): Promise<void> {
    this.#dueMs = this.#clock.elapsedMs() + limits.sessionExpiryRoundMs;
    try {
      const isSteady = this.#clock.isSteady();
      const sessions = await (isSteady ? this.#sessions.endExpired(this.#clock.forAge.now()) : 0);
      if (sessions > 0) this.#log?.info({ sessions }, 'expired MQTT sessions were removed');
    } catch (error) {
      // The disk may refuse for a while; the next round tries again.
      this.#log?.debug({ err: error }, 'removing expired MQTT sessions failed; it is tried again');
    }
    this.#running = undefined;
  }
}
