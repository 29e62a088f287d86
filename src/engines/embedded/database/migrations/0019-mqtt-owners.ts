// Binds stored MQTT state to the key of a user instead of the name, so that a new user with an old name does not
// inherit it. Adds columns for quotas and session expiry.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** The key of the user with this name. */
const keyOf = (name: string) => `(SELECT user.key FROM user WHERE user.username = ${name})`;

/** The name in a topic `users/{name}/…`, with or without a leading slash. */
const bare = "ltrim(topic, '/')";
const named = `substr(${bare}, 7, instr(substr(${bare}, 7), '/') - 1)`;
const isOfUser = "(topic LIKE 'users/%' OR topic LIKE '/users/%')";

const bytesOf = (row: string) => `octet_length(${row}.topic) + octet_length(${row}.payload) + 64`;
const counted = `UPDATE usage SET retained_bytes = retained_bytes + (${bytesOf('new')}) WHERE user = new.user`;
const uncounted = `UPDATE usage SET retained_bytes = retained_bytes - (${bytesOf('old')}) WHERE user = old.user`;

const statements = [
  'ALTER TABLE mqtt_session ADD COLUMN user INTEGER',
  // When its client went away, in milliseconds since 1970 UTC; null while it is connected.
  'ALTER TABLE mqtt_session ADD COLUMN away INTEGER',
  `UPDATE mqtt_session SET user = ${keyOf('mqtt_session.username')}`,
  // Sessions of removed users; their queues are deleted in steps at the next start.
  `DELETE FROM mqtt_subscription WHERE session IN
    (SELECT key FROM mqtt_session WHERE username IS NOT NULL AND user IS NULL)`,
  `DELETE FROM mqtt_incoming WHERE session IN
    (SELECT key FROM mqtt_session WHERE username IS NOT NULL AND user IS NULL)`,
  'DELETE FROM mqtt_session WHERE username IS NOT NULL AND user IS NULL',
  'ALTER TABLE mqtt_session DROP COLUMN username',
  // Bytes of the message charged to the session's user; 0 for messages of earlier releases.
  'ALTER TABLE mqtt_queue ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE mqtt_will ADD COLUMN user INTEGER',
  `UPDATE mqtt_will SET user = ${keyOf('mqtt_will.username')}`,
  'DELETE FROM mqtt_will WHERE username IS NOT NULL AND user IS NULL',
  'ALTER TABLE mqtt_will DROP COLUMN username',
  // The publisher; null where an earlier release did not store it.
  'ALTER TABLE mqtt_retained ADD COLUMN user INTEGER',
  `UPDATE mqtt_retained SET user = ${keyOf(named)} WHERE ${isOfUser}`,
  `DELETE FROM mqtt_retained WHERE ${isOfUser} AND user IS NULL`,
  'CREATE INDEX mqtt_retained_user ON mqtt_retained (user, topic)',
  // Retained messages charged to each user's quota (0017); those without a user are charged to nobody.
  `UPDATE usage SET retained_bytes =
    coalesce((SELECT sum(${bytesOf('mqtt_retained')}) FROM mqtt_retained WHERE mqtt_retained.user = usage.user), 0)`,
  `CREATE TRIGGER mqtt_retained_in AFTER INSERT ON mqtt_retained BEGIN ${counted}; END`,
  `CREATE TRIGGER mqtt_retained_out AFTER DELETE ON mqtt_retained BEGIN ${uncounted}; END`,
  `CREATE TRIGGER mqtt_retained_anew AFTER UPDATE ON mqtt_retained BEGIN ${uncounted}; ${counted}; END`,
];
