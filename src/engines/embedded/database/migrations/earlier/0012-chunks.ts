// Stores datapoints in compressed chunks, thousands in a row, instead of one row each. Existing ones are moved when the
// store is opened (engines/embedded/sealing/upgrade.ts), which drops the old table at the end.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  // A new folder has nothing to move.
  const { rows } = await sql`SELECT 1 FROM datapoint LIMIT 1`.execute(db);
  if (rows.length === 0) await sql.raw('DROP TABLE datapoint').execute(db);
}

const statements = [
  // Times are milliseconds since 1970 UTC; docs/chunk-format.md describes the bytes. `numbers`, `min`, `max` and `sum`
  // are of the values that are numbers. Ids are never reused, because readers cache chunks by id.
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
  // The present pass of sealing: sensors with smaller keys are in chunks up to this seq.
  'CREATE TABLE sealing (up_to INTEGER NOT NULL, next_sensor INTEGER NOT NULL)',
  // Chunks whose bytes are damaged; set aside, so that new datapoints can be stored in their span.
  `CREATE TABLE damaged_chunk (
    id INTEGER PRIMARY KEY,
    sensor INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes BLOB NOT NULL)`,
  "UPDATE counter SET name = 'sealed_seq' WHERE name = 'settled_seq'",
];
