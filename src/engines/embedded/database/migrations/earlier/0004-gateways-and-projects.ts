// Gateways and projects, and who gave a share.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE gateway (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner INTEGER NOT NULL REFERENCES user (key),
    visibility TEXT NOT NULL,
    name TEXT, location TEXT,
    date_created INTEGER NOT NULL,
    date_modified INTEGER NOT NULL,
    last_seen INTEGER)`,
  'CREATE INDEX gateway_owner ON gateway (owner)',
  'CREATE INDEX gateway_visibility ON gateway (visibility)',
  // Ids as JSON arrays: a project may name records that do not exist.
  `CREATE TABLE project (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner INTEGER NOT NULL REFERENCES user (key),
    name TEXT,
    device_ids TEXT NOT NULL,
    gateway_ids TEXT NOT NULL)`,
  'CREATE INDEX project_owner ON project (owner)',
  'ALTER TABLE share ADD COLUMN given_by INTEGER REFERENCES user (key) ON DELETE SET NULL',
];
