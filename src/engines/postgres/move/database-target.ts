// A PostgreSQL database to which data are moved. The table `moving` says that a move into it has begun: no server starts on it
// until it has come to its end.
import { Refusal } from '../../../base/refusal.ts';
import { countOf } from '../../shared/log/log-piece.ts';
import type { MoveResult } from '../../shared/move/move.ts';
import type {
  ChunkMark,
  MovedChunk,
  MovedRow,
  MovedTable,
  MovedValue,
  MoveSource,
  MoveTarget,
  SensorDigest,
} from '../../shared/move/moved-data.ts';
import { movedTables } from '../../shared/move/moved-data.ts';
import { formatKinds, formats } from '../database/formats.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { toColumns } from '../database/value-column.ts';
import type { Query } from '../log/log-reader.ts';
import { encodeBatch } from '../log/log-row.ts';
import { versionStep } from '../sealing/chunk-table.ts';
import { digestsOf, marksAfter } from './chunk-marks.ts';
import { isMovingInto } from './move-notes.ts';

/** What rows have in this engine beside what is moved. */
const added: Partial<Record<MovedTable, MovedRow>> = {
  mqtt_session: { node: 0 },
  mqtt_message: { node: 0 },
  mqtt_queue: { node: 0 },
};

/** Columns that this engine has not. */
const omitted: Partial<Record<MovedTable, readonly string[]>> = { damaged_chunk: ['id'] };

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isIdentity: number;
}

