// Runs the migrations of this release: at a start those that servers of the release before can live with, beside such servers; others where no
// server is on the database, or, by upgrade.ts, when every living server knows them. Locks of the database have one process run them at
// a time.
import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import pg from 'pg';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { locks } from './advisory-locks.ts';
import { connectionSettings } from './connection-settings.ts';
import { type MarkedMigration, type MigrationKind, migrations } from './migrations/migrations.ts';
import { databaseSetting } from './opening-fault.ts';
import { type Ask, executedMigrations } from './readable.ts';
import { assertUsable } from './usable.ts';

/** What this release has to do with tables that others may use. */
interface Run {
  readonly names: readonly string[];
  /** Others use the tables: none is kept from it for longer than `migrationLockMs`. */
  readonly isBeside: boolean;
  /** Run in the transaction before the first migration. @throws Error where they must not be run now */
  readonly before?: (ask: Ask) => Promise<void>;
}

/** Two kinds of lock on a session: the one that servers share, taken like they do, or alone. */
const serversLock = {
  shared: `SELECT pg_try_advisory_lock_shared(${locks.servers}) AS taken`,
  alone: `SELECT pg_try_advisory_lock(${locks.servers}) AS taken`,
};

/**
 * Looks whether the database can be used, and runs the migrations that it lacks and this release needs: all where some need the database alone,
 * else those that only add. @param setting where the address is written, for messages.
 * @throws SettingFault, Refusal `storage`, `conflict` as `assertUsable`; Refusal `conflict` where servers are in the way; the error of a migration,
 * which leaves no trace.
 */
export async function migrate(url: string, setting = databaseSetting): Promise<void> {
  await withPool(url, async (pool, ask) => {
    await assertUsable(pool, ask, { url, setting });
    const untilMs = performance.now() + limits.databaseBusyMs;
    for (;;) {
      const missing = await missingMigrations(ask);
      const isAlone = missing.some(({ kind }) => kind === 'alone');
      const due = missing.filter(({ kind }) => isAlone || kind !== 'closing').map(({ name }) => name);
      if (due.length === 0) return;
      const busy = isAlone ? await runAlone(pool, due) : await runBeside(pool, due);
      if (busy === undefined) return;
      if (performance.now() > untilMs) throw new Refusal('conflict', busy);
      await delay(limits.postgresRetryMsMin);
    }
  });
}

/** Looks whether the database can be used, and changes nothing. @param setting as in `migrate`. @throws as `assertUsable` */
export async function examine(url: string, setting = databaseSetting): Promise<void> {
  await withPool(url, (pool, ask) => assertUsable(pool, ask, { url, setting }));
}

/**
 * Runs migrations that servers of other releases cannot live with. @param check looks, in the same transaction, whether there are such.
 * @returns those that it has run: another server may have been there first.
 * @throws whatever that throws, and the error of a migration: then nothing was done.
 */
export async function migrateClosing(
  url: string,
  names: readonly string[],
  check: (ask: Ask) => Promise<void>,
): Promise<readonly string[]> {
  return withPool(url, (pool) => run(pool, { names, isBeside: true, before: check }));
}

/** Those that the database has not had, in their order. */
export async function missingMigrations(
  ask: Ask,
): Promise<readonly { readonly name: string; readonly kind: MigrationKind }[]> {
  const executed = new Set(await executedMigrations(ask));
  const missing = Object.entries(migrations).filter(([name]) => !executed.has(name));
  return missing.map(([name, { kind }]) => ({ name, kind })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The last migration of this release: who knows it, knows those before. */
export function lastMigration(): string {
  return Object.keys(migrations).sort().at(-1) ?? '';
}

/** @returns why it cannot be done now. */
async function runAlone(pool: pg.Pool, names: readonly string[]): Promise<string | undefined> {
  const { rows } = await pool.query(serversLock.alone);
  if (rows[0]?.taken !== 1) return 'The database must be brought up to date, and servers use it. Stop them first.';
  await run(pool, { names, isBeside: false });
  return undefined;
}

/** The same, of those that only add. */
async function runBeside(pool: pg.Pool, names: readonly string[]): Promise<string | undefined> {
  const { rows } = await pool.query(serversLock.shared);
  if (rows[0]?.taken !== 1)
    return 'A server of another release uses the database, or brings it up to date. Stop it first.';
  try {
    await run(pool, { names, isBeside: true });
    return undefined;
  } catch (error) {
    await pool.query(`SELECT pg_advisory_unlock_shared(${locks.servers})`).catch(() => {});
    if (!isLockedOut(error)) throw error;
    return 'Tables must be changed, and something has locked them for long: a backup, or a long query. Start again when it has ended.';
  }
}

/** Whether a lock was waited for too long. */
export function isLockedOut(error: unknown): boolean {
  return (error as { code?: string }).code === '55P03';
}

/** In one transaction, and one process at a time. With the session, which ends with the pool, its locks do. */
async function run(pool: pg.Pool, { names, isBeside, before }: Run): Promise<readonly string[]> {
  await pool.query(`SET lock_timeout = ${isBeside ? limits.migrationLockMs : 0}`);
  await pool.query(`SELECT pg_advisory_lock(${locks.migrating})`);
  // Kysely would end it only where it has used it: who is refused before would leave a connection.
  const borrowed = { connect: () => pool.connect(), end: async () => {}, options: pool.options };
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: borrowed }) });
  try {
    const executed = await executedMigrations(askOf(pool));
    const wanted = names.filter((name) => !executed.includes(name));
    const provided: Record<string, Migration> = {};
    for (const name of executed) provided[name] = { up: async () => {} };
    for (const [n, name] of wanted.entries())
      provided[name] = noted(name, migrations[name] as MarkedMigration, n === 0 ? before : undefined);
    // Out of their order: one that closes may wait while later ones add.
    const migrator = new Migrator({
      ...{ db, provider: { getMigrations: async () => provided }, allowUnorderedMigrations: true },
    });
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
    return wanted;
  } finally {
    await db.destroy();
    await pool.query(`SELECT pg_advisory_unlock(${locks.migrating})`).catch(() => {});
  }
}

/** Says beside one that only adds that it does, for releases that do not know it. */
function noted(name: string, { kind, up }: MarkedMigration, before: Run['before']): Migration {
  return {
    up: async (db: Kysely<unknown>) => {
      await before?.(async <Row>(text: string) => (await sql.raw<Row>(text).execute(db)).rows);
      await up(db);
      if (kind === 'adding') await sql`INSERT INTO adding_migration (name) VALUES (${name})`.execute(db);
    },
  };
}

async function withPool<T>(url: string, work: (pool: pg.Pool, ask: Ask) => Promise<T>): Promise<T> {
  // Without the session settings: a migration may take as long as it needs.
  const pool = new pg.Pool({ ...connectionSettings(url, 'migrations'), max: 1, idleTimeoutMillis: 0 });
  pool.on('error', () => {});
  try {
    return await work(pool, askOf(pool));
  } finally {
    await pool.end();
  }
}

function askOf(pool: pg.Pool): Ask {
  return async <Row>(text: string) => (await pool.query(text)).rows as Row[];
}
