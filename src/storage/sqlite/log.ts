// The log: datapoints in the order in which they arrived, many to a row, in the bytes in which they came. Only the writer
// thread appends to it and takes from it; it is read at start, to rebuild what is held in memory. Rows are kept short of
// `logRowDatapointsMax`, so that they can settle in slices.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';
import { type DatapointBatch, rowNumbers } from '../../domain/datapoints/datapoint-batch.ts';

/** A row of the log. */
export interface LogPiece extends Pick<DatapointBatch, 'rows' | 'texts'> {
  readonly firstSeq: number;
}

/** Datapoints of a piece. */
export function countOf({ rows }: LogPiece): number {
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

/** All that is in the log, oldest first. */
export function readLog(database: DatabaseSync): LogPiece[] {
  const rows = database.prepare('SELECT first_seq AS firstSeq, rows, texts FROM log ORDER BY first_seq').all();
  return (rows as unknown as LogRow[]).map(toPiece);
}

/** A row of the log as it lies in the table. */
export interface LogRow {
  readonly firstSeq: number;
  readonly rows: Uint8Array;
  readonly texts: string | null;
}

export function toPiece({ firstSeq, rows, texts }: LogRow): LogPiece {
  return {
    firstSeq,
    // A copy, because a Float64Array needs its bytes aligned.
    rows: new Float64Array(rows.slice().buffer),
    texts: texts === null ? [] : (JSON.parse(texts) as string[]),
  };
}

/** Writes the log; every method inside a transaction. */
export class LogWriter {
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO log (first_seq, datapoints, rows, texts) VALUES (?, ?, ?, ?)');
    this.#remove = database.prepare('DELETE FROM log WHERE first_seq <= ?');
  }

  append(piece: LogPiece): void {
    const { buffer, byteOffset, byteLength } = piece.rows;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const texts = piece.texts.length === 0 ? null : JSON.stringify(piece.texts);
    this.#insert.run(piece.firstSeq, countOf(piece), bytes, texts);
  }

  /** Takes away the pieces that begin at or before this seq. */
  removeUpTo(seq: number): void {
    this.#remove.run(seq);
  }
}
