// Whether a database is one that this release can use: asked before anything is changed in it, at each start and by each command.
import type pg from 'pg';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { migrations } from './migrations/migrations.ts';
import { type GivenAddress, openingFaultOf } from './opening-fault.ts';
import { type Ask, assertReadable, executedMigrations } from './readable.ts';
import { assertSessions, sessionOf } from './session-mode.ts';

/**
 * @param pool has one connection. @throws SettingFault where the address is wrong; Refusal `storage` where the server is away, `conflict` where
 * the server, a pool before it or the database is no good, or a newer release wrote the database.
 */
export async function assertUsable(pool: pg.Pool, ask: Ask, address: GivenAddress): Promise<void> {
  try {
    await assertServer(ask);
    await assertSessions(() => sessionOf(pool), address.url);
  } catch (error) {
    throw openingFaultOf(error, address);
  }
  await assertOurs(ask);
  await assertReadable(ask);
}

async function assertServer(ask: Ask): Promise<void> {
  const [{ version, encoding } = { version: '0', encoding: '' }] = await ask<{ version: string; encoding: string }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding`,
  );
  if (Number(version) < limits.postgresVersionMin * 10_000) {
    throw new Refusal(
      'conflict',
      `The server is PostgreSQL ${Math.floor(Number(version) / 10_000)}; at least ${limits.postgresVersionMin} is needed.`,
    );
  }
  if (encoding !== 'UTF8') throw new Refusal('conflict', `The database has the encoding ${encoding}; UTF8 is needed.`);
}

/** @throws Refusal `conflict` where the database has tables and none are ours, or the first tables cannot be made. */
async function assertOurs(ask: Ask): Promise<void> {
  // First the tables: where another process makes ours meanwhile, what it notes of that is seen with them.
  const tables = await ask<{ readonly name: string }>(tablesSql);
  if ((await executedMigrations(ask)).some((name) => name in migrations)) return;
  const named = tables.slice(0, limits.foreignTablesNamed).map(({ name }) => name);
  if (named.length > 0) {
    const more = tables.length > named.length ? ' …' : '';
    throw new Refusal(
      'conflict',
      `The database has tables of another program (${named.join(', ')}${more}), and none of Dundun. Nothing was changed. Make one for Dundun alone (CREATE DATABASE), and name that in the address.`,
    );
  }
  const [right] = await ask<{ readonly may: number; readonly role: string }>(
    `SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may, current_user AS role`,
  );
  if (right?.may !== 1)
    throw new Refusal(
      'conflict',
      `The role ${right?.role} may not make tables in the database. Make it the owner: ALTER DATABASE … OWNER TO …`,
    );
}

/** But those that are made before ours, and those of extensions. */
const tablesSql = `SELECT relname AS name FROM pg_class
  WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p', 'f', 'v', 'm')
    AND relname NOT IN ('kysely_migration', 'kysely_migration_lock')
    AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
  ORDER BY relname LIMIT ${limits.foreignTablesNamed + 1}`;
