// Brings a database to the present form; which migrations one has had, and what form they give.
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { migrations } from '../../shared/registry/migrations/migrations.ts';
import { NodeSqliteDialect } from './dialect.ts';

export async function migrate(database: DatabaseSync): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  // Mostly there is nothing to do, and then a verb beside a busy server need not wait for its turn to write.
  if ((await migrator.getMigrations()).every(({ executedAt }) => executedAt !== undefined)) return;
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/** An empty database in the present form, in memory. */
export async function migratedInMemory(): Promise<DatabaseSync> {
  const database = new DatabaseSync(':memory:');
  await migrate(database);
  return database;
}

/** `older`: it has not had all migrations of this version; `newer`: it has had others; `foreign`: none, it is no data of ours. */
export type Form = 'present' | 'older' | 'newer' | 'foreign';

/** The form of a database, and the last migration it has had. */
export function formOf(database: DatabaseSync): { readonly form: Form; readonly last: string } {
  const isOurs = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'").get() !== undefined;
  if (!isOurs) return { form: 'foreign', last: '' };
  const had = database.prepare('SELECT name FROM kysely_migration ORDER BY name').all();
  const names = had.map(({ name }) => String(name));
  const last = names.at(-1) ?? '';
  if (names.some((name) => !(name in migrations))) return { form: 'newer', last };
  return { form: names.length < Object.keys(migrations).length ? 'older' : 'present', last };
}
