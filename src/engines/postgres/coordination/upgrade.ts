// Brings the database to this release where servers of the release before are, or were, beside it: runs migrations with which those could not
// live, and raises the forms that are stored, when every living server knows them, and has for `upgradeSettledMs`. All is done behind
// the lock under which servers join, where each is asked whether it can read what is there: so none comes between. Until then this
// process lives with the tables as they are, and writes what the others read.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { limits } from '../../../config/limits.ts';
import { locks } from '../database/advisory-locks.ts';
import {
  type FormatKind,
  type FormatRange,
  formatKinds,
  formats,
  type StoredFormat,
  storedFormatsSql,
  type WrittenFormats,
} from '../database/formats.ts';
import { isLockedOut, migrateClosing, missingMigrations } from '../database/migrate.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { Ask } from '../database/readable.ts';

/** What a server has told of its release when it joined; NULL of one that did not tell. */
interface ToldRelease {
  readonly knows: string | null;
  readonly reads: string | null;
  readonly ageMs: number;
}

/** Another server, or a command, may not know it; nothing was done. */
class NotYet extends Error {
  constructor() {
    super('A server or a command of an earlier release may use the database.');
  }
}

export class Upgrade {
  readonly #url: string;
  readonly #database: PostgresDatabase;
  readonly #written: WrittenFormats;
  readonly #log: Log | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: {
    readonly url: string;
    readonly database: PostgresDatabase;
    readonly written: WrittenFormats;
    readonly log?: Log | undefined;
  }) {
    this.#url = parts.url;
    this.#database = parts.database;
    this.#written = parts.written;
    this.#log = parts.log;
  }

  /** Begins to look, until there is nothing left to do. */
  start(): void {
    this.#looking = this.#look()
      .catch((error) => {
        this.#log?.warn({ err: error }, 'the database could not be brought to this release; it is tried again');
        return false;
      })
      .then((isDone) => {
        if (!isDone && !this.#isClosed) this.#timer = setTimeout(() => this.start(), limits.upgradeLookMs).unref();
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    // A database that does not answer is not waited for: what is under way is a transaction.
    await Promise.race([this.#looking, delay(limits.postgresEndMs, undefined, { ref: false })]);
  }

  /** @returns whether the database is that of this release. */
  async #look(): Promise<boolean> {
    const ask: Ask = (sql) => this.#database.query(sql);
    this.#written.learn(await ask<StoredFormat>(storedFormatsSql));
    const closing = (await missingMigrations(ask)).filter(({ kind }) => kind === 'closing').map(({ name }) => name);
    if (closing.length === 0 && this.#written.areNewest) return true;
    const servers = await serversOf(ask);
    const known = closing.filter((name) => doAllKnow(servers, name));
    if (known.length > 0) await this.#close(known);
    if (formatKinds.some((kind) => newestRead(servers, kind) > this.#written.of(kind))) await this.#raise();
    return closing.length === known.length && this.#written.areNewest;
  }

  async #close(names: readonly string[]): Promise<void> {
    let run: readonly string[];
    try {
      run = await migrateClosing(this.#url, names, async (ask) => {
        await ask(`SELECT pg_advisory_xact_lock(${locks.joining})`);
        const [free] = await ask<{ taken: number }>(`SELECT pg_try_advisory_xact_lock(${locks.commands}) AS taken`);
        const servers = await serversOf(ask);
        if (free?.taken !== 1 || !names.every((name) => doAllKnow(servers, name))) throw new NotYet();
      });
    } catch (error) {
      if (!(error instanceof NotYet) && !isLockedOut(error)) throw error;
      this.#log?.debug({ err: error }, 'a migration waits');
      return;
    }
    if (run.length === 0) return;
    this.#log?.info({ migrations: run }, 'tables were changed; servers of earlier releases cannot start');
  }

  async #raise(): Promise<void> {
    const raised = await this.#database.transaction(async (connection) => {
      await connection.query(`SELECT pg_advisory_xact_lock(${locks.joining})`);
      const servers = await serversOf(async <Row>(sql: string) => (await connection.query<Row>(sql)).rows);
      const newer: Record<string, number> = {};
      for (const kind of formatKinds) {
        const { rows } = await connection.query<{ newest: number }>(raiseSql, [kind, newestRead(servers, kind)]);
        if (rows[0] !== undefined) newer[kind] = rows[0].newest;
      }
      return newer;
    });
    // Only now: whoever joins from here on reads it, or is refused.
    this.#written.learn(await this.#database.query<StoredFormat>(storedFormatsSql));
    if (Object.keys(raised).length === 0) return;
    this.#log?.info({ formats: raised }, 'data are stored in a newer form; servers of earlier releases cannot start');
  }
}

const serversOf = (ask: Ask) =>
  ask<ToldRelease>(`SELECT knows, reads,
    CAST(extract(epoch FROM clock_timestamp() - started) * 1000 AS double precision) AS "ageMs" FROM node`);

/** Whether every server knows a migration, and has been there for long enough that nobody wants to go back. */
function doAllKnow(servers: readonly ToldRelease[], name: string): boolean {
  // Not even this one: it was declared dead.
  if (servers.length === 0) return false;
  return servers.every(({ knows, ageMs }) => knows !== null && knows >= name && ageMs >= limits.upgradeSettledMs);
}

/** The newest form of this release that every server reads; 0 where it is not to be raised yet. */
function newestRead(servers: readonly ToldRelease[], kind: FormatKind): number {
  const read = servers.map(({ reads, ageMs }) => {
    if (reads === null || ageMs < limits.upgradeSettledMs) return 0;
    return (JSON.parse(reads) as Partial<Record<FormatKind, FormatRange>>)[kind]?.newest ?? 0;
  });
  return servers.length === 0 ? 0 : Math.min(formats[kind].newest, ...read);
}

const raiseSql = `UPDATE stored_format SET newest = $2 WHERE kind = $1 AND newest < CAST($2 AS integer) RETURNING newest`;
