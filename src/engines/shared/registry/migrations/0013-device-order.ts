// Lists of devices by name and by when they were last heard. By name, an index gives them in order, with all that a
// search looks at beside; by when they were heard, the stored change stands beside what a list is counted by.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP INDEX device_list',
  'CREATE INDEX device_list ON device (key, owner, visibility, date_modified)',
  'CREATE INDEX device_name ON device (lower(coalesce(name, id)), key, owner, visibility, id, name)',
];
