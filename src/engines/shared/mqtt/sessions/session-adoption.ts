// Takes over sessions that no server has any more, now and then, so that messages are kept for clients that are away. Of several
// servers each takes those that it comes to first.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../../base/log.ts';
import { limits } from '../../../../config/limits.ts';
import type { SessionHandover } from '../mqtt-tables.ts';

export class SessionAdoption {
  readonly #handover: Pick<SessionHandover, 'ownerless'>;
  readonly #take: (clientId: string) => Promise<void>;
  readonly #takeHalfTaken: () => Promise<void>;
  readonly #log: Log | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Let go when it was looked last; bounded by `sessionsTakenAtOnce`. Whom it was let go for has taken it before the next look, or is gone. */
  #letGo: ReadonlySet<string> = new Set();
  #isClosed = false;

  constructor(parts: {
    readonly handover: Pick<SessionHandover, 'ownerless'>;
    readonly take: (clientId: string) => Promise<void>;
    /** Takes those of which this process does not know whether it has taken them. */
    readonly takeHalfTaken: () => Promise<void>;
    readonly log: Log | undefined;
  }) {
    this.#handover = parts.handover;
    this.#take = parts.take;
    this.#takeHalfTaken = parts.takeHalfTaken;
    this.#log = parts.log;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#round().finally(() => this.start());
    }, limits.sessionsTakenEveryMs).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    // The database may be away.
    await Promise.race([this.#running, delay(limits.drainMsMax, undefined, { ref: false })]);
  }

  async #round(): Promise<void> {
    try {
      await this.#takeHalfTaken();
      for (let isMore = true; isMore && !this.#isClosed; ) {
        const found = await this.#handover.ownerless();
        const taken = found.filter(({ clientId, isLetGo }) => !isLetGo || this.#letGo.has(clientId));
        for (let n = 0; n < taken.length; n += limits.sessionsTakenTogether) {
          if (this.#isClosed) return;
          const together = taken.slice(n, n + limits.sessionsTakenTogether);
          await Promise.all(together.map(({ clientId }) => this.#take(clientId)));
        }
        this.#letGo = new Set(found.filter((one) => !taken.includes(one)).map(({ clientId }) => clientId));
        isMore = taken.length > 0 && found.length === limits.sessionsTakenAtOnce;
        if (taken.length > 0)
          this.#log?.info({ sessions: taken.length }, 'MQTT sessions of a server that is gone were taken over');
      }
    } catch (error) {
      this.#log?.debug({ err: error }, 'taking over MQTT sessions failed; it is tried again');
    }
  }
}
