// What distributing tables by Citus needs (docs/decisions/0062); without it all is as before. A later migration finds the tables of
// database/distributed-tables.ts distributed or not: their keys keep the column by which they are, they get no trigger and no key to
// tables outside of their group, and no migration copies rows between them and others in one statement.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const rings = [0, 1, 2, 3];

const statements = [
  // The bytes of rows of the log that have none of their own, in the shard of their writer. Emptied before the log turns to the table again.
  ...rings.flatMap((ring) => [
    `CREATE TABLE log_bytes_${ring} (
      writer bigint NOT NULL,
      seq bigint NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (writer, seq)) WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)`,
    `ALTER TABLE log_bytes_${ring} ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  ]),
  // turn: how often the log has turned to another table, so that nobody goes on in one that was emptied meanwhile. bytes: those that
  // lie apart, since then. distribution: the value of the type Distribution that servers are to go by.
  'ALTER TABLE log_end ADD COLUMN turn bigint NOT NULL DEFAULT 0',
  'ALTER TABLE log_end ADD COLUMN bytes bigint NOT NULL DEFAULT 0',
  'ALTER TABLE log_end ADD COLUMN distribution smallint NOT NULL DEFAULT 0',
  // The one that the server goes by.
  'ALTER TABLE node ADD COLUMN distribution smallint NOT NULL DEFAULT 0',
];
