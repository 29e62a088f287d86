// The log, chunks of sealed datapoints, and what belongs to them (docs/decisions/0044).
import { type Kysely, sql } from 'kysely';
import { onlyIf, trigger } from './triggers.ts';

const text = 'text COLLATE "C"';

/** One of the ring: only added to, and emptied as a whole when nobody needs it, so that nothing has to be vacuumed. */
const ringTable = (ring: number) => [
  `CREATE TABLE log_${ring} (
    writer bigint NOT NULL,
    seq bigint NOT NULL,
    position bigint NOT NULL,
    count integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (writer, seq)) WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)`,
  // Packed or random bytes: to compress them would take time for nothing.
  `ALTER TABLE log_${ring} ALTER COLUMN bytes SET STORAGE EXTERNAL`,
];

const rings = [0, 1, 2, 3];

const statements = [
  // The fence of each writer: an append locks it, so without it nothing is appended any more. Numbers are never given again.
  `CREATE TABLE log_writer (
    writer bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started timestamptz NOT NULL DEFAULT now())`,
  ...rings.flatMap(ringTable),
  `CREATE VIEW log AS ${rings.map((ring) => `SELECT ${ring} AS ring, writer, seq, position, count, bytes FROM log_${ring}`).join(' UNION ALL ')}`,
  // All of a sensor begins with its key, by which it can be distributed: a sensor keeps the key when it is moved to another device.
  `CREATE TABLE chunk (
    sensor bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    count integer NOT NULL,
    numbers integer NOT NULL,
    min double precision,
    max double precision,
    sum double precision,
    bytes bytea NOT NULL,
    PRIMARY KEY (sensor, first, last, id))`,
  'ALTER TABLE chunk ALTER COLUMN bytes SET STORAGE EXTERNAL',
  // version: changes with each change of the sensor's chunks. pass: the last pass of sealing that had datapoints of it.
  // The others: its last sealed datapoint, where there is one.
  `CREATE TABLE series (
    sensor bigint PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0,
    pass bigint NOT NULL DEFAULT 0,
    at bigint,
    position bigint,
    stamped integer,
    received bigint,
    number double precision,
    text ${text})`,
  // The last whole pass of sealing, and the one under way. positions: the last row of each writer that it has sealed.
  `CREATE TABLE seal_pass (
    number bigint PRIMARY KEY,
    up_to bigint NOT NULL,
    positions ${text} NOT NULL,
    is_whole integer NOT NULL DEFAULT 0,
    newest_received bigint)`,
  `CREATE TABLE damaged_chunk (
    sensor bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    count integer NOT NULL,
    bytes bytea NOT NULL)`,
  'CREATE INDEX damaged_chunk_sensor ON damaged_chunk (sensor)',
  `CREATE TABLE damaged_log (
    writer bigint NOT NULL,
    seq bigint NOT NULL,
    position bigint NOT NULL,
    count integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (writer, seq))`,
  // A removal of datapoints whose chunks are not done, by its row of the log.
  `CREATE TABLE deletion (
    writer bigint NOT NULL,
    seq bigint NOT NULL,
    sensor bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    number double precision,
    text ${text},
    PRIMARY KEY (writer, seq))`,
  // hash: of the id, which can be longer than an index takes. sensor: of a push without a key (repeatIdPrefix).
  `CREATE TABLE receipt (
    hash bytea PRIMARY KEY,
    sensor bigint,
    caller ${text} NOT NULL,
    body_hash ${text} NOT NULL,
    answer ${text} NOT NULL,
    at bigint NOT NULL)`,
  'CREATE INDEX receipt_caller ON receipt (caller, at)',
  'CREATE INDEX receipt_at ON receipt (at)',
  'CREATE INDEX receipt_sensor ON receipt (sensor) WHERE sensor IS NOT NULL',
  // A push under way under an Idempotency-Key, by the writer that is to store its receipt.
  'CREATE TABLE claim (hash bytea PRIMARY KEY, writer bigint NOT NULL)',
  'CREATE TABLE mqtt_fingerprint (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, records bytea NOT NULL)',
  // What was remembered of arrays pushed to a sensor ends when it is moved: they would be answered for the device it was on.
  ...trigger(
    'receipt_sensor_moved',
    'AFTER UPDATE OF device ON sensor',
    onlyIf('new.device <> old.device', 'DELETE FROM receipt WHERE receipt.sensor = old.key;'),
  ),
  `CREATE OR REPLACE FUNCTION sealed_datapoints(sensor bigint) RETURNS bigint STABLE LANGUAGE sql AS $$
    SELECT CAST(coalesce(sum(chunk.count), 0) AS bigint) FROM chunk WHERE chunk.sensor = $1 $$`,
  `CREATE TABLE counter (name ${text} PRIMARY KEY, value bigint NOT NULL)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
