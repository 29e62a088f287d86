// The bytes of one row of the log: what one commit holds, as sections of kinds, with a checksum over all of it. Pure.
// Byte 0 is the version (formats.ts); each section has a byte for its kind and four for its length; the last four bytes are the
// checksum, which includes writer, seq and count.
import { crc32 } from 'node:zlib';
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import {
  countRows,
  type DatapointBatch,
  rangeNumbers,
  rowNumbers,
} from '../../../domain/datapoints/datapoint-batch.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { toBytes } from '../../shared/log/fingerprint-records.ts';
import { countTexts, parseTexts, toNumbers } from '../../shared/log/log-piece.ts';
import { packBatch, unpackBatch } from '../../shared/log/packed-batch.ts';
import { formats } from '../database/formats.ts';

const kinds = {
  packed: 1,
  plain: 2,
  texts: 3,
  fingerprints: 4,
  rulesSkipped: 5,
  removal: 6,
  correction: 7,
  pushes: 8,
  relays: 9,
} as const;
const known: ReadonlySet<number> = new Set(Object.values(kinds));
const headBytes = 5;
const checksumBytes = 4;

/** Where a row lies: its writer, and its number among the rows of that writer. */
export interface RowPlace {
  readonly writer: number;
  readonly seq: number;
}

/** A row with its number: its place among the rows of all writers. */
export interface NumberedPlace extends RowPlace {
  readonly number: number;
}

/** Removes datapoints of the rows before it. */
export type RemovalEntry = SeriesRemoval;

/** Sets the value of one datapoint: that of an index in a row. */
export interface CorrectionEntry extends RowPlace {
  readonly index: number;
  readonly sensor: number;
  readonly atMs: number;
  readonly value: StoredValue;
}

/** What a row holds. */
export interface LogRowContent extends Pick<DatapointBatch, 'rows' | 'texts' | 'rulesSkipped'> {
  /** Records of MQTT publishes as bytes; undefined where there are none. */
  readonly fingerprints: Uint8Array | undefined;
  /** How they were pushed (push-section.ts); undefined where no other server was there to deliver them. */
  readonly pushes: Buffer | undefined;
  /** Messages between clients (relay-section.ts); undefined where there are none. */
  readonly relays: Buffer | undefined;
  readonly removal: RemovalEntry | undefined;
  readonly correction: CorrectionEntry | undefined;
}

const noRows = new Float64Array(0);

/** What a row has for other servers alone, as push-section.ts and relay-section.ts encode it. */
export interface ForOthers {
  readonly pushes?: Buffer | undefined;
  readonly relays?: Buffer | undefined;
}

interface Written {
  /** In which a row is written; the oldest, which everybody reads, where it is not said. */
  readonly version?: number;
}

/** The bytes of a row for a batch. */
export function encodeBatch(
  batch: DatapointBatch,
  place: RowPlace,
  { pushes, relays, version }: ForOthers & Written = {},
): Buffer {
  const sections: Section[] = [];
  const { rows, texts } = batch;
  const count = countRows(batch);
  const packed =
    count > 0 && count <= limits.logPackedDatapointsMax && texts.length === 0 ? packBatch(rows) : undefined;
  if (packed !== undefined) sections.push([kinds.packed, packed]);
  else if (count > 0) sections.push([kinds.plain, new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength)]);
  if (texts.length > 0) sections.push([kinds.texts, Buffer.from(JSON.stringify(texts))]);
  if (batch.publishes.length > 0) sections.push([kinds.fingerprints, toBytes(batch.publishes)]);
  if (batch.rulesSkipped.length > 0)
    sections.push([kinds.rulesSkipped, Buffer.from(Float64Array.from(batch.rulesSkipped).buffer)]);
  if (pushes !== undefined) sections.push([kinds.pushes, pushes]);
  if (relays !== undefined) sections.push([kinds.relays, relays]);
  return join(sections, { place, count, version });
}

/** The bytes of a row that changes datapoints of rows before it. */
export function encodeEdit(
  edit: { readonly removal: RemovalEntry } | { readonly correction: CorrectionEntry },
  place: RowPlace,
  { version }: Written = {},
): Buffer {
  const section: Section =
    'removal' in edit ? [kinds.removal, toJson(edit.removal)] : [kinds.correction, toJson(edit.correction)];
  return join([section], { place, count: 0, version });
}

type Section = readonly [kind: number, bytes: Uint8Array];

/** JSON has no -0, so that a number goes as its eight bytes. */
function toJson({ value, ...rest }: RemovalEntry | CorrectionEntry): Buffer {
  const number = typeof value === 'number' ? Buffer.from(Float64Array.of(value).buffer).toString('hex') : undefined;
  return Buffer.from(JSON.stringify({ ...rest, number, text: typeof value === 'string' ? value : undefined }));
}

function fromJson<Entry>(bytes: Uint8Array): Entry {
  const { number, text, ...rest } = JSON.parse(Buffer.from(bytes).toString());
  const value = number === undefined ? text : toNumbers(Uint8Array.from(Buffer.from(number, 'hex')))[0];
  return { ...rest, ...(value !== undefined && { value }) } as Entry;
}

