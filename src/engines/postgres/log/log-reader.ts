// Reads rows of the log by the index, in its order, and decodes them.
import { limits } from '../../../config/limits.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
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
}

/** A row is gone that nobody may have taken away. */
class MissingRow extends Error {
  constructor({ writer, seq }: RowPlace) {
    super(`Row ${seq} of writer ${writer} is not in the log.`);
  }
}

interface Row {
  readonly seq: number;
  readonly count: number;
  readonly bytes: Buffer;
}

/** Rows asked for by one statement, about bytes of them, and bytes until these are known. */
const rowsAtOnce = 500;
const bytesAtOnce = 4 * 1024 * 1024;
const bytesExpected = 32 * limits.logRowDatapointsMax;

const rowsSql = 'SELECT seq, count, bytes FROM log WHERE writer = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq';

/**
 * The rows of a part of the index (`rowFields` numbers each), in steps.
 * @throws MissingRow
 */
export async function* readRows(query: Query, index: Float64Array): AsyncGenerator<readonly ReadRow[]> {
  const count = index.length / rowFields;
  let wanted = Math.max(1, Math.floor(bytesAtOnce / bytesExpected));
  for (let from = 0; from < count; ) {
    const to = runEnd(index, from, Math.min(count, from + wanted));
    const [writer, first] = [index[from * rowFields] as number, index[from * rowFields + 1] as number];
    const rows = await query<Row>(rowsSql, [writer, first, first + to - from - 1]);
    let bytes = 0;
    const read: ReadRow[] = [];
    for (let n = 0; n < to - from; n++) {
      const place = { writer, seq: first + n };
      const row = rows[n];
      if (row?.seq !== place.seq) throw new MissingRow(place);
      bytes += row.bytes.length;
      const firstSeq = index[(from + n) * rowFields + 2] as number;
      read.push({ ...place, firstSeq, count: row.count, content: contentOf(row, place) });
    }
    yield read;
    from = to;
    wanted = Math.max(1, Math.min(rowsAtOnce, Math.floor((bytesAtOnce * read.length) / Math.max(bytes, 1))));
  }
}

/** The rows from an index that follow one another in the log of one writer, up to `to`. */
function runEnd(index: Float64Array, from: number, to: number): number {
  let end = from + 1;
  while (end < to && isNext(index, end)) end += 1;
  return end;
}

function isNext(index: Float64Array, at: number): boolean {
  const [before, here] = [(at - 1) * rowFields, at * rowFields];
  return index[before] === index[here] && (index[before + 1] as number) + 1 === index[here + 1];
}

function contentOf({ bytes, count }: Pick<Row, 'bytes' | 'count'>, place: RowPlace): LogRowContent | string {
  try {
    return decodeRow(bytes, place, count);
  } catch (error) {
    if (error instanceof CorruptChunk || error instanceof RangeError) return error.message;
    throw error;
  }
}
