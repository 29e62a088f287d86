// `dundun import FILE`: imports a file into a service over its API, in parts, each repeated until acknowledged and
// stored once. Reports the detected format, progress, and refused lines.
import { randomUUID } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { limits } from '../config/limits.ts';
import { ApiClient, type ServiceOptions } from './api-client.ts';
import { fileParts, firstLines } from './file-parts.ts';
import { type ImportAnswer, printRefused, printSummary, printUnderstood } from './import-report.ts';
import { fail } from './read-config.ts';
import { Transfer } from './transfer.ts';

export interface FileImportOptions extends ServiceOptions {
  readonly device?: string;
  readonly sensor?: string;
  readonly map?: readonly string[];
  readonly timezone?: string;
  readonly timeFormat?: string;
  readonly delimiter?: string;
  readonly decimal?: string;
  readonly header?: boolean;
  readonly skipLines?: string;
  readonly missing?: string;
  readonly values?: string;
  readonly format?: string;
  readonly encoding?: string;
  readonly createSensors?: true;
  readonly skipDuplicates?: true;
  readonly keepReceived?: true;
  readonly dryRun?: true;
}

const types: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  json: 'application/json',
};

export async function importFile(file: string, options: FileImportOptions): Promise<void> {
  try {
    const total = await bringIn(file, options);
    process.exitCode = total.stopped !== undefined || total.problems.length > 0 ? 2 : Number(total.refused_count > 0);
  } catch (error) {
    fail(error, 2);
  }
}

async function bringIn(file: string, options: FileImportOptions): Promise<ImportAnswer> {
  const kind = kindOf(file, options);
  const { stream, bytesAll } = openFile(file);
  if (kind === 'json' && (bytesAll ?? 0) > limits.importArrayBytesMax) {
    throw new Error('A JSON array is taken up to 16 MiB. Make lines of it first: jq -c .[] FILE > FILE.ndjson');
  }
  const client = await ApiClient.open(options);
  const transfer = new Transfer(options.dryRun ? 'dry run' : 'import', 'datapoints');
  const key = randomUUID();
  const counted = new Counted(decoded(stream, options.encoding));
  const parts = kind === 'json' ? [await wholeOf(counted)] : fileParts(counted, { hasQuotes: kind === 'csv' });
  let total: ImportAnswer | undefined;
  let head: Buffer<ArrayBuffer> = Buffer.alloc(0);
  let number = 0;
  let shown = 0;
  for await (const part of parts) {
    const query = new URLSearchParams({ ...queryOf(options), ...(total === undefined ? {} : nextOf(total)) });
    const answer = await client.call('POST', `/import?${query}`, {
      body: total === undefined ? part : Buffer.concat([head, part]),
      headers: { 'content-type': types[kind] ?? '', 'idempotency-key': `${key}-${number}` },
    });
    const result = (await answer.json()) as ImportAnswer;
    number += 1;
    transfer.end();
    if (total === undefined) {
      head = firstLines(part, result.next.head_lines);
      printUnderstood(result);
    }
    shown = printRefused(result, shown);
    total = total === undefined ? result : added(total, result);
    transfer.show(counted.bytes, bytesAll, { count: total.accepted, more: `, ${total.refused_count} refused` });
    if (result.stopped !== undefined || result.problems.length > 0) break;
  }
  transfer.end();
  if (total === undefined) throw new Error(`${file} is empty.`);
  printSummary(total, { file, shown });
  return total;
}

function kindOf(file: string, { format }: FileImportOptions): string {
  const kind = format ?? (/\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : /\.json$/i.test(file) ? 'json' : 'csv');
  if (types[kind] === undefined) throw new Error(`--format is csv, ndjson or json, not ${kind}.`);
  return kind;
}

function openFile(file: string): { readonly stream: Readable; readonly bytesAll: number | undefined } {
  if (file === '-') return { stream: process.stdin, bytesAll: undefined };
  const about = statSync(file, { throwIfNoEntry: false });
  if (about === undefined) throw new Error(`There is no file ${file}.`);
  return { stream: createReadStream(file), bytesAll: about.isFile() ? about.size : undefined };
}

/** The bytes converted to UTF-8. */
async function* decoded(stream: Readable, encoding: string | undefined): AsyncGenerator<Uint8Array> {
  if (encoding === undefined || /^utf-?8$/i.test(encoding)) {
    yield* stream as AsyncIterable<Uint8Array>;
    return;
  }
  const decoder = new TextDecoder(encoding, { fatal: true });
  for await (const chunk of stream) yield Buffer.from(decoder.decode(chunk as Buffer, { stream: true }));
  yield Buffer.from(decoder.decode());
}

/** Counts the bytes that pass. */
class Counted implements AsyncIterable<Uint8Array> {
  bytes = 0;
  readonly #chunks: AsyncIterable<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#chunks) {
      this.bytes += chunk.length;
      yield chunk;
    }
  }
}

async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

const delimiterWords: Readonly<Record<string, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '\\t': 'tab', '|': 'pipe' }; // biome-ignore format: one line
const decimalWords: Readonly<Record<string, string>> = { ',': 'comma', '.': 'point' };

/** The options as query parameters of the API. */
function queryOf(options: FileImportOptions): Record<string, string> {
  const { delimiter, decimal, header } = options;
  const query = {
    device: options.device,
    sensor: options.sensor,
    columns: options.map?.join(';'),
    timezone: options.timezone,
    time_format: options.timeFormat,
    delimiter: delimiter === undefined ? undefined : (delimiterWords[delimiter] ?? delimiter),
    decimal: decimal === undefined ? undefined : (decimalWords[decimal] ?? decimal),
    header: header === undefined ? undefined : String(header),
    skip: options.skipLines,
    missing: options.missing,
    values: options.values,
    create_sensors: options.createSensors && 'true',
    on_duplicate: options.skipDuplicates && 'skip',
    received: options.keepReceived && 'keep',
    dry_run: options.dryRun && 'true',
  };
  return Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Parameters by which the next part is read like the previous ones. */
function nextOf({ next }: ImportAnswer): Record<string, string> {
  const { head_lines: _, ...query } = next;
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
}

function added(total: ImportAnswer, result: ImportAnswer): ImportAnswer {
  const times = [total.from, total.to, result.from, result.to].filter((time) => time !== undefined).sort();
  return {
    ...result,
    lines: total.lines + result.lines,
    accepted: total.accepted + result.accepted,
    duplicates: total.duplicates + result.duplicates,
    missing: total.missing + result.missing,
    refused_count: total.refused_count + result.refused_count,
    created: [...total.created, ...result.created.filter((made) => !isAmong(total.created, made))],
    from: times[0],
    to: times.at(-1),
    next: { ...result.next, head_lines: total.next.head_lines },
  };
}

function isAmong(created: ImportAnswer['created'], made: ImportAnswer['created'][number]): boolean {
  return created.some(({ device_id, sensor_id }) => device_id === made.device_id && sensor_id === made.sensor_id);
}
