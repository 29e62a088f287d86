// When to look for rows of other servers: upon their hints, and now and then, because hints may be lost. And hints at own rows:
// joined together, and sent after the commit, because NOTIFY within it would serialise the commits of the whole server.
import { limits } from '../../../config/limits.ts';
import { logChannel } from '../coordination/announcements.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

interface PollingParts {
  readonly database: PostgresDatabase;
  readonly isAlone: () => boolean;
  readonly follow: () => Promise<void>;
}

export class LogPolling {
  readonly #parts: PollingParts;
  #isWanted = false;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isHinting = false;
  #hasHint = false;
  #isClosed = false;

  constructor(parts: PollingParts) {
    this.#parts = parts;
  }

  /** Looks now, and again after a look that is under way. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isClosed) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isWanted) this.wake();
      else this.#wakeLater();
    });
  }

  /** This process has appended. */
  hint(): void {
    this.#hasHint = true;
    if (this.#isHinting || this.#isClosed || this.#parts.isAlone()) return;
    this.#isHinting = true;
    void this.#sendHints().finally(() => {
      this.#isHinting = false;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #wakeLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const ms = this.#parts.isAlone() ? limits.logPollMsAlone : limits.logPollMs;
    this.#timer = setTimeout(() => this.wake(), ms).unref();
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    // The database may be away: the next look is soon.
    await this.#parts.follow().catch(() => {});
  }

  async #sendHints(): Promise<void> {
    while (this.#hasHint && !this.#isClosed) {
      this.#hasHint = false;
      await this.#parts.database.query(`SELECT pg_notify('${logChannel}', '')`).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, limits.logHintMs).unref());
    }
  }
}
