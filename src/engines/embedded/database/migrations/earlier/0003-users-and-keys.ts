// Accounts: names compared regardless of case, API keys, refresh sessions.
import { type Kysely, sql } from 'kysely';
import { foldName } from '../../../../../domain/users/username.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  const { rows } = await sql<{ key: number; username: string }>`SELECT key, username FROM ${sql.table('user')}`.execute(
    db,
  );
  for (const { key, username } of rows) {
    await sql`UPDATE ${sql.table('user')} SET folded = ${foldName(username)} WHERE key = ${key}`.execute(db);
  }
}

const statements = [
  // The name as foldName gives it, by which equal names are found.
  "ALTER TABLE user ADD COLUMN folded TEXT NOT NULL DEFAULT ''",
  'CREATE INDEX user_folded ON user (folded)',
  // Only the hash of a key is stored. Scopes and devices are JSON arrays; null where none were named.
  `CREATE TABLE api_key (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    user INTEGER NOT NULL REFERENCES user (key),
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    scopes TEXT, devices TEXT,
    date_created INTEGER NOT NULL,
    expires INTEGER)`,
  'CREATE INDEX api_key_user ON api_key (user)',
  // When each key was last used. A table of its own, because it is written apart from the key.
  'CREATE TABLE api_key_use (api_key INTEGER PRIMARY KEY REFERENCES api_key (key), at INTEGER NOT NULL)',
  // Only the hash of a refresh session's cookie is stored. It ends when the user's password version is higher.
  `CREATE TABLE renewal (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    user INTEGER NOT NULL REFERENCES user (key),
    password_version INTEGER NOT NULL,
    expires INTEGER NOT NULL)`,
  'CREATE INDEX renewal_user ON renewal (user, key)',
  'CREATE INDEX renewal_expires ON renewal (expires)',
];
