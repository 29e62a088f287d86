// Searches of lists and counts: a few at a time, callers in turns, each ended by PostgreSQL when its time is up.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { SearchOptions } from '../../shared/registry/registry.ts';
import { SearchQueue, searchTooLong } from '../../shared/registry/search-queue.ts';
import { stoppingRefusal } from '../../shared/write-failure.ts';
import { AskedLastValues } from '../database/asked-last-values.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { RegistryStatement } from './registry-writer.ts';

interface Search extends SearchOptions, RegistryStatement {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: Error) => void;
}

const queryCanceled = '57014';

function noValues(): Refusal {
  return new Refusal('malformed', 'Values cannot be filtered by where no server runs. Filter by other fields.');
}

export class Searches {
  readonly #database: PostgresDatabase;
  readonly #waiting = new SearchQueue<Search>();
  #running = 0;
  #isClosed = false;
  /** Called before a search that asks when devices were last seen; brings the table `heard` up to date. */
  beforeLastSeen: () => Promise<void> = async () => {};

  /** Finds the keys of the devices that a filter on last values lists; they take the place of its parameter. */
  devicesOf: (asked: AskedLastValues) => Promise<readonly number[]> = async () => {
    throw noValues();
  };

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** @throws Refusal `busy` when too many wait, the search took too long, or its asker has gone; `storage`. */
  run(query: RegistryStatement, options: SearchOptions): Promise<readonly unknown[]> {
    if (this.#isClosed) return Promise.reject(stoppingRefusal());
    return new Promise((resolve, reject) => {
      this.#waiting.assertRoom(options.caller);
      this.#waiting.add({ ...query, ...options, resolve, reject });
      this.#startNext();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.rejectAll(stoppingRefusal());
  }

  #startNext(): void {
    if (this.#running >= limits.postgresSearchConnections) return;
    const search = this.#waiting.next();
    if (search === undefined) return;
    this.#running += 1;
    void this.#search(search).finally(() => {
      this.#running -= 1;
      this.#startNext();
    });
  }

  async #search({ sql, parameters, resolve, reject }: Search): Promise<void> {
    try {
      if (sql.includes('heard.received')) await this.beforeLastSeen();
      const known = await Promise.all(
        parameters.map((one) => (one instanceof AskedLastValues ? this.devicesOf(one) : one)),
      );
      resolve(await this.#database.search(sql, known));
    } catch (error) {
      reject((error as { code?: string }).code === queryCanceled ? searchTooLong() : (error as Error));
    }
  }
}
