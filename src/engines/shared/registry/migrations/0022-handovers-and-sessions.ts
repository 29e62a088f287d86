// Devices that were handed over, with what they had before, so that they can be given back as they were; and of a
// renewal session when and where it was begun and used, and what its secret was before. Sessions that were there end.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // shares: [[user, scopes, given_by], …]; keys: ids of the API keys of the former owner that named the device. A former
  // owner who was removed is null.
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
  // id: shown to the user. family: hash of the part of the secret that stays; hash, previous: of the whole secret as it is
  // now and as it was before. ends: when it is over however much it is used.
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
