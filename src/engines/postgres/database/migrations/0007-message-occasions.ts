// What a message of a rule is about, for the body of webhooks: JSON, made when the rule fired; NULL for other channels.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE message ADD COLUMN occasion text COLLATE "C"`.execute(db);
}