function join(
  sections: readonly Section[],
  {
    place,
    count,
    version = formats.log.oldest,
  }: { readonly place: RowPlace; readonly count: number; readonly version: number | undefined },
): Buffer {
  const size = sections.reduce((sum, [, bytes]) => sum + headBytes + bytes.length, 1 + checksumBytes);
  const all = Buffer.allocUnsafe(size);
  let at = all.writeUInt8(version, 0);
  for (const [kind, bytes] of sections) {
    at = all.writeUInt8(kind, at);
    at = all.writeUInt32LE(bytes.length, at);
    all.set(bytes, at);
    at += bytes.length;
  }
  all.writeUInt32LE(checksumOf(all.subarray(0, at), place, count), at);
  return all;
}

/** Covers the place too: a row that is somewhere else is not taken for the one that belongs there. */
function checksumOf(body: Uint8Array, { writer, seq }: RowPlace, count: number): number {
  return crc32(body, crc32(new Uint8Array(Float64Array.of(writer, seq, count).buffer)));
}

/** @throws CorruptChunk, UnknownVersion */
export function decodeRow(bytes: Buffer, place: RowPlace, count: number): LogRowContent {
  const end = bytes.length - checksumBytes;
  if (end < 1) throw new CorruptChunk(`It has ${bytes.length} bytes.`);
  if (bytes.readUInt32LE(end) !== checksumOf(bytes.subarray(0, end), place, count))
    throw new CorruptChunk('The checksum is wrong.');
  const version = bytes.readUInt8(0);
  const { oldest, newest } = formats.log;
  if (version < oldest || version > newest) throw new UnknownVersion(`It has version ${version}, known is ${newest}.`);
  const sections = new Map<number, Buffer>();
  for (let at = 1; at < end; ) {
    const length = bytes.readUInt32LE(at + 1);
    // Never passed over: what is in it would be lost here.
    if (!known.has(bytes[at] as number)) throw new UnknownVersion(`It has a section of kind ${bytes[at]}.`);
    sections.set(bytes[at] as number, bytes.subarray(at + headBytes, at + headBytes + length));
    at += headBytes + length;
  }
  const rows = rowsOf(sections, count);
  const texts = sections.get(kinds.texts);
  const skipped = sections.get(kinds.rulesSkipped);
  const removal = sections.get(kinds.removal);
  const correction = sections.get(kinds.correction);
  const content = {
    rows,
    texts: texts === undefined ? [] : parseTexts(texts.toString()),
    rulesSkipped: skipped === undefined ? [] : [...toNumbers(Uint8Array.from(skipped))],
    fingerprints: sections.get(kinds.fingerprints),
    pushes: sections.get(kinds.pushes),
    relays: sections.get(kinds.relays),
    removal: removal && fromJson<RemovalEntry>(removal),
    correction: correction && fromJson<CorrectionEntry>(correction),
  };
  const due = countTexts(rows);
  if (content.texts.length !== due) throw new CorruptChunk(`It has ${content.texts.length} texts where ${due} belong.`);
  return content;
}

function rowsOf(sections: ReadonlyMap<number, Buffer>, count: number): Float64Array {
  const packed = sections.get(kinds.packed);
  if (packed !== undefined) return unpackBatch(packed, count);
  const plain = sections.get(kinds.plain);
  const rows = plain === undefined ? noRows : toNumbers(Uint8Array.from(plain));
  if (rows.length !== count * rowNumbers) throw new CorruptChunk(`It has not the ${count} datapoints that it says.`);
  return rows;
}

/** Whether no rule is evaluated for the datapoint of an index. */
export function skipsRules(rulesSkipped: readonly number[], index: number): boolean {
  for (let at = 0; at < rulesSkipped.length; at += rangeNumbers) {
    const first = rulesSkipped[at] as number;
    if (index >= first && index < first + (rulesSkipped[at + 1] as number)) return true;
  }
  return false;
}

/** Several batches as one, in their order. */
export function joinBatches(batches: readonly DatapointBatch[]): DatapointBatch {
  const [only, ...others] = batches;
  if (only !== undefined && others.length === 0) return only;
  const rows = new Float64Array(batches.reduce((sum, batch) => sum + batch.rows.length, 0));
  const publishes = new Uint32Array(batches.reduce((sum, batch) => sum + batch.publishes.length, 0));
  const rulesSkipped: number[] = [];
  let [at, word] = [0, 0];
  for (const batch of batches) {
    for (const [n, number] of batch.rulesSkipped.entries())
      rulesSkipped.push(n % rangeNumbers === 0 ? number + at / rowNumbers : number);
    rows.set(batch.rows, at);
    publishes.set(batch.publishes, word);
    at += batch.rows.length;
    word += batch.publishes.length;
  }
  return {
    rows,
    publishes,
    rulesSkipped,
    texts: batches.flatMap(({ texts }) => texts),
    receipts: batches.flatMap(({ receipts }) => receipts),
  };
}
