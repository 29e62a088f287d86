// The table of refresh sessions gets the name that the code uses for them. Rows and keys stay as they are.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE renewal RENAME TO refresh_session',
  'DROP INDEX renewal_user',
  'DROP INDEX renewal_expires',
  'CREATE INDEX refresh_session_user ON refresh_session (user, key)',
  'CREATE INDEX refresh_session_expires ON refresh_session (expires)',
];
