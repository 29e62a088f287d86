// Indexes for lists of devices sorted by name, with all columns that a search needs, and by last-seen time, for which
// the stored change time is added.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP INDEX device_list',
  'CREATE INDEX device_list ON device (key, owner, visibility, date_modified)',
  'CREATE INDEX device_name ON device (lower(coalesce(name, id)), key, owner, visibility, id, name)',
];
