// Rows of the log may be packed from here on (docs/chunk-format.md), and have the marks of MQTT publishes beside them. Those
// that are there stay as they are, and can still be read.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE log ADD COLUMN publishes BLOB').execute(db);
}
