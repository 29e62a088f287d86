// Has the datapoints of removed sensors deleted, in steps: their chunks at once, and once more when all of the log from before
// the removal is sealed, because sealing leaves out only what it knows to be removed. Done by the server that seals, whichever server
// has removed the sensors.
import { limits } from '../../../config/limits.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { LogState } from '../log/log-state.ts';
import type { Store } from '../log/store.ts';

interface PurgeParts {
  readonly database: PostgresDatabase;
  readonly store: Store;
  readonly state: LogState;
  /** Whether this server seals. */
  readonly isOurs: () => boolean;
  readonly onFailure: (error: Error) => void;
}

/** Removed sensors whose datapoints may lie in the log up to a seq. */
interface Due {
  readonly sensors: readonly number[];
  readonly upToSeq: number;
}

export class Purge {
  readonly #parts: PurgeParts;
  #due: Due | undefined;
  #running: Promise<void> | undefined;
  /** Sensors were removed since the present work began. */
  #isWanted = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(parts: PurgeParts) {
    this.#parts = parts;
  }

  /** Sensors were removed, by this server or others, now or before a stop: nothing of them is accepted any more. */
  begin(): void {
    if (!this.#parts.isOurs()) return;
    this.#isWanted = true;
    this.#run();
  }

  /** Looks for what other servers have removed. */
  look(): void {
    if (this.#due === undefined) this.begin();
  }

  passEnded(): void {
    if (this.#due !== undefined && this.#parts.state.sealedSeq >= this.#due.upToSeq) this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await this.#running;
  }

  #run(): void {
    if (this.#isClosed) return;
    this.#running ??= this.#purge().finally(() => {
      this.#running = undefined;
      if (this.#isWanted && !this.#isClosed) this.#retry = setTimeout(() => this.#run(), limits.sealRetryMs).unref();
    });
  }

  async #purge(): Promise<void> {
    const { store, state, onFailure } = this.#parts;
    try {
      do {
        if (this.#isWanted) await this.#lookForMore();
        const due = this.#due;
        if (due === undefined) return;
        const isLast = state.sealedSeq >= due.upToSeq;
        while (!(await store.ask('purge', { sensors: isLast ? due.sensors : [] }))) if (this.#isClosed) return;
        if (isLast && this.#due === due) this.#due = undefined;
      } while (this.#isWanted && !this.#isClosed);
    } catch (error) {
      this.#isWanted = true;
      if (!this.#isClosed) onFailure(error as Error);
    }
  }

  async #lookForMore(): Promise<void> {
    this.#isWanted = false;
    const rows = await this.#parts.database.query<{ sensor: number; upToSeq: number }>(dueSql, []);
    const upToSeq = rows[0]?.upToSeq;
    this.#due = upToSeq === undefined ? undefined : { sensors: rows.map(({ sensor }) => sensor), upToSeq };
  }
}

const dueSql = 'SELECT sensor, (SELECT position - 1 FROM log_end) AS "upToSeq" FROM purge';