export class DatabaseTarget implements MoveTarget {
  readonly #database: PostgresDatabase;
  readonly #query: Query;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#query = (sql, parameters) => database.query(sql, parameters);
  }

  /**
   * Begins a move, or goes on with one of the same source. @throws Refusal `conflict` where the database has other data, or a
   * server is on it.
   */
  async begin(source: string): Promise<void> {
    await this.#database.query(
      'CREATE TABLE IF NOT EXISTS moving (one integer PRIMARY KEY CHECK (one = 1), source text NOT NULL)',
    );
    const [row] = await this.#database.query<{ source: string }>('SELECT source FROM moving');
    if (row !== undefined && row.source !== source)
      throw new Refusal(
        'conflict',
        `A move into the database from ${row.source} has begun; end it, or take another database.`,
      );
    if (row !== undefined) return;
    const [found] = await this.#database.query<{ n: number }>(
      'SELECT (SELECT count(*) FROM "user") + (SELECT count(*) FROM chunk) + (SELECT count(*) FROM node) AS n',
    );
    if ((found?.n ?? 0) > 0) {
      await this.#database.query('DROP TABLE moving');
      throw new Refusal('conflict', 'The database has data already, or a server is on it. Take an empty one.');
    }
    await this.#database.query('INSERT INTO moving VALUES (1, $1)', [source]);
    // No server is there: what is moved is of this release.
    for (const kind of formatKinds)
      await this.#database.query('UPDATE stored_format SET newest = $2 WHERE kind = $1', [kind, formats[kind].newest]);
    await this.#database.query('CREATE INDEX IF NOT EXISTS moving_chunk ON chunk (id)');
  }

  async lastChunk(): Promise<number> {
    return (await this.#database.query<{ n: number }>('SELECT coalesce(max(id), 0) AS n FROM chunk'))[0]?.n ?? 0;
  }

  async addChunks(chunks: readonly MovedChunk[]): Promise<void> {
    const column = <Key extends keyof MovedChunk>(key: Key) => chunks.map((chunk) => chunk[key]);
    const double = (key: 'min' | 'max' | 'sum') => chunks.map((chunk) => doubleOf(chunk[key]));
    await this.#database.query(addChunksSql, [
      ...[column('id'), column('sensor'), column('first'), column('last'), column('count'), column('numbers')],
      ...[double('min'), double('max'), double('sum')],
      chunks.map(({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    ]);
  }

  async removeChunks(chunks: readonly ChunkMark[]): Promise<void> {
    await this.#database.query(removeChunksSql, [
      chunks.map(({ sensor }) => sensor),
      chunks.map(({ first }) => first),
      chunks.map(({ last }) => last),
      chunks.map(({ id }) => id),
    ]);
  }

  marksAfter(id: number): Promise<ChunkMark[]> {
    return marksAfter(this.#query, id);
  }

  async putRest(source: MoveSource, onTable: (done: number) => void): Promise<void> {
    const columns = await this.#columns();
    await this.#database.transaction(async (connection) => {
      const names = [...movedTables, 'mqtt_usage'].map((table) => `"${table}"`);
      // What triggers count is moved as it was counted.
      for (const name of names) await connection.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
      const others = [
        'series',
        'heard',
        'receipt',
        'claim',
        'counter',
        'seal_pass',
        'log_0',
        'log_1',
        'log_2',
        'log_3',
      ];
      await connection.query(`TRUNCATE ${[...names, ...others].join(', ')} CASCADE`);
      for (const [n, table] of movedTables.entries()) {
        for await (const rows of source.rowsOf(table)) await addRows(connection, { table, rows, columns });
        onTable(n + 1);
      }
      await connection.query(mqttUsageSql);
      await putLatest(connection, source);
      await putReceipts(connection, source);
      await putLogEnd(connection, source);
      await putSequences(connection, await source.sequences(), columns);
      for (const name of names) await connection.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    });
  }

  digests(): AsyncIterable<readonly SensorDigest[]> {
    return digestsOf(this.#query);
  }

  /** Notes that all is there, as compared. @param mark by which the source notes it, too. */
  async noteCompared({ sensors, datapoints }: MoveResult, mark: string): Promise<void> {
    await this.#database.query(
      'ALTER TABLE moving ADD COLUMN IF NOT EXISTS mark text, ADD COLUMN IF NOT EXISTS sensors bigint, ADD COLUMN IF NOT EXISTS datapoints bigint',
    );
    await this.#database.query('UPDATE moving SET mark = $1, sensors = $2, datapoints = $3', [
      mark,
      sensors,
      datapoints,
    ]);
  }

  /** What was compared under this mark, where `finish` alone is missing. */
  async comparedAs(mark: string): Promise<MoveResult | undefined> {
    if (!(await isMovingInto(this.#database))) return undefined;
    return (await this.#database.query<MoveResult>(comparedSql, [mark]))[0];
  }

  async finish(): Promise<void> {
    await this.#database.query('DROP INDEX IF EXISTS moving_chunk');
    await this.#database.query('DROP TABLE moving');
  }

  async #columns(): Promise<ReadonlyMap<string, readonly Column[]>> {
    const rows = await this.#database.query<Column & { readonly table: string }>(columnsSql);
    return Map.groupBy(rows, ({ table }) => table);
  }
}

async function addRows(
  connection: Connection,
  {
    table,
    rows,
    columns,
  }: {
    readonly table: MovedTable;
    readonly rows: readonly MovedRow[];
    readonly columns: ReadonlyMap<string, readonly Column[]>;
  },
): Promise<void> {
  const extra = added[table] ?? {};
  const left = new Set([...Object.keys(rows[0] ?? {}), ...Object.keys(extra)]);
  for (const name of omitted[table] ?? []) left.delete(name);
  const taken = (columns.get(table) ?? []).filter(({ name }) => left.delete(name));
  if (left.size > 0) throw new Error(`The table ${table} has no column ${[...left].join(', ')}.`);
  const names = taken.map(({ name }) => `"${name}"`).join(', ');
  const arrays = taken.map(({ type }, n) => `CAST($${n + 1} AS ${type}[])`).join(', ');
  const valueIn = (row: MovedRow, { name, type }: Column) => convert(row[name] ?? extra[name] ?? null, type);
  await connection.query(
    `INSERT INTO "${table}" (${names}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})`,
    taken.map((column) => rows.map((row) => valueIn(row, column))),
  );
}

function convert(value: MovedValue, type: string): MovedValue | boolean {
  if (value === null) return null;
  if (type === 'boolean') return value === 1;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return type === 'double precision' ? doubleOf(value as number) : value;
}

/** As a parameter -0 would become 0. */
function doubleOf(value: number | null): number | string | null {
  return Object.is(value, -0) ? '-0' : value;
}

async function putLatest(connection: Connection, source: MoveSource): Promise<void> {
  // Of this run alone: a standby that has only replayed an earlier one is not taken for up to date.
  const version = versionStep();
  for await (const rows of source.latest()) {
    const values = rows.map(({ value }) => toColumns(value));
    await connection.query(latestSql, [
      rows.map(({ sensor }) => sensor),
      rows.map(({ at }) => at),
      rows.map(({ seq }) => seq),
      rows.map(({ stamped }) => stamped),
      rows.map(({ received }) => received),
      values.map(({ number }) => number),
      values.map(({ text }) => text),
      version,
    ]);
  }
}

async function putReceipts(connection: Connection, source: MoveSource): Promise<void> {
  for await (const rows of source.receipts()) {
    await connection.query(receiptsSql, [
      rows.map(({ hash }) => hash),
      rows.map(({ sensor }) => sensor),
      rows.map(({ caller }) => caller),
      rows.map(({ bodyHash }) => bodyHash),
      rows.map(({ answer }) => answer),
      rows.map(({ at }) => at),
    ]);
  }
}

/** What rules have not read becomes rows of a writer that is no more, all of them sealed; the log goes on behind them. */
async function putLogEnd(connection: Connection, source: MoveSource): Promise<void> {
  const { lastSeq, followedSeq, newestReceivedMs, unread } = await source.logEnd();
  const { rows } = await connection.query<{ writer: number }>('INSERT INTO log_writer DEFAULT VALUES RETURNING writer');
  const writer = (rows[0] as { writer: number }).writer;
  await connection.query('DELETE FROM log_writer');
  for (const [n, piece] of unread.entries()) {
    const place = { writer, seq: n + 1 };
    const { rows: datapoints, texts, rulesSkipped, firstSeq } = piece;
    const batch = { rows: datapoints, texts, rulesSkipped, publishes: new Uint32Array(0), receipts: [] };
    const values = [
      writer,
      place.seq,
      n + 1,
      firstSeq,
      countOf(piece),
      encodeBatch(batch, place, { version: formats.log.newest }),
    ];
    await connection.query(
      'INSERT INTO log_0 (writer, seq, number, position, count, bytes) VALUES ($1, $2, $3, $4, $5, $6)',
      values,
    );
  }
  await connection.query('UPDATE log_end SET ring = 0, number = $1, position = $2', [
    unread.length,
    1 + Math.max(lastSeq, followedSeq ?? 0),
  ]);
  await connection.query(
    'INSERT INTO seal_pass (number, up_to, up_to_row, is_whole, newest_received) VALUES (1, $1, $2, 1, $3)',
    [lastSeq, unread.length, newestReceivedMs ?? null],
  );
  const counters = { followed_seq: followedSeq, alarm_changes: await source.alarmChanges() };
  for (const [name, value] of Object.entries(counters))
    if (value !== undefined) await connection.query('INSERT INTO counter (name, value) VALUES ($1, $2)', [name, value]);
}

/** Keys are never given again, also those of rows that are gone. */
async function putSequences(
  connection: Connection,
  sequences: ReadonlyMap<string, number>,
  columns: ReadonlyMap<string, readonly Column[]>,
): Promise<void> {
  for (const table of [...movedTables, 'chunk']) {
    const identity = columns.get(table)?.find(({ isIdentity }) => isIdentity === 1);
    const last = sequences.get(table) ?? 0;
    if (identity === undefined || last === 0) continue;
    await connection.query('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [`"${table}"`, identity.name, last]);
  }
}

const addChunksSql = `INSERT INTO chunk (id, sensor, first, last, count, numbers, min, max, sum, bytes) OVERRIDING SYSTEM VALUE
  SELECT * FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[]), CAST($3 AS bigint[]), CAST($4 AS bigint[]), CAST($5 AS integer[]),
    CAST($6 AS integer[]), CAST($7 AS double precision[]), CAST($8 AS double precision[]), CAST($9 AS double precision[]),
    CAST($10 AS bytea[]))`;
const removeChunksSql = `DELETE FROM chunk USING unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[]), CAST($3 AS bigint[]), CAST($4 AS bigint[]))
    AS gone(sensor, first, last, id)
  WHERE chunk.sensor = gone.sensor AND chunk.first = gone.first AND chunk.last = gone.last AND chunk.id = gone.id`;
const latestSql = `INSERT INTO series (sensor, version, pass, at, position, stamped, received, number, text)
  SELECT sensor, CAST($8 AS bigint), 0, at, position, stamped, received, number, text FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[]),
    CAST($3 AS bigint[]), CAST($4 AS integer[]), CAST($5 AS bigint[]), CAST($6 AS double precision[]), CAST($7 AS text[]))
    AS one(sensor, at, position, stamped, received, number, text)`;
const receiptsSql = `INSERT INTO receipt (hash, sensor, caller, body_hash, answer, at)
  SELECT * FROM unnest(CAST($1 AS bytea[]), CAST($2 AS bigint[]), CAST($3 AS text[]), CAST($4 AS text[]), CAST($5 AS text[]),
    CAST($6 AS bigint[]))`;
const mqttUsageSql = `INSERT INTO mqtt_usage (node, "user", mqtt_sessions, mqtt_session_bytes)
  SELECT 0, "user", mqtt_sessions, mqtt_session_bytes FROM usage WHERE mqtt_sessions <> 0 OR mqtt_session_bytes <> 0`;
/** The columns may not be there yet. */
const comparedSql = `SELECT CAST(one ->> 'sensors' AS bigint) AS sensors, CAST(one ->> 'datapoints' AS bigint) AS datapoints
  FROM (SELECT to_jsonb(moving) AS one FROM moving) AS noted WHERE one ->> 'mark' = $1`;
const columnsSql = `SELECT table_name AS table, column_name AS name, data_type AS type,
    CAST(is_identity = 'YES' AS integer) AS "isIdentity"
  FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`;
