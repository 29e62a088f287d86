// Ids that devices had before, by which they answer for a while. A row keeps the id taken for everybody but its device.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const taken = (
  event: string,
  name: string,
  when = '',
) => `CREATE TRIGGER ${name} BEFORE ${event} ON device ${when} BEGIN
    SELECT RAISE(ABORT, 'exists') FROM former_device_id WHERE id = new.id; END`;

const statements = [
  // until: milliseconds since 1970 UTC.
  `CREATE TABLE former_device_id (
    id TEXT PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device (key) ON DELETE CASCADE,
    until INTEGER NOT NULL) WITHOUT ROWID`,
  'CREATE INDEX former_device_id_device ON former_device_id (device)',
  // Whoever may take the id removes its row before, in the same commit.
  taken('INSERT', 'former_device_id_taken'),
  taken('UPDATE OF id', 'former_device_id_kept', 'WHEN new.id <> old.id'),
];
