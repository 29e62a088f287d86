// Fingerprints of MQTT publishes say whose session they belong to, and have 128 bits (decision 29). Those of earlier
// releases are dropped: they cannot be converted, because they are hashes.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP TABLE mqtt_publish',
  'CREATE TABLE mqtt_fingerprint (id INTEGER PRIMARY KEY AUTOINCREMENT, records BLOB NOT NULL)',
  'ALTER TABLE log DROP COLUMN publishes',
  'ALTER TABLE log ADD COLUMN fingerprints BLOB',
];
