// Log rows may be packed from now on (docs/chunk-format.md), and hold the fingerprints of MQTT publishes. Existing rows
// stay as they are and readable.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE log ADD COLUMN publishes BLOB').execute(db);
}
