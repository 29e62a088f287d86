// Runs the migrations of this release. An advisory lock of the database (Kysely's) has one process run them at a time, and another one
// says that no server is on the database meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg from 'pg';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { locks } from './advisory-locks.ts';
import { connectionSettings } from './connection-settings.ts';
import { migrations } from './migrations/migrations.ts';
import { assertSessions, sessionOf } from './session-mode.ts';

/**
 * Runs the migrations that the database lacks.
 * @throws Refusal `conflict` where a newer release wrote it, or the server, or a pool before it, is no good for it; the error of a migration, which leaves no
 * trace.
 */
export async function migrate(url: string): Promise<void> {
  // Without the session settings: a migration may take as long as it needs.
  const pool = new pg.Pool({ ...connectionSettings(url, 'migrations'), max: 1, idleTimeoutMillis: 0 });
  pool.on('error', () => {});
  // Kysely would end it only where it has used it: who is refused before would leave a connection.
  const borrowed = { connect: () => pool.connect(), end: async () => {}, options: pool.options };
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: borrowed }) });
  try {
    await assertServer(pool);
    await assertSessions(() => sessionOf(pool), url);
    const last = await newestUnknown(pool);
    if (last !== undefined) {
      const advice = 'Use that release or a later one; to go back, restore the backup made before the update';
      throw new Refusal('conflict', `The database was written by a newer Dundun (${last}). ${advice}.`);
    }
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    if ((await migrator.getMigrations()).every(({ executedAt }) => executedAt !== undefined)) return;
    await waitForServers(pool);
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
  } finally {
    await db.destroy();
    await pool.end();
  }
}

/** Takes the lock that servers share, alone, on the one connection of the pool; with that it ends. @throws Refusal `conflict` */
async function waitForServers(pool: pg.Pool): Promise<void> {
  const untilMs = performance.now() + limits.databaseBusyMs;
  for (;;) {
    const { rows } = await pool.query(`SELECT pg_try_advisory_lock(${locks.servers}) AS taken`);
    if (rows[0]?.taken === 1) return;
    if (performance.now() > untilMs)
      throw new Refusal('conflict', 'The database must be brought up to date, and servers use it. Stop them first.');
    await delay(limits.postgresRetryMsMin);
  }
}

async function assertServer(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ version: string; encoding: string }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding`,
  );
  const { version = '0', encoding = '' } = rows[0] ?? {};
  if (Number(version) < limits.postgresVersionMin * 10_000) {
    throw new Refusal(
      'conflict',
      `The server is PostgreSQL ${Math.floor(Number(version) / 10_000)}; at least ${limits.postgresVersionMin} is needed.`,
    );
  }
  if (encoding !== 'UTF8') throw new Refusal('conflict', `The database has the encoding ${encoding}; UTF8 is needed.`);
}

/** The newest migration that the database has had and this release does not know. */
async function newestUnknown(pool: pg.Pool): Promise<string | undefined> {
  const { rows: found } = await pool.query(`SELECT to_regclass('kysely_migration') IS NOT NULL AS "isOurs"`);
  if (found[0]?.isOurs !== 1) return undefined;
  const { rows } = await pool.query('SELECT name FROM kysely_migration ORDER BY name');
  return rows.map(({ name }) => String(name)).findLast((name) => !(name in migrations));
}
