// Takes over sessions that no server has any more, now and then, so that messages are kept for clients that are away. Of several
// servers each takes those that it comes to first.
import type { Log } from '../../../../base/log.ts';
import { limits } from '../../../../config/limits.ts';
import type { SessionHandover } from '../mqtt-tables.ts';

export class SessionAdoption {
  readonly #handover: Pick<SessionHandover, 'ownerless'>;
  readonly #take: (clientId: string) => Promise<void>;
  readonly #log: Log | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: {
    readonly handover: Pick<SessionHandover, 'ownerless'>;
    readonly take: (clientId: string) => Promise<void>;
    readonly log: Log | undefined;
  }) {
    this.#handover = parts.handover;
    this.#take = parts.take;
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
    await this.#running;
  }

  async #round(): Promise<void> {
    try {
      for (let isMore = true; isMore && !this.#isClosed; ) {
        const clientIds = await this.#handover.ownerless();
        for (const clientId of clientIds) {
          if (this.#isClosed) return;
          await this.#take(clientId);
        }
        isMore = clientIds.length === limits.sessionsTakenAtOnce;
        if (clientIds.length > 0)
          this.#log?.info({ sessions: clientIds.length }, 'MQTT sessions of a server that is gone were taken over');
      }
    } catch (error) {
      this.#log?.debug({ err: error }, 'taking over MQTT sessions failed; it is tried again');
    }
  }
}
