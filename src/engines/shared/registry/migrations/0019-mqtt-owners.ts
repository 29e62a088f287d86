// Binds what MQTT stores to the key of a user in place of the name, so that a user made again under an old name gets
// nothing of the old one's; and adds what quotas and the expiry of sessions need to know.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** The key of the user that a table's row names. */
const keyOf = (name: string) => `(SELECT user.key FROM user WHERE user.username = ${name})`;

/** The name in a topic `users/{name}/…`, and in the same topic with a leading slash. */
const bare = "ltrim(topic, '/')";
const named = `substr(${bare}, 7, instr(substr(${bare}, 7), '/') - 1)`;
const isOfUser = "(topic LIKE 'users/%' OR topic LIKE '/users/%')";

const bytesOf = (row: string) => `octet_length(${row}.topic) + octet_length(${row}.payload) + 64`;
const counted = `UPDATE usage SET retained_bytes = retained_bytes + (${bytesOf('new')}) WHERE user = new.user`;
const uncounted = `UPDATE usage SET retained_bytes = retained_bytes - (${bytesOf('old')}) WHERE user = old.user`;

const statements = [
  'ALTER TABLE mqtt_session ADD COLUMN user INTEGER',
  // When its client went away, milliseconds since 1970 UTC; null while it is connected.
  'ALTER TABLE mqtt_session ADD COLUMN away INTEGER',
  `UPDATE mqtt_session SET user = ${keyOf('mqtt_session.username')}`,
  // Sessions of users who are gone; their queues are cleared away at the next start, in steps.
  `DELETE FROM mqtt_subscription WHERE session IN
    (SELECT key FROM mqtt_session WHERE username IS NOT NULL AND user IS NULL)`,
  `DELETE FROM mqtt_incoming WHERE session IN
    (SELECT key FROM mqtt_session WHERE username IS NOT NULL AND user IS NULL)`,
  'DELETE FROM mqtt_session WHERE username IS NOT NULL AND user IS NULL',
  'ALTER TABLE mqtt_session DROP COLUMN username',
  // What a message takes of the quota of the session's user; 0 for those of earlier versions.
  'ALTER TABLE mqtt_queue ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE mqtt_will ADD COLUMN user INTEGER',
  `UPDATE mqtt_will SET user = ${keyOf('mqtt_will.username')}`,
  'DELETE FROM mqtt_will WHERE username IS NOT NULL AND user IS NULL',
  'ALTER TABLE mqtt_will DROP COLUMN username',
  // Who published it; null where an earlier version did not note that.
  'ALTER TABLE mqtt_retained ADD COLUMN user INTEGER',
  `UPDATE mqtt_retained SET user = ${keyOf(named)} WHERE ${isOfUser}`,
  `DELETE FROM mqtt_retained WHERE ${isOfUser} AND user IS NULL`,
  'CREATE INDEX mqtt_retained_user ON mqtt_retained (user, topic)',
  // What the retained messages of each user take of the quota (0017); nobody is charged for those of nobody.
  `UPDATE usage SET retained_bytes =
    coalesce((SELECT sum(${bytesOf('mqtt_retained')}) FROM mqtt_retained WHERE mqtt_retained.user = usage.user), 0)`,
  `CREATE TRIGGER mqtt_retained_in AFTER INSERT ON mqtt_retained BEGIN ${counted}; END`,
  `CREATE TRIGGER mqtt_retained_out AFTER DELETE ON mqtt_retained BEGIN ${uncounted}; END`,
  `CREATE TRIGGER mqtt_retained_anew AFTER UPDATE ON mqtt_retained BEGIN ${uncounted}; ${counted}; END`,
];
