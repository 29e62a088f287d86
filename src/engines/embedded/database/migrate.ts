// Runs the migrations of this release, and reads which ones a database has had.
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { NodeSqliteDialect } from './dialect.ts';
import { migrations } from './migrations/migrations.ts';

/** Runs the migrations that the database lacks. @throws the first error; that migration leaves no trace. */
export async function migrate(database: DatabaseSync): Promise<void> {
  // Usually nothing is to be done. Then a command-line verb beside a busy server must not wait for the write lock.
  if (formOf(database).form === 'present') return;
  const db = new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/** An empty in-memory database of this release. */
export async function migratedInMemory(): Promise<DatabaseSync> {
  const database = new DatabaseSync(':memory:');
  await migrate(database);
  return database;
}

/**
 * `present`: this release's schema; `older`: some migrations are missing; `newer`: it has had migrations that this
 * release does not know; `foreign`: not a database of this service.
 */
export type Form = 'present' | 'older' | 'newer' | 'foreign';

/** Compares the migrations of a database with those of this release; `last` is the newest it has had. */
export function formOf(database: DatabaseSync): { readonly form: Form; readonly last: string } {
  const isOurs = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'").get() !== undefined;
  if (!isOurs) return { form: 'foreign', last: '' };
  const had = database.prepare('SELECT name FROM kysely_migration ORDER BY name').all();
  const names = had.map(({ name }) => String(name));
  const last = names.at(-1) ?? '';
  if (names.some((name) => !(name in migrations))) return { form: 'newer', last };
  return { form: names.length < Object.keys(migrations).length ? 'older' : 'present', last };
}
