// Removals of datapoints that take more than one commit, so that one that was cut off is completed at the next start
// (decision 37).
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // `value` without a type, so that numbers and texts stay what they are; null: datapoints of any value. The seqs bound
  // the part of the log that has some of them; 0: none.
  `CREATE TABLE deletion (
    id INTEGER PRIMARY KEY,
    sensor INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    value,
    log_first INTEGER NOT NULL,
    log_last INTEGER NOT NULL)`,
];
