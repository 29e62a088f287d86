// Lists of rows as JSON, CSV, NDJSON or Parquet, however long: made step by step, each only when the one before has gone out,
// so that memory stays constant and a reader that is slow or gone holds up nobody.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../config/limits.ts';
import { setLinks } from './paging.ts';
import { type ParquetColumn, parquetChunks } from './parquet.ts';
import { asksFor } from './preference.ts';

export type Format = 'json' | 'csv' | 'ndjson' | 'parquet';

/** How rows are written. */
export interface RowText<T> {
  /** With its line ending. */
  readonly csvHeader: string;
  csvLine(row: T): string;
  json(row: T): string;
  readonly columns: readonly ParquetColumn<T>[];
}

/** Opens the rows, at most `limit` of them, permitting the read; it may be called twice. */
type Open<T> = (limit: number | undefined) => Promise<AsyncGenerator<T[]>>;

interface Rows<T> {
  readonly text: RowText<T>;
  readonly open: Open<T>;
  readonly limit: number | undefined;
  readonly offset: number;
}

/** As it is registered with IANA. */
export const parquetType = 'application/vnd.apache.parquet';

const types: Readonly<Record<Format, string>> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
  parquet: parquetType,
};

/** The format a request asks for by `Accept`. */
export function formatOf(accept: string | undefined): Format {
  if (asksFor(accept, 'text/csv')) return 'csv';
  if (asksFor(accept, parquetType)) return 'parquet';
  return asksFor(accept, 'application/x-ndjson') ? 'ndjson' : 'json';
}

/** Answers with the rows; a JSON list with a limit says by `Link` whether there are more. */
export async function sendRows<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: Format,
  rows: Rows<T>,
): Promise<FastifyReply> {
  reply.type(types[format]).serializer(String);
  const { limit, offset, open, text } = rows;
  if (format === 'json' && limit !== undefined) {
    // One more than asked for tells whether there is a next page.
    const list = await gather(await open(limit + 1), text, limit);
    setLinks(request, reply, { limit, offset, hasNext: list.count > limit });
    if (list.text !== undefined) return reply.send(list.text);
  }
  const steps = await open(limit);
  if (request.method === 'HEAD') {
    await steps.return(undefined);
    return reply.send(nothing());
  }
  const chunks = chunksOf(steps, text, format);
  return reply.send(Readable.from(unlessStalled(chunks, reply, limits.streamStallMs), { objectMode: false }));
}

function chunksOf<T>(
  steps: AsyncGenerator<T[]>,
  text: RowText<T>,
  format: Format,
): AsyncGenerator<string | Uint8Array> {
  if (format === 'parquet') return parquetChunks(steps, text.columns);
  return format === 'json' ? jsonList(steps, text) : lines(steps, text, format);
}

/** The body of a HEAD: a stream, so that no length is named that would be wrong. */
export function nothing(): Readable {
  return Readable.from([]);
}

/** The list as one text, or, where it is too large for that, only how many rows there are. */
async function gather<T>(steps: AsyncGenerator<T[]>, text: RowText<T>, limit: number) {
  let chunks: string[] = [];
  let chars = 0;
  let count = 0;
  for await (const rows of steps) {
    const shown = rows.slice(0, Math.max(0, limit - count));
    count += rows.length;
    if (chars > limits.listBytesMax || shown.length === 0) continue;
    const chunk = shown.map((row) => text.json(row)).join(',');
    chars += chunk.length;
    if (chars > limits.listBytesMax) chunks = [];
    else chunks.push(chunk);
  }
  return { count, text: chars > limits.listBytesMax ? undefined : `[${chunks.join(',')}]` };
}

async function* jsonList<T>(steps: AsyncGenerator<T[]>, text: RowText<T>): AsyncGenerator<string> {
  let before = '[';
  for await (const rows of steps) {
    yield before + rows.map((row) => text.json(row)).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

async function* lines<T>(
  steps: AsyncGenerator<T[]>,
  text: RowText<T>,
  format: 'csv' | 'ndjson',
): AsyncGenerator<string> {
  if (format === 'csv') yield text.csvHeader;
  const lineOf = format === 'csv' ? text.csvLine : (row: T) => `${text.json(row)}\n`;
  for await (const rows of steps) yield rows.map(lineOf).join('');
}

/** Cuts the connection of a reader who takes nothing for too long. */
export async function* unlessStalled(
  chunks: AsyncGenerator<string | Uint8Array>,
  reply: FastifyReply,
  stallMs: number,
): AsyncGenerator<string | Uint8Array> {
  for await (const chunk of chunks) {
    const stalled = setTimeout(() => reply.raw.destroy(), stallMs);
    try {
      yield chunk;
    } finally {
      clearTimeout(stalled);
    }
  }
}
