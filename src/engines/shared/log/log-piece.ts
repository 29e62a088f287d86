// A piece of the log: the datapoints of one row, decoded. Pure; each engine has rows of its own.
import { limits } from '../../../config/limits.ts';
import { type DatapointBatch, rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk } from '../codec/bytes/corrupt-chunk.ts';
import { noSensor } from './no-sensor.ts';

/** The datapoints of one row of the log. */
export interface LogPiece extends Pick<DatapointBatch, 'rows' | 'texts'> {
  readonly firstSeq: number;
}

/** The latest time that JavaScript dates can have, in milliseconds since 1970 UTC. */
const timeMsMax = 8.64e15;

/** Number of datapoints in a piece. */
export function countOf({ rows }: LogPiece): number {
  return rows.length / rowNumbers;
}

/** Cuts a batch into pieces of one row each; `firstSeq` is the seq of its first datapoint. */
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

/** Number of datapoints whose value is a text. */
export function countTexts(rows: Float64Array): number {
  let count = 0;
  for (let at = 3; at < rows.length; at += rowNumbers) if (Number.isNaN(rows[at] as number)) count += 1;
  return count;
}

/** @throws CorruptChunk */
export function parseTexts(texts: string): string[] {
  const parsed = isJson(texts) ? JSON.parse(texts) : undefined;
  if (!Array.isArray(parsed)) throw new CorruptChunk('Its texts are no list.');
  return parsed;
}

/** What is wrong with decoded content, as the end of a sentence; undefined where nothing can be seen. */
export function faultIn({ rows, texts }: Pick<LogPiece, 'rows' | 'texts'>): string | undefined {
  for (let at = 0; at < rows.length; at += rowNumbers) {
    const [sensor, timestamp, received] = [rows[at] as number, rows[at + 1] as number, rows[at + 2] as number];
    const isRemoved = sensor === noSensor && Number.isNaN(timestamp) && rows[at + 3] === 0;
    if (!isRemoved && (!Number.isSafeInteger(sensor) || sensor < 1)) return `has a datapoint of the sensor ${sensor}`;
    if (!isDateMs(received) || !(Number.isNaN(timestamp) || isDateMs(timestamp))) return 'has a datapoint of no time';
  }
  const due = countTexts(rows);
  if (texts.length !== due) return `has ${texts.length} texts where ${due} belong`;
  return texts.every(isJson) ? undefined : 'has a value that is no JSON';
}

function isDateMs(ms: number): boolean {
  return Number.isInteger(ms) && Math.abs(ms) <= timeMsMax;
}

function isJson(text: unknown): boolean {
  try {
    JSON.parse(text as string);
    return true;
  } catch {
    return false;
  }
}

/** A Float64Array needs an aligned offset; the bytes of a row usually have a buffer of their own. */
export function toNumbers(bytes: Uint8Array): Float64Array {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Float64Array(buffer, byteOffset, byteLength / 8);
}
