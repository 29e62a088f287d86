// Servers of two releases beside each other (docs/decisions/0061).
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = 'text COLLATE "C"';

const statements = [
  // Migrations that a release which does not know them can live with.
  `CREATE TABLE adding_migration (name ${text} PRIMARY KEY)`,
  // The forms that are in the database, or may be from now on (formats.ts): a server that does not read them all must not start.
  `CREATE TABLE stored_format (kind ${text} PRIMARY KEY, oldest integer NOT NULL, newest integer NOT NULL)`,
  `INSERT INTO stored_format (kind, oldest, newest)
    VALUES ('log', 1, 1), ('chunk', 1, 1), ('announcement', 1, 1), ('session', 1, 1)`,
  // knows: the last migration of the server's release. reads: the forms that it reads, as JSON. NULL of a release that told neither.
  `ALTER TABLE node ADD COLUMN knows ${text}`,
  `ALTER TABLE node ADD COLUMN reads ${text}`,
  'ALTER TABLE announcement ADD COLUMN format integer NOT NULL DEFAULT 1',
  'ALTER TABLE mqtt_session ADD COLUMN format integer NOT NULL DEFAULT 1',
];
