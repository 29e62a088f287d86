// The log: datapoints in the order in which they arrived, many to a row, in the bytes in which they came or, where a row has
// few, packed (decision 23). Only the writer
// thread appends to it and takes from it; it is read at start, to rebuild what is held in memory. Rows are kept short of
// `logRowDatapointsMax`, so that they can be read in steps.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { noteSpent } from '../../base/spent-buffers.ts';
import { limits } from '../../config/limits.ts';
import { type DatapointBatch, rowNumbers } from '../../domain/datapoints/datapoint-batch.ts';
import { packArrivals, unpackArrivals } from '../timeseries/arrivals.ts';

/** A row of the log. */
export interface LogPiece extends Pick<DatapointBatch, 'rows' | 'texts'> {
  readonly firstSeq: number;
}

const bytesOfDatapoint = rowNumbers * Float64Array.BYTES_PER_ELEMENT;

/** Datapoints of a piece. */
function countOf({ rows }: LogPiece): number {
  return rows.length / rowNumbers;
}

/** Cuts a batch whose first datapoint has this seq into pieces. */
export function cutBatch({ rows, texts }: DatapointBatch, firstSeq: number): LogPiece[] {
  const step = limits.logRowDatapointsMax * rowNumbers;
  if (rows.length <= step) return rows.length === 0 ? [] : [{ firstSeq, rows, texts }];
  const pieces: LogPiece[] = [];
  let text = 0;
  for (let at = 0; at < rows.length; at += step) {
    const some = rows.subarray(at, at + step);
    const textsOfSome = texts.slice(text, text + countTexts(some));
    text += textsOfSome.length;
    pieces.push({ firstSeq: firstSeq + at / rowNumbers, rows: some, texts: textsOfSome });
  }
  return pieces;
}

function countTexts(rows: Float64Array): number {
  let count = 0;
  for (let at = 3; at < rows.length; at += rowNumbers) if (Number.isNaN(rows[at] as number)) count += 1;
  return count;
}

/** Rows read at once, which takes half as long as one by one where each holds a single datapoint; and bytes, about. */
const rowsAtOnce = 100;
const bytesAtOnce = 512 * 1024;

/** What is in the log up to a seq, oldest first. Where rows may go meanwhile it is to be read in a transaction. */
export function* readLog(database: DatabaseSync, upTo = Number.MAX_SAFE_INTEGER): Generator<LogPiece> {
  const rows = database.prepare(
    'SELECT first_seq AS firstSeq, datapoints, rows, texts FROM log WHERE first_seq > ? AND first_seq <= ? ORDER BY first_seq LIMIT ?',
  );
  for (let after = 0, wanted = 1; ; ) {
    const some = rows.all(after, upTo, wanted) as unknown as LogRow[];
    let bytes = 0;
    for (const row of some) {
      bytes += row.datapoints * bytesOfDatapoint + (row.texts?.length ?? 0);
      yield toPiece(row);
    }
    noteSpent(bytes);
    if (some.length < wanted) return;
    after = (some.at(-1) as LogRow).firstSeq;
    wanted = Math.max(1, Math.min(rowsAtOnce, Math.floor((bytesAtOnce * some.length) / bytes)));
  }
}

/** Datapoints in the log up to a seq. */
export function countLog(database: DatabaseSync, upTo: number): number {
  const row = database.prepare('SELECT total(datapoints) AS count FROM log WHERE first_seq <= ?').get(upTo);
  return Number(row?.['count']);
}

/** Seq of the last datapoint of the log; 0 where it is empty. */
export function lastLoggedSeq(database: DatabaseSync): number {
  const row = database
    .prepare('SELECT first_seq + datapoints - 1 AS seq FROM log ORDER BY first_seq DESC LIMIT 1')
    .get();
  return Number(row?.['seq'] ?? 0);
}

/** A row of the log as it lies in the table. */
export interface LogRow {
  readonly firstSeq: number;
  readonly datapoints: number;
  /** Packed where they are fewer bytes than the datapoints have in memory. */
  readonly rows: Uint8Array;
  readonly texts: string | null;
}

/** @throws Error naming the row, where its bytes are not those of so many datapoints. */
export function toPiece({ firstSeq, datapoints, rows, texts }: LogRow): LogPiece {
  return {
    firstSeq,
    rows: rows.length === datapoints * bytesOfDatapoint ? toNumbers(rows) : unpack(rows, { firstSeq, datapoints }),
    texts: texts === null ? [] : (JSON.parse(texts) as string[]),
  };
}

function unpack(bytes: Uint8Array, { firstSeq, datapoints }: Pick<LogRow, 'firstSeq' | 'datapoints'>): Float64Array {
  try {
    return unpackArrivals(bytes, datapoints);
  } catch (error) {
    const message = `Row ${firstSeq} of the log has not the bytes of ${datapoints} datapoints. "dundun check" tells more.`;
    throw new Error(message, { cause: error });
  }
}

/** A Float64Array needs its bytes aligned; those of a row have a buffer to themselves, as a rule. */
function toNumbers(bytes: Uint8Array): Float64Array {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Float64Array(buffer, byteOffset, byteLength / 8);
}

/** Writes the log; every method inside a transaction. */
export class LogWriter {
  readonly #insert: StatementSync;
  readonly #oldest: StatementSync;
  readonly #remove: StatementSync;
  readonly #rowWith: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO log (first_seq, datapoints, rows, texts, publishes) VALUES (?, ?, ?, ?, ?)',
    );
    this.#oldest = database.prepare(
      'SELECT first_seq AS firstSeq, datapoints FROM log WHERE first_seq <= ? ORDER BY first_seq LIMIT ?',
    );
    this.#remove = database.prepare('DELETE FROM log WHERE first_seq <= ?');
    this.#rowWith = database.prepare(
      'SELECT first_seq + datapoints - 1 AS seq FROM log WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1',
    );
  }

  /** @param publishes marks of MQTT publishes to be stored beside (publish-marks.ts) */
  append(piece: LogPiece, publishes?: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = piece.rows;
    const isFew = countOf(piece) <= limits.logPackedDatapointsMax && piece.texts.length === 0;
    const bytes = (isFew ? packArrivals(piece.rows) : undefined) ?? new Uint8Array(buffer, byteOffset, byteLength);
    const texts = piece.texts.length === 0 ? null : JSON.stringify(piece.texts);
    this.#insert.run(piece.firstSeq, countOf(piece), bytes, texts, publishes ?? null);
  }

  /** Seq of the last datapoint of the row that holds one. */
  endOfRowWith(seq: number): number {
    return this.#rowWith.get(seq)?.['seq'] as number;
  }

  /** Up to which seq the oldest pieces reach that begin at or before one and can go in one step; undefined: there are none. */
  stepUpTo(seq: number): number | undefined {
    let step: number | undefined;
    let left: number = limits.clearDatapointsStep;
    for (const row of this.#oldest.iterate(seq, limits.clearRowsStep) as Iterable<unknown>) {
      const { firstSeq, datapoints } = row as { firstSeq: number; datapoints: number };
      step = firstSeq + datapoints - 1;
      left -= datapoints;
      if (left <= 0) break;
    }
    return step;
  }

  /** Takes away the pieces that begin at or before this seq. */
  removeUpTo(seq: number): void {
    this.#remove.run(seq);
  }
}
