// Notifications: the rules and their results. They are deleted with their author.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE notification (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    author INTEGER NOT NULL REFERENCES user (key) ON DELETE CASCADE,
    description TEXT,
    condition TEXT NOT NULL,
    action TEXT NOT NULL,
    status TEXT NOT NULL,
    throttling INTEGER NOT NULL,
    expires INTEGER,
    times_sent INTEGER NOT NULL DEFAULT 0,
    last_notification INTEGER,
    last_success INTEGER, last_success_code TEXT,
    last_failure INTEGER, last_failure_code TEXT, last_failure_reason TEXT)`,
  'CREATE INDEX notification_author ON notification (author)',
];
