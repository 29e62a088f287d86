// The log: datapoints in order of arrival, many in a row, either as the bytes of their batch or, where a row has few,
// packed (decision 20). Only the writer thread changes it; it is read at start to rebuild the head, and by sealing. A
// row has at most `logRowDatapointsMax` datapoints, so that it can be read in steps. Each row has a checksum; a damaged
// one is reported and left out.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { limits } from '../../../config/limits.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { countOf, faultIn, type LogPiece, parseTexts, toNumbers } from '../../shared/log/log-piece.ts';
import { packBatch, unpackBatch } from '../../shared/log/packed-batch.ts';

const bytesOfDatapoint = rowNumbers * Float64Array.BYTES_PER_ELEMENT;
/** Rows fetched by one query: where each holds one datapoint, this takes half the time of a query for each row. */
const rowsAtOnce = 100;
/** Approximate bytes of the rows fetched by one query. */
const bytesAtOnce = 512 * 1024;

/**
 * The readable rows of the log up to a seq, oldest first. Call it inside a transaction where rows may be deleted
 * meanwhile.
 * @param onDamaged called with each damaged row, which is left out.
 */
export function* readLog(
  database: DatabaseSync,
  { upTo, onDamaged }: { readonly upTo: number; readonly onDamaged: (row: DamagedRow) => void },
): Generator<LogPiece> {
  const rows = database.prepare(
    `SELECT ${logColumns} FROM log WHERE first_seq > ? AND first_seq <= ? ORDER BY first_seq LIMIT ?`,
  );
  for (let after = 0, wanted = 1; ; ) {
    const some = rows.all(after, upTo, wanted) as unknown as LogRow[];
    let bytes = 0;
    for (const row of some) {
      bytes += row.datapoints * bytesOfDatapoint + (row.texts?.length ?? 0);
      const piece = toPiece(row);
      if (piece instanceof DamagedRow) onDamaged(piece);
      else yield piece;
    }
    reportReleasedBytes(bytes);
    if (some.length < wanted) return;
    after = (some.at(-1) as LogRow).firstSeq;
    wanted = Math.max(1, Math.min(rowsAtOnce, Math.floor((bytesAtOnce * some.length) / bytes)));
  }
}

/** The readable rows of the log whose first seq is greater than `after`, newest first. */
export function* readLogFromEnd(database: DatabaseSync, { after }: { readonly after: number }): Generator<LogPiece> {
  const rows = database.prepare(`SELECT ${logColumns} FROM log WHERE first_seq > ? ORDER BY first_seq DESC`);
  let bytes = 0;
  for (const row of rows.iterate(after) as Iterable<unknown> as Iterable<LogRow>) {
    const piece = toPiece(row);
    if (!(piece instanceof DamagedRow)) yield piece;
    bytes += row.datapoints * bytesOfDatapoint + (row.texts?.length ?? 0);
    if (bytes < bytesAtOnce) continue;
    reportReleasedBytes(bytes);
    bytes = 0;
  }
  reportReleasedBytes(bytes);
}

/**
 * SQL for the number of datapoints in a row. Clamped to the valid range, so that seqs continue even where the stored
 * number is damaged.
 */
export const countInBounds = `max(1, min(datapoints, ${limits.logRowDatapointsMax}))`;

/**
 * The number of datapoints in the log up to a seq; where rows are damaged it may be too high, never too low for
 * readable ones.
 */
export function countLog(database: DatabaseSync, upTo: number): number {
  const row = database.prepare(`SELECT total(${countInBounds}) AS count FROM log WHERE first_seq <= ?`).get(upTo);
  return Number(row?.['count']);
}

/** Seq of the last datapoint in the log; 0 where it is empty. */
export function lastLoggedSeq(database: DatabaseSync): number {
  const row = database
    .prepare(`SELECT first_seq + ${countInBounds} - 1 AS seq FROM log ORDER BY first_seq DESC LIMIT 1`)
    .get();
  return Number(row?.['seq'] ?? 0);
}

/** A row of the table `log`. */
export interface LogRow {
  readonly firstSeq: number;
  readonly datapoints: number;
  /** Packed where that takes fewer bytes than the datapoints take in memory. */
  readonly rows: Uint8Array;
  readonly texts: string | null;
  /**
   * Covers the whole row; null in rows of earlier releases, and in rows whose content was deleted by `dundun check
   * --forget-damaged`.
   */
  readonly checksum: number | null;
}

/** The columns of a `LogRow`. */
export const logColumns = 'first_seq AS firstSeq, datapoints, rows, texts, checksum';

/** A row whose bytes have changed on disk. It is not known which sensors its datapoints belong to. */
export class DamagedRow {
  readonly firstSeq: number;
  /** What is wrong, as a sentence. */
  readonly fault: string;

  constructor(firstSeq: number, fault: string) {
    this.firstSeq = firstSeq;
    this.fault = fault;
  }
}

/** Collects damaged rows; keeps sentences for a bounded number of them. */
export class Damage {
  readonly firstSeqs: number[] = [];
  readonly #descriptions: string[] = [];

  add({ firstSeq, fault }: DamagedRow): void {
    this.firstSeqs.push(firstSeq);
    if (this.#descriptions.length === limits.damagedRowsLogged) return;
    this.#descriptions.push(
      `Row ${firstSeq} of the log is damaged. ${fault} Its datapoints cannot be read, and are kept aside; all others are whole. "dundun check" tells more.`,
    );
  }

