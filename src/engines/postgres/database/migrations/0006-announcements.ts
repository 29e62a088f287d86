// What processes tell one another (ports/announcement.ts): a row until all have heard it. Numbered in the order of their commits,
// because they are added under the lock of the registry's writer.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = 'text COLLATE "C"';

const statements = [
  // node: who tells it. refusal: of a process that has refused it, as JSON.
  `CREATE TABLE announcement (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node ${text} NOT NULL,
    body ${text} NOT NULL,
    refusal ${text})`,
  // The last announcement that the process has applied, with all before.
  'ALTER TABLE node ADD COLUMN followed bigint NOT NULL DEFAULT 0',
];
