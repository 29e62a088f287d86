// Keeps the table `heard`, by which lists are put in order: when sensors last sent, sealed or not. Brought up to date before each
// search that uses it, because the head is in memory.
import type { HeadLastSeen } from '../../shared/head/head-last-seen.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

export class HeardTable {
  readonly #database: PostgresDatabase;
  readonly #lastSeen: HeadLastSeen;
  #hasSealed = false;
  #updating: Promise<void> = Promise.resolve();

  constructor(parts: { readonly database: PostgresDatabase; readonly lastSeen: HeadLastSeen }) {
    this.#database = parts.database;
    this.#lastSeen = parts.lastSeen;
  }

  /** Searches that begin at once wait for the same update, or for the next. */
  update(): Promise<void> {
    const next = this.#updating.catch(() => {}).then(() => this.#update());
    this.#updating = next;
    return next;
  }

  async #update(): Promise<void> {
    // What is new from here on is noted by the head; before, all that was sealed is in `series`.
    const pairs = this.#lastSeen.since();
    try {
      if (!this.#hasSealed) await this.#database.query(sealedSql);
      this.#hasSealed = true;
      const column = (place: number) => Array.from({ length: pairs.length / 2 }, (_, n) => pairs[2 * n + place]);
      if (pairs.length > 0) await this.#database.query(heardSql, [column(0), column(1)]);
    } catch (error) {
      // All of the head, the next time; what is sealed meanwhile is in `series`.
      this.#lastSeen.forget();
      this.#hasSealed = false;
      throw error;
    }
  }
}

const update = 'ON CONFLICT (sensor) DO UPDATE SET received = excluded.received';
const sealedSql = `INSERT INTO heard (sensor, received) SELECT sensor, received FROM series WHERE received IS NOT NULL
  ORDER BY sensor ${update} WHERE heard.received < excluded.received`;
const heardSql = `INSERT INTO heard (sensor, received)
  SELECT sensor, received FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[])) AS one(sensor, received) ORDER BY sensor ${update}`;