  /** One sentence for each damaged row; beyond `damagedRowsLogged` only their number. */
  describe(): string[] {
    const more = this.firstSeqs.length - this.#descriptions.length;
    if (more === 0) return [...this.#descriptions];
    return [...this.#descriptions, `${more} more rows of the log are damaged. "dundun check" lists them.`];
  }
}

/**
 * Decodes a row; an empty piece where `dundun check --forget-damaged` has deleted its content.
 * @throws Error for faults that are not damage, such as too little memory.
 */
export function toPiece(row: LogRow): LogPiece | DamagedRow {
  try {
    return readRow(row);
  } catch (error) {
    if (error instanceof CorruptChunk) return new DamagedRow(row.firstSeq, error.message);
    throw error;
  }
}

/** @throws CorruptChunk */
function readRow({ firstSeq, datapoints, rows, texts, checksum }: LogRow): LogPiece {
  if (!(rows instanceof Uint8Array)) throw new CorruptChunk('It has no bytes.');
  if (rows.length === 0) return { firstSeq, rows: new Float64Array(0), texts: [] };
  if (checksum !== null && checksum !== checksumOf({ firstSeq, datapoints, rows, texts }))
    throw new CorruptChunk('The checksum is wrong.');
  if (!(datapoints >= 1 && datapoints <= limits.logRowDatapointsMax))
    throw new CorruptChunk(`It says that it has ${datapoints} datapoints.`);
  if (rows.length !== datapoints * bytesOfDatapoint) {
    return { firstSeq, rows: unpackBatch(rows, datapoints), texts: [] };
  }
  const piece = { firstSeq, rows: toNumbers(rows), texts: texts === null ? [] : parseTexts(texts) };
  // A row without a checksum is checked for plausible content instead.
  const fault = checksum === null ? faultIn(piece) : undefined;
  if (fault !== undefined) throw new CorruptChunk(`It ${fault}.`);
  return piece;
}

/** Includes the number of datapoints and the first seq: packed bytes could otherwise be decoded with another number. */
function checksumOf({ firstSeq, datapoints, rows, texts }: Omit<LogRow, 'checksum'>): number {
  const sum = crc32(rows, crc32(new Uint8Array(Float64Array.of(firstSeq, datapoints).buffer)));
  return texts === null ? sum : crc32(texts, sum);
}

/** Writes to the log. Call every method inside a transaction. */
export class LogWriter {
  readonly #insert: StatementSync;
  readonly #replace: StatementSync;
  readonly #oldest: StatementSync;
  readonly #remove: StatementSync;
  readonly #rowWith: StatementSync;
  readonly #rowBehind: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      'INSERT INTO log (first_seq, datapoints, rows, texts, fingerprints, checksum) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#replace = database.prepare('UPDATE log SET rows = ?, texts = ?, checksum = ? WHERE first_seq = ?');
    this.#oldest = database.prepare(
      `SELECT first_seq AS firstSeq, ${countInBounds} AS datapoints FROM log WHERE first_seq <= ? ORDER BY first_seq LIMIT ?`,
    );
    this.#remove = database.prepare('DELETE FROM log WHERE first_seq <= ?');
    this.#rowWith = database.prepare(
      `SELECT first_seq + ${countInBounds} - 1 AS seq FROM log WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1`,
    );
    this.#rowBehind = database.prepare(
      `SELECT first_seq + ${countInBounds} - 1 AS seq FROM log WHERE first_seq > ? ORDER BY first_seq LIMIT 1`,
    );
  }

  /** @param fingerprints of MQTT publishes, stored in the same row (publish-fingerprints.ts). */
  append(piece: LogPiece, fingerprints?: Uint8Array): void {
    const { rows, texts, checksum } = columnsOf(piece);
    this.#insert.run(piece.firstSeq, countOf(piece), rows, texts, fingerprints ?? null, checksum);
  }

  /** Writes a row anew, with as many datapoints as it had; its fingerprints stay. */
  replace(piece: LogPiece): void {
    const { rows, texts, checksum } = columnsOf(piece);
    this.#replace.run(rows, texts, checksum, piece.firstSeq);
  }

  /**
   * Seq of the last datapoint in the row that holds `seq`. Where a damaged row leaves a gap, the end of the next row.
   */
  endOfRowWith(seq: number): number {
    const row = this.#rowWith.get(seq) ?? this.#rowBehind.get(seq);
    return row === undefined ? seq : (row['seq'] as number);
  }

  /** The seq up to which one step can delete the oldest rows, at most `seq`; undefined where no row is left. */
  stepUpTo(seq: number): number | undefined {
    let step: number | undefined;
    let left: number = limits.clearDatapointsStep;
    for (const row of this.#oldest.iterate(seq, limits.clearRowsStep) as Iterable<unknown>) {
      const { firstSeq, datapoints } = row as { firstSeq: number; datapoints: number };
      step = firstSeq + datapoints - 1;
      left -= datapoints;
      if (left <= 0) break;
    }
    return step === undefined ? undefined : Math.min(step, seq);
  }

  /** Deletes the rows that begin at or before this seq. */
  removeUpTo(seq: number): void {
    this.#remove.run(seq);
  }
}

/** A piece as the row stores it. */
export function columnsOf(piece: LogPiece) {
  const { firstSeq } = piece;
  const { buffer, byteOffset, byteLength } = piece.rows;
  const datapoints = countOf(piece);
  const isFew = datapoints <= limits.logPackedDatapointsMax && piece.texts.length === 0;
  const rows = (isFew ? packBatch(piece.rows) : undefined) ?? new Uint8Array(buffer, byteOffset, byteLength);
  const texts = piece.texts.length === 0 ? null : JSON.stringify(piece.texts);
  return { rows, texts, checksum: checksumOf({ firstSeq, datapoints, rows, texts }) };
}
