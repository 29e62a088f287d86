// Shared counts as rows. Their times are of the database's clock as it was at the start of this process, carried on by the
// monotonic clock, so that nobody is locked out, or let in, because a wall clock was moved. Bounded: what was used longest ago
// goes.
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { BoundedCount, Count, CountKey, CountKind, SharedCounts } from '../../../domain/ports/shared-counts.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import type { RegistryWriter } from '../registry/registry-writer.ts';

const rowsMax: Readonly<Record<CountKind, number>> = {
  'failed-logins': limits.loginFailuresTrackedMax,
  registrations: 1,
  'registrations-by-address': limits.registrationAddressesMax,
  'account-mails': limits.accountMailsTrackedMax,
  'account-mails-by-address': limits.accountMailsTrackedMax,
  renames: limits.renamesTrackedMax,
  'renames-by-user': limits.renamesTrackedMax,
};

/** Changes after which rows beyond the bound are looked for. */
const trimmedEvery = 100;

const find = 'SELECT count, since, last FROM shared_count WHERE kind = $1 AND key = $2';
const put = `INSERT INTO shared_count (kind, key, count, since, last) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (kind, key) DO UPDATE SET count = excluded.count, since = excluded.since, last = excluded.last`;
const trim = `DELETE FROM shared_count WHERE kind = $1 AND last <
  (SELECT last FROM shared_count WHERE kind = $1 ORDER BY last DESC OFFSET $2 LIMIT 1)`;
const forget = 'DELETE FROM shared_count WHERE kind = $1 AND key = $2';

interface CountRow {
  readonly count: number;
  readonly since: number;
  readonly last: number;
}

export class PostgresCounts implements SharedCounts {
  readonly #database: PostgresDatabase;
  readonly #writer: Pick<RegistryWriter, 'run'>;
  readonly #clock: Clock;
  readonly #offsetMs: number;
  #changes = 0;

  /** @param parts.databaseNowMs what the clock of the database says now. */
  constructor(parts: {
    readonly database: PostgresDatabase;
    readonly writer: Pick<RegistryWriter, 'run'>;
    readonly clock: Clock;
    readonly databaseNowMs: number;
  }) {
    this.#database = parts.database;
    this.#writer = parts.writer;
    this.#clock = parts.clock;
    this.#offsetMs = parts.databaseNowMs - parts.clock.elapsedMs();
  }

  async find({ kind, key }: CountKey): Promise<Count | undefined> {
    const [row] = await this.#database.query<CountRow>(find, [kind, key]);
    return this.#onWallClock(row);
  }

  async add({ kind, key }: CountKey, { forgetAfterMs }: { readonly forgetAfterMs: number }): Promise<void> {
    await this.#writer.run(async (connection) => {
      const nowMs = this.#nowMs();
      const before = await rowOf(connection, { kind, key });
      const isForgotten = before === undefined || nowMs - before.last > forgetAfterMs;
      await this.#put(connection, { kind, key }, isForgotten ? first(nowMs) : next(before, nowMs));
    });
  }

  async take(counts: readonly BoundedCount[]): Promise<Count | undefined> {
    return this.#writer.run(async (connection) => {
      const nowMs = this.#nowMs();
      const taken: (CountKey & { readonly row: CountRow })[] = [];
      for (const { kind, key, max, windowMs } of counts) {
        const before = await rowOf(connection, { kind, key });
        const isOver = before === undefined || nowMs - before.since >= windowMs;
        if (!isOver && before.count >= max) return this.#onWallClock(before);
        taken.push({ kind, key, row: isOver ? first(nowMs) : next(before, nowMs) });
      }
      for (const { row, ...key } of taken) await this.#put(connection, key, row);
      return undefined;
    });
  }

  async remove({ kind, key }: CountKey): Promise<void> {
    await this.#writer.run((connection) => connection.query(forget, [kind, key]));
  }

  async #put(connection: Connection, { kind, key }: CountKey, { count, since, last }: CountRow): Promise<void> {
    await connection.query(put, [kind, key, count, since, last]);
    this.#changes += 1;
    if (this.#changes % trimmedEvery === 0 || rowsMax[kind] === 1)
      await connection.query(trim, [kind, rowsMax[kind] - 1]);
  }

  #nowMs(): number {
    return this.#clock.elapsedMs() + this.#offsetMs;
  }

  /** With the times as the wall clock of this process has them now. */
  #onWallClock(row: CountRow | undefined): Count | undefined {
    if (row === undefined) return undefined;
    const offsetMs = this.#clock.now() - this.#nowMs();
    return { count: row.count, sinceMs: row.since + offsetMs, lastMs: row.last + offsetMs };
  }
}

async function rowOf(connection: Connection, { kind, key }: CountKey): Promise<CountRow | undefined> {
  return (await connection.query<CountRow>(find, [kind, key])).rows[0];
}

function first(nowMs: number): CountRow {
  return { count: 1, since: nowMs, last: nowMs };
}

function next({ count, since }: CountRow, nowMs: number): CountRow {
  return { count: count + 1, since, last: nowMs };
}
