// The first answer of a push under an `Idempotency-Key` gets a column of its own. Before, it followed the body's hash
// after a space, which Base64 does not contain.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  "ALTER TABLE receipt ADD COLUMN answer TEXT NOT NULL DEFAULT ''",
  `UPDATE receipt SET
    answer = substr(body_hash, instr(body_hash, ' ') + 1),
    body_hash = substr(body_hash, 1, instr(body_hash, ' ') - 1)
    WHERE instr(body_hash, ' ') > 0`,
];
