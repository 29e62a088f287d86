// Derives the key of a user's webhooks from their account and a version, so that it can be rotated. Version 0 is the
// earlier key, derived from the name, which existing users keep until they rotate it.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE user ADD COLUMN webhook_version INTEGER NOT NULL DEFAULT 1',
  'ALTER TABLE user ADD COLUMN webhook_rotated INTEGER',
  'UPDATE user SET webhook_version = 0',
];
