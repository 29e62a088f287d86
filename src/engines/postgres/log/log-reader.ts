// Reads rows of the log by the index, in its order, and decodes them.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { rowFields } from './log-index.ts';
import { decodeRow, type LogRowContent, type RowPlace } from './log-row.ts';

/** Runs one statement. */
export type Query = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>;

/** A row of the log that was read, with the seq of its first datapoint. */
export interface ReadRow extends RowPlace {
  readonly firstSeq: number;
  readonly count: number;
  /** The sentence says what is wrong with a damaged row. */
  readonly content: LogRowContent | string;
  /** Those of a damaged row. */
  readonly bytes?: Buffer;
}

/** A row is gone that nobody may have taken away. */
class MissingRow extends Error {
  constructor({ writer, seq }: RowPlace) {
    super(`Row ${seq} of writer ${writer} is not in the log.`);
  }
}

/** A row with the table that it is in. */
interface StoredRow extends RowPlace {
  readonly ring: number;
  /** None where they lie apart: each row has some. */
  readonly bytes: Buffer;
}

interface Row extends StoredRow {
  readonly number: number;
  readonly count: number;
}

/** Rows asked for by one statement, and about bytes of them. */
const rowsAtOnce = 500;
const bytesAtOnce = 4 * 1024 * 1024;

/** How many rows to ask for next, by the size of those that came. */
export class StepSize {
  #rows: number;

  /** @param bytesExpected of a row, until its size is known. */
  constructor(bytesExpected: number) {
    this.#rows = Math.max(1, Math.floor(bytesAtOnce / bytesExpected));
  }

  get rows(): number {
    return this.#rows;
  }

  came(rows: number, bytes: number): void {
    this.#rows = Math.max(1, Math.min(rowsAtOnce, Math.floor((bytesAtOnce * rows) / Math.max(bytes, 1))));
  }
}

const rowsSql =
  'SELECT ring, writer, seq, number, count, bytes FROM log WHERE number BETWEEN $1 AND $2 ORDER BY number';

/**
 * The rows of a part of the index (`rowFields` numbers each), in steps.
 * @throws MissingRow, UnreadableRow
 */
export async function* readRows(query: Query, index: Float64Array): AsyncGenerator<readonly ReadRow[]> {
  const count = index.length / rowFields;
  const step = new StepSize(32 * limits.logRowDatapointsMax);
  for (let from = 0; from < count; ) {
    const to = Math.min(count, from + step.rows);
    const numberOf = (n: number) => index[n * rowFields + 4] as number;
    const rows = new Map<number, Row>();
    const found = await query<Row>(rowsSql, [numberOf(from), numberOf(to - 1)]);
    for (const row of await withBytes(query, found)) rows.set(row.number, row);
    let bytes = 0;
    const read: ReadRow[] = [];
    for (let n = from; n < to; n++) {
      const [writer, seq, firstSeq] = index.subarray(n * rowFields) as unknown as [number, number, number];
      const place = { writer, seq };
      const row = rows.get(numberOf(n));
      if (row === undefined) throw new MissingRow(place);
      bytes += row.bytes.length;
      const content = contentOf(row, place);
      const damaged = typeof content === 'string' ? { bytes: row.bytes } : {};
      read.push({ ...place, ...damaged, firstSeq, count: row.count, content });
    }
    yield read;
    from = to;
    step.came(read.length, bytes);
  }
}

/** A later release has written a row in a form that this one does not read. It must not be passed over. */
export class UnreadableRow extends Refusal {
  constructor({ writer, seq }: RowPlace, { message }: Error) {
    super('conflict', `Row ${seq} of writer ${writer} of the log is of a newer Dundun. ${message} Use that release.`);
  }
}

/** The sentence says what is wrong with a damaged row. @throws UnreadableRow */
export function contentOf({ bytes, count }: Pick<Row, 'bytes' | 'count'>, place: RowPlace): LogRowContent | string {
  try {
    return decodeRow(bytes, place, count);
  } catch (error) {
    if (error instanceof UnknownVersion) throw new UnreadableRow(place, error);
    if (error instanceof CorruptChunk || error instanceof RangeError) return error.message;
    throw error;
  }
}

/**
 * Where servers go by shard bytes lie apart from their rows, in the shard of their writer: those of one writer are read with a statement.
 * Bytes that are not there any more stay none.
 */
export async function withBytes<Row extends StoredRow>(query: Query, rows: readonly Row[]): Promise<readonly Row[]> {
  const without = rows.filter(({ bytes }) => bytes.length === 0);
  if (without.length === 0) return rows;
  const apart = Map.groupBy(without, ({ ring, writer }) => `${ring}/${writer}`);
  const found = new Map<string, Buffer>();
  for (const ofWriter of apart.values()) {
    const [{ ring, writer } = { ring: 0, writer: 0 }] = ofWriter;
    const seqs = ofWriter.map(({ seq }) => seq);
    const parameters = [writer, seqs.reduce((a, b) => Math.min(a, b)), seqs.reduce((a, b) => Math.max(a, b))];
    const sql = `SELECT seq, bytes FROM log_bytes_${ring} WHERE writer = $1 AND seq BETWEEN $2 AND $3`;
    for (const { seq, bytes } of await query<{ seq: number; bytes: Buffer }>(sql, parameters))
      found.set(`${writer}/${seq}`, bytes);
  }
  return rows.map((row) => ({ ...row, bytes: found.get(`${row.writer}/${row.seq}`) ?? row.bytes }));
}
