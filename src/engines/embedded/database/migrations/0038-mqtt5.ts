// What MQTT 5 adds to what is stored: how long a session is kept after its connection, in seconds, as its client asked (NULL: as
// long as may be), and the bytes of a retained message's properties, which count for the quota of its publisher.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const bytesOf = (row: string) => `octet_length(${row}.topic) + octet_length(${row}.payload) + 64 + ${row}.extra`;
const counted = `UPDATE usage SET retained_bytes = retained_bytes + (${bytesOf('new')}) WHERE user = new.user`;
const uncounted = `UPDATE usage SET retained_bytes = retained_bytes - (${bytesOf('old')}) WHERE user = old.user`;

const statements = [
  'ALTER TABLE mqtt_session ADD COLUMN expiry INTEGER',
  'ALTER TABLE mqtt_retained ADD COLUMN extra INTEGER NOT NULL DEFAULT 0',
  'DROP TRIGGER mqtt_retained_in',
  'DROP TRIGGER mqtt_retained_out',
  'DROP TRIGGER mqtt_retained_anew',
  `CREATE TRIGGER mqtt_retained_in AFTER INSERT ON mqtt_retained BEGIN ${counted}; END`,
  `CREATE TRIGGER mqtt_retained_out AFTER DELETE ON mqtt_retained BEGIN ${uncounted}; END`,
  `CREATE TRIGGER mqtt_retained_anew AFTER UPDATE ON mqtt_retained BEGIN ${uncounted}; ${counted}; END`,
];
