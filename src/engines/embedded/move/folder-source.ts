// A data folder from which data are moved; beside its server as long as only chunks are read.
import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { countOf } from '../../shared/log/log-piece.ts';
import { type ReceiptKey, receiptKeyOf } from '../../shared/log/receipt-ids.ts';
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
import { tailBytes } from '../../shared/move/moved-data.ts';
import { fromColumn, type ValueColumn } from '../database/value-column.ts';
import { DamagedRow, type LogRow, logColumns, toPiece } from '../log/log.ts';

/** Bytes of chunks that are read in one step, about, and rows of other tables. */
const bytesAtOnce = 4 * 1024 * 1024;
const rowsAtOnce = 1_000;
const marksAtOnce = 5_000;

const chunkSql = 'SELECT id, sensor, first, last, count, numbers, min, max, sum, bytes FROM chunk';

export class FolderSource implements MoveSource {
  readonly #database: DatabaseSync;
  readonly #newestReceivedMs: number | undefined;

  /** @param parts.newestReceivedMs when the newest datapoint was received, where the end of the log is asked for. */
  constructor(parts: { readonly database: DatabaseSync; readonly newestReceivedMs?: number | undefined }) {
    this.#database = parts.database;
    this.#newestReceivedMs = parts.newestReceivedMs;
  }

  async countChunks(): Promise<number> {
    return this.#number('SELECT count(*) AS n FROM chunk');
  }

  async chunksAfter(id: number): Promise<readonly MovedChunk[]> {
    return this.#chunks(`${chunkSql} WHERE id > ? ORDER BY id`, [id]);
  }

  async chunksOf(ids: readonly number[]): Promise<readonly MovedChunk[]> {
    return this.#chunks(`${chunkSql} WHERE id IN (${ids.map(() => '?').join(', ')}) ORDER BY id`, ids);
  }

  async marksAfter(id: number): Promise<readonly ChunkMark[]> {
    return this.#database
      .prepare(
        `SELECT id, sensor, first, last, count, length(bytes) AS size, lower(hex(substr(bytes, -${tailBytes}))) AS tail
          FROM chunk WHERE id > ? ORDER BY id LIMIT ${marksAtOnce}`,
      )
      .all(id) as unknown as ChunkMark[];
  }

  rowsOf(table: MovedTable): AsyncIterable<readonly MovedRow[]> {
    return this.#inSteps<MovedRow>(`SELECT * FROM "${table}"`);
  }

  async sequences(): Promise<ReadonlyMap<string, number>> {
    const rows = this.#database.prepare('SELECT name, seq FROM sqlite_sequence').all();
    return new Map(rows.map(({ name, seq }) => [String(name), Number(seq)]));
  }

  async *latest(): AsyncIterable<readonly MovedLatest[]> {
    const rows = this.#inSteps<Omit<MovedLatest, 'value'> & { value: ValueColumn }>(
      'SELECT sensor, seq, at, stamped, received, value FROM latest ORDER BY sensor',
    );
    for await (const some of rows) yield some.map((row) => ({ ...row, value: fromColumn(row.value) }));
  }

  async *receipts(): AsyncIterable<readonly MovedReceipt[]> {
    const rows = this.#inSteps<Omit<MovedReceipt, keyof ReceiptKey> & { readonly id: string }>(
      'SELECT id, caller, body_hash AS "bodyHash", answer, at FROM receipt',
    );
    for await (const some of rows) yield some.map(({ id, ...row }) => ({ ...row, ...receiptKeyOf(id) }));
  }

  async logEnd(): Promise<MovedLogEnd> {
    return {
      lastSeq: this.#number("SELECT coalesce((SELECT value FROM counter WHERE name = 'sealed_seq'), 0) AS n"),
      followedSeq: this.#counter('followed_seq'),
      newestReceivedMs: this.#newestReceivedMs,
      unread: this.#unread(),
    };
  }

  async alarmChanges(): Promise<number> {
    return this.#counter('alarm_changes') ?? 0;
  }

  async *digests(): AsyncIterable<readonly SensorDigest[]> {
    const rows = this.#database
      .prepare('SELECT sensor, count, bytes FROM chunk ORDER BY sensor, first, last, id')
      .iterate() as Iterable<unknown> as Iterable<{ sensor: number; count: number; bytes: Uint8Array }>;
    let [sensor, count, hashes]: [number | undefined, number, string[]] = [undefined, 0, []];
    const ended = () => ({ sensor: sensor as number, count, digest: md5(hashes.join('')) });
    for (const row of rows) {
      if (sensor !== undefined && row.sensor !== sensor) {
        yield [ended()];
        [count, hashes] = [0, []];
      }
      sensor = row.sensor;
      count += row.count;
      hashes.push(md5(row.bytes));
    }
    if (sensor !== undefined) yield [ended()];
  }

  #unread(): MovedPiece[] {
    const skipped = this.#database
      .prepare('SELECT first_seq AS first, last_seq AS last FROM rules_skipped ORDER BY first_seq')
      .all() as unknown as { first: number; last: number }[];
    const rows = this.#database.prepare(`SELECT ${logColumns} FROM replay_backlog ORDER BY first_seq`).all();
    return (rows as unknown as LogRow[]).flatMap((row) => {
      const piece = toPiece(row);
      if (piece instanceof DamagedRow || piece.rows.length === 0) return [];
      const end = piece.firstSeq + countOf(piece) - 1;
      const rulesSkipped = skipped.flatMap(({ first, last }) => {
        const [from, to] = [Math.max(first, piece.firstSeq), Math.min(last, end)];
        return from > to ? [] : [from - piece.firstSeq, to - from + 1];
      });
      return [{ ...piece, rulesSkipped }];
    });
  }

  #chunks(sql: string, parameters: readonly number[]): MovedChunk[] {
    const found: MovedChunk[] = [];
    let bytes = 0;
    for (const row of this.#database.prepare(sql).iterate(...parameters) as Iterable<unknown>) {
      const chunk = row as MovedChunk;
      found.push(chunk);
      bytes += chunk.bytes.length;
      if (bytes >= bytesAtOnce || found.length === rowsAtOnce) break;
    }
    return found;
  }

  async *#inSteps<Row>(sql: string): AsyncIterable<readonly Row[]> {
    let some: Row[] = [];
    for (const row of this.#database.prepare(sql).iterate() as Iterable<unknown>) {
      some.push(row as Row);
      if (some.length < rowsAtOnce) continue;
      yield some;
      some = [];
    }
    if (some.length > 0) yield some;
  }

  #counter(name: string): number | undefined {
    const row = this.#database.prepare('SELECT value FROM counter WHERE name = ?').get(name);
    return row === undefined ? undefined : Number(row['value']);
  }

  #number(sql: string): number {
    return Number(this.#database.prepare(sql).get()?.['n']);
  }
}

/** Against what a disk or a network changes by chance; nobody has a reason to make two chunks of one digest. */
function md5(data: Uint8Array | string): string {
  return createHash('md5').update(data).digest('hex');
}
