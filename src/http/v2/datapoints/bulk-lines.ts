// Parses the body of a bulk request (contract 10), JSON, NDJSON or CSV, into valid and invalid lines. With too many
// datapoints the whole request is refused.
import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../../base/refusal.ts';
import type { Json } from '../../../base/text/json.ts';
import { parseExactJsonText } from '../../../base/text/json-text.ts';
import { limits } from '../../../config/limits.ts';
import type { Caller } from '../../../domain/callers/caller.ts';
import { loopTurns } from '../../../domain/callers/loop-turns.ts';
import type { BulkLine, BulkRequest, RefusedLine } from '../../../domain/datapoints/ingest/bulk.ts';
import { parseReadings } from '../../../domain/datapoints/ingest/reading.ts';
import { csvSteps } from '../../import/csv-records.ts';
import { jsonOrText } from '../../import/value-texts.ts';
import { idRule, isId } from '../../schemas/ids.ts';
import { LinesBody } from '../../server/bodies.ts';

const columns = ['device_id', 'sensor_id', 'timestamp', 'value'] as const;
const required = ['device_id', 'sensor_id', 'value'] as const;
const lineFeed = 0x0a;

type BulkColumn = (typeof columns)[number];

/** @throws Refusal `malformed`, `too-large`, `unsupported` where the whole request is refused. */
export async function toBulkRequest(body: unknown, caller: Caller): Promise<BulkRequest> {
  const parser = new BulkLineParser();
  await loopTurns.goThrough(caller, readLines(body, parser));
  return parser;
}

/** Reads the body, in each step one line or some `blankCharsPerStep` characters of empty lines. */
function readLines(body: unknown, parser: BulkLineParser): Iterable<void> {
  if (body instanceof LinesBody) return (body.kind === 'csv' ? readCsv : readNdjson)(body.bytes, parser);
  if (typeof body === 'object' && body !== null && !(body instanceof Error)) return readJson(body as Json, parser);
  throw new Refusal('malformed', 'The body must be datapoints as a JSON array, NDJSON or CSV.');
}

class BulkLineParser implements BulkRequest {
  readonly lines: BulkLine[] = [];
  readonly refused: RefusedLine[] = [];

  /** Adds a line, or the reason why it is invalid. */
  read(line: number, parse: () => Omit<BulkLine, 'line'>): void {
    if (this.lines.length + this.refused.length === limits.pushDatapointsMax) {
      const detail = `One request takes ${limits.pushDatapointsMax} datapoints. Send them in parts.`;
      throw new Refusal('too-large', `${detail} Nothing of this one was stored.`);
    }
    try {
      this.lines.push({ line, ...parse() });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refused.push({ line, detail: error.message });
    }
  }
}

function* readJson(body: Json, parser: BulkLineParser): Iterable<void> {
  // A single datapoint is a list of one.
  const items: readonly Json[] = Array.isArray(body) ? body : [body];
  for (const [index, item] of items.entries()) yield parser.read(index + 1, () => toLine(item));
}

function* readNdjson(bytes: Buffer, parser: BulkLineParser): Iterable<void> {
  let line = 1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === lineFeed) line += 1;
    // Skips empty lines, and blanks before a line.
    if (byte === lineFeed || byte === 0x20 || byte === 0x0d || byte === 0x09) {
      if (at % limits.blankCharsPerStep === 0) yield;
      continue;
    }
    const found = bytes.indexOf(lineFeed, at);
    const end = found < 0 ? bytes.length : found;
    const text = bytes.subarray(at, end);
    yield parser.read(line, () => toLine(parseExactJsonText(text, limits.nestingLevelsMax)));
    at = end - 1;
  }
}

function* readCsv(bytes: Buffer, parser: BulkLineParser): Iterable<void> {
  if (!isUtf8(bytes)) throw new Refusal('malformed', 'The CSV is not UTF-8.');
  let places: ReadonlyMap<BulkColumn, number> | undefined;
  let width = 0;
  for (const record of csvSteps(bytes.toString('utf8'))) {
    if (record === undefined) {
      yield;
      continue;
    }
    const { line, fields, fault } = record;
    if (places === undefined) {
      const header = fault === undefined ? headerOf(fields) : undefined;
      places = header ?? new Map(columns.map((column, place) => [column, place]));
      width = header === undefined ? columns.length : fields.length;
      if (header !== undefined) continue;
    }
    const known = places;
    yield parser.read(line, () => {
      if (fault !== undefined) throw new Refusal('malformed', `The line ${fault}.`);
      // Trailing columns may be missing; spreadsheets omit empty ones.
      const isShort = required.some((column) => (known.get(column) ?? -1) >= fields.length);
      if (isShort || fields.length > width) throw new Refusal('malformed', widthFault(fields.length, width));
      return toCsvLine((column) => fields[known.get(column) ?? -1] ?? '');
    });
  }
}

function widthFault(count: number, width: number): string {
  const advice = count > width ? 'Put quotes around commas.' : 'Separate fields by commas.';
  return `The line has ${count} ${count === 1 ? 'field' : 'fields'}, not ${width}. ${advice}`;
}

/** Positions of the columns that the first line names, in any order, among others. */
function headerOf(fields: readonly string[]): ReadonlyMap<BulkColumn, number> | undefined {
  const names = fields.map((field) => field.trim().toLowerCase());
  if (names.length === 1 && /device_id *[;\t]/.test(names[0] ?? '')) {
    throw new Refusal('malformed', 'Separate the fields of the CSV by commas, not by semicolons or tabs.');
  }
  if (!names.includes('device_id') && !names.includes('sensor_id')) return undefined;
  const twice = columns.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  if (twice !== undefined) throw new Refusal('malformed', `The header line of the CSV names ${twice} twice.`);
  for (const column of required) {
    if (!names.includes(column)) throw new Refusal('malformed', `The header line of the CSV has no column ${column}.`);
  }
  return new Map(columns.map((column) => [column, names.indexOf(column)]));
}

function toCsvLine(field: (column: BulkColumn) => string): Omit<BulkLine, 'line'> {
  const timestamp = field('timestamp').trim();
  return toLine({
    device_id: field('device_id').trim(),
    sensor_id: field('sensor_id').trim(),
    ...(timestamp === '' ? {} : { timestamp }),
    value: toCsvValue(field('value')),
  });
}

/** A JSON text as its value; any other text as a string. */
function toCsvValue(text: string): Json {
  if (text === '') throw new Refusal('malformed', 'value is empty. Write null for no value, "" in quotes for no text.');
  return jsonOrText(text);
}

function toLine(item: Json): Omit<BulkLine, 'line'> {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    throw new Refusal('malformed', 'A datapoint is an object with device_id, sensor_id and value.');
  }
  const { device_id: device, sensor_id: sensor } = item as { readonly device_id?: Json; readonly sensor_id?: Json };
  if (typeof device !== 'string' || !isId(device)) throw new Refusal('malformed', `/device_id ${idRule}.`);
  if (typeof sensor !== 'string' || !isId(sensor)) throw new Refusal('malformed', `/sensor_id ${idRule}.`);
  const [reading] = parseReadings(item);
  return { device, sensor, reading: reading as NonNullable<typeof reading> };
}
