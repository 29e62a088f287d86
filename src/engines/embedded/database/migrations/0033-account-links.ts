// Links that are mailed to users (to set a new password, to confirm an e-mail address), by the hash of their secret; and
// which address a user has confirmed. Addresses of earlier releases are not confirmed.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE user ADD COLUMN email_confirmed TEXT',
  'CREATE INDEX user_email_confirmed ON user (lower(email_confirmed)) WHERE email_confirmed IS NOT NULL',
  // purpose: `reset` or `confirm`. email: where it was sent, which must still be the address of the user.
  `CREATE TABLE account_link (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    user INTEGER NOT NULL REFERENCES user (key),
    purpose TEXT NOT NULL,
    email TEXT NOT NULL,
    date_created INTEGER NOT NULL,
    expires INTEGER NOT NULL)`,
  'CREATE INDEX account_link_user ON account_link (user, purpose, key)',
  'CREATE INDEX account_link_expires ON account_link (expires)',
];
