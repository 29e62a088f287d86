// Log rows get a checksum (docs/chunk-format.md). Existing rows have none, apart from the one inside packed bytes, and
// stay as they are.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE log ADD COLUMN checksum INTEGER',
  'ALTER TABLE kept_log ADD COLUMN checksum INTEGER',
  // Rows that could not be read when the log was sealed.
  `CREATE TABLE damaged_log (
    first_seq INTEGER PRIMARY KEY,
    datapoints INTEGER NOT NULL,
    rows BLOB NOT NULL,
    texts TEXT,
    checksum INTEGER)`,
];
