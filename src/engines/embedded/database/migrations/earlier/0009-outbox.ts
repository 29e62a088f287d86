// What rules need to be evaluated without loss, and their messages: the position of each rule, its memory of each
// device, messages, and datapoints that the watcher has not seen.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // The rule ignores datapoints up to this seq.
  'ALTER TABLE notification ADD COLUMN after_seq INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE notification ADD COLUMN watched_since INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE notification ADD COLUMN hysteresis TEXT',
  'ALTER TABLE notification ADD COLUMN hold INTEGER',
  'ALTER TABLE notification ADD COLUMN silence INTEGER',
  'ALTER TABLE notification ADD COLUMN recovery_message TEXT',
  // Datapoints stored before this release are not evaluated.
  `UPDATE notification SET
    after_seq = max(
      coalesce((SELECT max(first_seq + datapoints - 1) FROM log), 0),
      coalesce((SELECT value FROM counter WHERE name = 'settled_seq'), 0)),
    watched_since = CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  `CREATE TABLE notification_memory (
    notification INTEGER NOT NULL REFERENCES notification (key) ON DELETE CASCADE,
    device TEXT NOT NULL,
    memory TEXT NOT NULL,
    PRIMARY KEY (notification, device)) WITHOUT ROWID`,
  `CREATE TABLE message (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    author INTEGER NOT NULL REFERENCES user (key) ON DELETE CASCADE,
    notification INTEGER REFERENCES notification (key) ON DELETE SET NULL,
    seq INTEGER,
    created INTEGER NOT NULL,
    username TEXT NOT NULL,
    channel TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    code TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL,
    finished INTEGER)`,
  'CREATE INDEX message_author ON message (author, key)',
  'CREATE INDEX message_notification ON message (notification)',
  "CREATE INDEX message_due ON message (channel, due, key) WHERE state = 'queued'",
  `CREATE TABLE paid_message (
    day INTEGER NOT NULL,
    user INTEGER NOT NULL REFERENCES user (key) ON DELETE CASCADE,
    count INTEGER NOT NULL,
    PRIMARY KEY (day, user)) WITHOUT ROWID`,
  // Log rows that were sealed before the watcher read them.
  `CREATE TABLE kept_log (
    first_seq INTEGER PRIMARY KEY,
    datapoints INTEGER NOT NULL,
    rows BLOB NOT NULL,
    texts TEXT)`,
  // Ranges of datapoints that no rule looks at.
  'CREATE TABLE quiet_run (first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL)',
];
