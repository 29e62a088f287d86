// Rules and messages name their recipients. When a named user is removed, triggers mark these rules and messages in
// the same transaction, so that another user who gets the name later does not receive them. Saving a rule with its action again
// removes the mark: it then means the user who has the name at that time.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // A user whom the rule names, and who was removed since.
  `CREATE TABLE former_recipient (
    notification INTEGER NOT NULL REFERENCES notification (key) ON DELETE CASCADE,
    username TEXT NOT NULL,
    PRIMARY KEY (notification, username)) WITHOUT ROWID`,
  // 1: for a user who was removed.
  'ALTER TABLE message ADD COLUMN former INTEGER NOT NULL DEFAULT 0',
  // An action is written flat, or wrapped in `value` (contract 7).
  `CREATE TRIGGER former_recipient_removed AFTER DELETE ON user BEGIN
    INSERT INTO former_recipient (notification, username)
      SELECT notification.key, old.username FROM notification
      WHERE EXISTS (SELECT 1 FROM json_each(notification.action, '$.usernames') WHERE value = old.username)
        OR EXISTS (SELECT 1 FROM json_each(notification.action, '$.value.usernames') WHERE value = old.username)
      ON CONFLICT DO NOTHING;
    UPDATE message SET former = 1 WHERE username = old.username AND state IN ('queued', 'sending');
  END`,
  `CREATE TRIGGER former_recipient_named_again AFTER UPDATE OF action ON notification BEGIN
    DELETE FROM former_recipient WHERE notification = new.key; END`,
  `CREATE TRIGGER former_recipient_message AFTER INSERT ON message WHEN EXISTS
    (SELECT 1 FROM former_recipient WHERE notification = new.notification AND username = new.username) BEGIN
    UPDATE message SET former = 1 WHERE key = new.key; END`,
];
