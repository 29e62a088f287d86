// Devices that were handed over, with their earlier shares and keys, so that they can be given back. Refresh sessions
// with their times, origin and previous secret. Existing sessions end.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // shares: [[user, scopes, given_by], …]; keys: ids of the former owner's API keys that named the device. `former` is
  // null where that owner was removed.
  `CREATE TABLE handover (
    device INTEGER PRIMARY KEY REFERENCES device (key),
    former INTEGER REFERENCES user (key),
    receiver INTEGER NOT NULL REFERENCES user (key),
    at INTEGER NOT NULL,
    shares TEXT NOT NULL,
    keys TEXT NOT NULL)`,
  'CREATE INDEX handover_receiver ON handover (receiver, at)',
  'CREATE INDEX handover_former ON handover (former)',
  'CREATE INDEX handover_at ON handover (at)',
  'DROP TABLE renewal',
  // id: shown to the user. family: hash of the constant part of the secret; hash, previous: of the present and the
  // previous whole secret. ends: the session's end, however much it is used.
  `CREATE TABLE renewal (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    family TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    previous TEXT,
    user INTEGER NOT NULL REFERENCES user (key),
    password_version INTEGER NOT NULL,
    date_created INTEGER NOT NULL,
    last_used INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    agent TEXT,
    address TEXT)`,
  'CREATE INDEX renewal_user ON renewal (user, key)',
  'CREATE INDEX renewal_expires ON renewal (expires)',
];
