// Changes that a server stored and died before it announced them: whatever this process has in memory may be from before. It is read
// anew, once more for whatever comes meanwhile, and again until it could be read. Used by announcements.ts.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { limits } from '../../../config/limits.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

interface MissedChangesParts {
  readonly database: Pick<PostgresDatabase, 'query'>;
  readonly log: Log | undefined;
  /** Aborted when this process stops. */
  readonly signal: AbortSignal;
  /** @param servers those that are there. */
  readonly readAnew: (servers: readonly string[]) => Promise<void>;
}

export class MissedChanges {
  readonly #parts: MissedChangesParts;
  /** How often changes may have been missed; up to which of these all is read anew, or will be by what runs. */
  noted = 0;
  #wanted = 0;
  #done = 0;
  #reading: Promise<void> | undefined;

  constructor(parts: MissedChangesParts) {
    this.#parts = parts;
  }

  note(): void {
    this.noted += 1;
  }

  /** Reads anew for what was noted up to `noted`, if that is not done. All that was announced until then is applied. */
  catchUp(noted: number): void {
    this.#wanted = Math.max(this.#wanted, noted);
    if (this.#wanted === this.#done) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
  }

  async #read(): Promise<void> {
    const { database, log, signal, readAnew } = this.#parts;
    while (this.#done < this.#wanted && !signal.aborted) {
      const wanted = this.#wanted;
      const startMs = performance.now();
      try {
        const servers = await database.query<{ id: string }>('SELECT id FROM node');
        await readAnew(servers.map(({ id }) => id));
        this.#done = wanted;
        const durationMs = Math.round(performance.now() - startMs);
        log?.info({ durationMs }, 'a server has died; what it may have changed was read anew');
      } catch (error) {
        if (signal.aborted) return;
        log?.warn({ err: error }, 'what a dead server may have changed could not be read; it is tried again');
        await delay(limits.announcementPollMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }
}
