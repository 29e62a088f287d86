// A PostgreSQL database from which data are moved; beside its servers as long as only chunks are read.
import { Head } from '../../shared/head/head.ts';
import type {
  ChunkMark,
  MovedChunk,
  MovedLatest,
  MovedLogEnd,
  MovedPiece,
  MovedReceipt,
  MovedRow,
  MovedTable,
  MoveSource,
  SensorDigest,
} from '../../shared/move/moved-data.ts';
import type { Connection } from '../database/postgres-database.ts';
import { fromColumns } from '../database/value-column.ts';
import { applyEdits } from '../log/log-edits.ts';
import { loadLog } from '../log/log-loading.ts';
import { type Query, readRows } from '../log/log-reader.ts';
import { LogState } from '../log/log-state.ts';
import { digestsOf, marksAfter } from './chunk-marks.ts';

/** Chunks of one step, and about bytes of them. */
const chunksAtOnce = 1_000;
const bytesAtOnce = 4 * 1024 * 1024;
/** Rows of other tables in one step: a message may have as many bytes as a client may send. */
const rowsAtOnce = 100;

/** Messages of all nodes, numbered as those of one; each session's stay in their order. */
const numbered = 'row_number() OVER (ORDER BY id, node)';

/** Where the rows are not all there is, or differ. */
const rowsSql: Partial<Record<MovedTable, string>> = {
  mqtt_session: 'SELECT key, client_id, "user", away, expiry FROM mqtt_session',
  mqtt_message: `SELECT ${numbered} AS id, topic, payload, rest FROM mqtt_message`,
  mqtt_queue: `SELECT session, one.number AS message, qos, packet_id, released, bytes FROM mqtt_queue
    JOIN (SELECT node, id, ${numbered} AS number FROM mqtt_message) AS one
      ON one.node = mqtt_queue.node AND one.id = mqtt_queue.message`,
};

export class DatabaseSource implements MoveSource {
  readonly #connection: Connection;
  readonly #query: Query;

  /** @param connection in a transaction, where more than chunks are read. */
  constructor(connection: Connection) {
    this.#connection = connection;
    this.#query = async <Row>(sql: string, parameters: readonly unknown[]) =>
      (await connection.query<Row>(sql, parameters)).rows;
  }

  async countChunks(): Promise<number> {
    return this.#number('SELECT count(*) AS n FROM chunk');
  }

  chunksAfter(id: number): Promise<readonly MovedChunk[]> {
    return this.#query<MovedChunk>(chunksSql('id > $1'), [id]);
  }

  chunksOf(ids: readonly number[]): Promise<readonly MovedChunk[]> {
    return this.#query<MovedChunk>(chunksSql('id = ANY(CAST($1 AS bigint[]))'), [ids]);
  }

  marksAfter(id: number): Promise<readonly ChunkMark[]> {
    return marksAfter(this.#query, id);
  }

  rowsOf(table: MovedTable): AsyncIterable<readonly MovedRow[]> {
    return this.#inSteps<MovedRow>(rowsSql[table] ?? `SELECT * FROM "${table}"`);
  }

  async sequences(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#query<{ table: string; last: number | null }>(sequencesSql, []);
    return new Map(rows.map(({ table, last }) => [table, last ?? 0]));
  }

  async *latest(): AsyncIterable<readonly MovedLatest[]> {
    const rows = this.#inSteps<Omit<MovedLatest, 'value'> & { number: number | null; text: string | null }>(latestSql);
    for await (const some of rows)
      yield some.map(({ number, text, ...row }) => ({ ...row, value: fromColumns({ number, text }) }));
  }

  receipts(): AsyncIterable<readonly MovedReceipt[]> {
    return this.#inSteps('SELECT hash, sensor, caller, body_hash AS "bodyHash", answer, at FROM receipt');
  }

  async logEnd(): Promise<MovedLogEnd> {
    const newest = await this.#query<{ ms: number | null }>(newestSql, []);
    return {
      lastSeq: await this.#number('SELECT position - 1 AS n FROM log_end'),
      followedSeq: await this.#counter('followed_seq'),
      newestReceivedMs: newest[0]?.ms ?? undefined,
      unread: await this.#unread(),
    };
  }

  async alarmChanges(): Promise<number> {
    return (await this.#counter('alarm_changes')) ?? 0;
  }

  digests(): AsyncIterable<readonly SensorDigest[]> {
    return digestsOf(this.#query);
  }

  /** Read as a server reads the log at start: all is sealed, so that only what rules have not read is there. */
  async #unread(): Promise<MovedPiece[]> {
    const state = new LogState({ head: new Head(), beforeSealed: () => {}, writer: () => 0 });
    await loadLog(
      { query: (sql, parameters = []) => this.#query(sql, parameters), transaction: (work) => work(this.#connection) },
      state,
    );
    const pieces: MovedPiece[] = [];
    for await (const rows of readRows(this.#query, state.index.slice(0, state.index.size))) {
      for (const { content, firstSeq } of rows) {
        if (typeof content === 'string' || content.rows.length === 0) continue;
        const left = applyEdits({ firstSeq, rows: content.rows, texts: content.texts }, state.edits.all);
        pieces.push({ ...left, rulesSkipped: content.rulesSkipped });
      }
    }
    return pieces;
  }

  /** A cursor, so that one state of the table is read in steps. */
  async *#inSteps<Row>(sql: string): AsyncIterable<readonly Row[]> {
    await this.#connection.query(`DECLARE moved_row NO SCROLL CURSOR FOR ${sql}`);
    for (;;) {
      const { rows } = await this.#connection.query<Row>(`FETCH ${rowsAtOnce} FROM moved_row`);
      if (rows.length > 0) yield rows;
      if (rows.length < rowsAtOnce) break;
    }
    await this.#connection.query('CLOSE moved_row');
  }

  async #counter(name: string): Promise<number | undefined> {
    return (await this.#query<{ value: number }>('SELECT value FROM counter WHERE name = $1', [name]))[0]?.value;
  }

  async #number(sql: string): Promise<number> {
    return (await this.#query<{ n: number }>(sql, []))[0]?.n ?? 0;
  }
}

/** The first of them, in the order of ids, as many as there is room for. */
const chunksSql = (which: string) => `SELECT id, sensor, first, last, count, numbers, min, max, sum, bytes
  FROM (SELECT *, sum(octet_length(bytes)) OVER (ORDER BY id) - octet_length(bytes) AS before
    FROM (SELECT * FROM chunk WHERE ${which} ORDER BY id LIMIT ${chunksAtOnce}) AS first_ones) AS one
  WHERE before < ${bytesAtOnce} ORDER BY id`;
const sequencesSql = `SELECT table_name AS table,
    pg_sequence_last_value(CAST(pg_get_serial_sequence(quote_ident(table_name), column_name) AS regclass)) AS last
  FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES'`;
const latestSql = `SELECT sensor, position AS seq, at, stamped, received, number, text FROM series
  WHERE at IS NOT NULL ORDER BY sensor`;
const newestSql = 'SELECT newest_received AS ms FROM seal_pass WHERE is_whole = 1 ORDER BY number DESC LIMIT 1';
