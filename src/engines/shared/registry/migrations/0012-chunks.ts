// Datapoints in compressed chunks, one row for thousands, in place of a row each. What the table of before holds is moved
// when the store is opened (sqlite/upgrade.ts), which takes the table away at last.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  // A fresh folder has nothing to be moved.
  const { rows } = await sql`SELECT 1 FROM datapoint LIMIT 1`.execute(db);
  if (rows.length === 0) await sql.raw('DROP TABLE datapoint').execute(db);
}

const statements = [
  // Times are milliseconds since 1970 UTC; bytes as docs/chunk-format.md says. Of the values that are numbers: how many,
  // the lowest, the highest, the sum.
  // An id is never given again: readers remember chunks by it.
  `CREATE TABLE chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sensor INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    numbers INTEGER NOT NULL,
    min REAL,
    max REAL,
    sum REAL,
    bytes BLOB NOT NULL)`,
  'CREATE INDEX chunk_place ON chunk (sensor, first, last)',
  // The pass of sealing that is under way: sensors with smaller keys are in chunks up to this seq.
  'CREATE TABLE sealing (up_to INTEGER NOT NULL, next_sensor INTEGER NOT NULL)',
  // Chunks whose bytes are damaged, taken out of the way of new datapoints but kept.
  `CREATE TABLE damaged_chunk (
    id INTEGER PRIMARY KEY,
    sensor INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes BLOB NOT NULL)`,
  "UPDATE counter SET name = 'sealed_seq' WHERE name = 'settled_seq'",
];
