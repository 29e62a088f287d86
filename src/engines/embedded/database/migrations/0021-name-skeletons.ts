// The skeleton of each username (Unicode TS 39), by which self-registration refuses look-alikes. Existing names that
// look alike stay.
import { type Kysely, sql } from 'kysely';
import { likenessOf } from '../../../../domain/users/username.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  const { rows } = await sql<{ key: number; username: string }>`SELECT key, username FROM ${sql.table('user')}`.execute(
    db,
  );
  for (const { key, username } of rows) {
    const { folded, shown } = likenessOf(username);
    await sql`UPDATE ${sql.table('user')} SET skeleton = ${folded}, skeleton_shown = ${shown} WHERE key = ${key}`.execute(
      db,
    );
  }
}

const statements = [
  "ALTER TABLE user ADD COLUMN skeleton TEXT NOT NULL DEFAULT ''",
  "ALTER TABLE user ADD COLUMN skeleton_shown TEXT NOT NULL DEFAULT ''",
  'CREATE INDEX user_skeleton ON user (skeleton)',
  'CREATE INDEX user_skeleton_shown ON user (skeleton_shown)',
];
