// Binds the key of a user's webhooks to their account and to a version, so that it can be changed. Version 0 is the key of
// those who had one before, which hangs on the name and stays good until it is changed.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE user ADD COLUMN webhook_version INTEGER NOT NULL DEFAULT 1',
  'ALTER TABLE user ADD COLUMN webhook_rotated INTEGER',
  'UPDATE user SET webhook_version = 0',
];
