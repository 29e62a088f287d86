// Whether this release can live with what others have made of the database: with migrations that it does not know, and with bytes in
// forms of a later release. Asked at each start, and again while a server joins, behind the lock under which others go on
// (membership.ts, upgrade.ts): so none that could not is there when they do.
import { Refusal } from '../../../base/refusal.ts';
import { type FormatKind, formats, type StoredFormat, storedFormatsSql } from './formats.ts';
import { migrations } from './migrations/migrations.ts';

/** Runs one statement without parameters. */
export type Ask = <Row>(sql: string) => Promise<readonly Row[]>;

/** @returns the forms that the database may have. @throws Refusal `conflict` */
export async function assertReadable(ask: Ask): Promise<readonly StoredFormat[]> {
  const unknown = (await executedMigrations(ask)).filter((name) => !(name in migrations));
  const adding = new Set(unknown.length > 0 ? await addingMigrations(ask) : []);
  const closing = unknown.findLast((name) => !adding.has(name));
  if (closing !== undefined) throw writtenByNewer(closing);
  const stored = (await isThere(ask, 'stored_format')) ? await ask<StoredFormat>(storedFormatsSql) : [];
  for (const { kind, oldest, newest } of stored) {
    // Of a kind that only a later release has, it can store nothing that this one looks at.
    const read = formats[kind as FormatKind];
    if (read === undefined) continue;
    if (newest > read.newest) throw writtenByNewer(`${kind} of version ${newest}`);
    if (oldest < read.oldest)
      throw new Refusal('conflict', `The database has ${kind} of version ${oldest}, which only earlier releases read.`);
  }
  return stored;
}

/** Names of all migrations that the database has had, in their order. */
export async function executedMigrations(ask: Ask): Promise<readonly string[]> {
  if (!(await isThere(ask, 'kysely_migration'))) return [];
  const rows = await ask<{ readonly name: string }>('SELECT name FROM kysely_migration ORDER BY name COLLATE "C"');
  return rows.map(({ name }) => name);
}

async function addingMigrations(ask: Ask): Promise<readonly string[]> {
  if (!(await isThere(ask, 'adding_migration'))) return [];
  return (await ask<{ readonly name: string }>('SELECT name FROM adding_migration')).map(({ name }) => name);
}

async function isThere(ask: Ask, table: string): Promise<boolean> {
  const [row] = await ask<{ readonly found: number }>(`SELECT to_regclass('${table}') IS NOT NULL AS found`);
  return row?.found === 1;
}

function writtenByNewer(what: string): Refusal {
  const advice = 'Use that release or a later one; to go back, restore the backup made before the update';
  return new Refusal('conflict', `The database was written by a newer Dundun (${what}). ${advice}.`);
}
