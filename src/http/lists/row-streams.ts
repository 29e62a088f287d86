// Lists of rows as JSON, CSV, NDJSON or Parquet, however long: made step by step, each only when the one before has gone out,
// so that memory stays constant and a reader that is slow or gone holds up nobody.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../config/limits.ts';
import { asksFor } from '../server/preference.ts';
import { type AnswerReservation, listReservationBytes } from './answer-budget.ts';
import { setLinks } from './paging.ts';
import { type ParquetColumn, parquetChunks } from './parquet.ts';

export type Format = 'json' | 'csv' | 'ndjson' | 'parquet';

/** How rows are written. */
export interface RowText<T> {
  /** With its line ending. */
  readonly csvHeader: string;
  csvLine(row: T): string;
  json(row: T): string;
  readonly columns: readonly ParquetColumn<T>[];
}

/** How the rows of a step are written as JSON, all at once. */
export interface StepText<S> {
  rowsIn(step: S): number;
  firstOf(step: S, count: number): S;
  /** With commas between them. */
  json(step: S): string | Buffer;
  /** With an end of line behind each. */
  ndjson(step: S): string | Buffer;
}

/** Opens the rows, at most `limit` of them, permitting the read; it may be called twice. */
type Open<S> = (limit: number | undefined) => Promise<AsyncGenerator<S>>;

interface Rows<S, Text> {
  readonly text: Text;
  readonly open: Open<S>;
  readonly limit: number | undefined;
  readonly offset: number;
  /** Bytes that are held beside the step that goes out, while the reader takes it: those of several series side by side. */
  readonly heldBytes: number;
}

/** As it is registered with IANA. */
export const parquetType = 'application/vnd.apache.parquet';

/** Media types by format. */
export const types: Readonly<Record<Format, string>> = {
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
export function sendRows<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: Format,
  rows: Rows<T[], RowText<T>>,
): Promise<FastifyReply> {
  const { text } = rows;
  if (format === 'json' || format === 'ndjson')
    return sendSteps(request, reply, format, { ...rows, text: stepTextOf(text) });
  return sendTable(request, reply, format, rows);
}

/** The same as JSON or NDJSON, of steps that are written as a whole. */
export async function sendSteps<S>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: 'json' | 'ndjson',
  { limit, offset, open, text, heldBytes }: Rows<S, StepText<S>>,
): Promise<FastifyReply> {
  reply.type(types[format]).serializer(String);
  await reservationFor(request, reply, { format, limit, heldBytes });
  if (format === 'json' && limit !== undefined) {
    // One more than asked for tells whether there is a next page.
    const list = await gather(await open(limit + 1), text, limit);
    setLinks(request, reply, { limit, offset, hasNext: list.count > limit });
    if (list.body !== undefined) return reply.send(list.body);
  }
  const steps = await open(limit);
  const chunks = () => (format === 'json' ? jsonList(steps, text) : jsonLines(steps, text));
  return sendStream(request, reply, steps, { chunks, heldBytes });
}

async function sendTable<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: 'csv' | 'parquet',
  { limit, open, text, heldBytes }: Rows<T[], RowText<T>>,
): Promise<FastifyReply> {
  reply.type(types[format]).serializer(String);
  await reservationFor(request, reply, { format, limit, heldBytes });
  const steps = await open(limit);
  const chunks = () => (format === 'parquet' ? parquetChunks(steps, text.columns) : csvLines(steps, text));
  return sendStream(request, reply, steps, { chunks, heldBytes });
}

/** Claims memory for what the answer will hold: all of a list that is made whole, one step of what is streamed. */
export async function reservationFor(
  request: FastifyRequest,
  reply: FastifyReply,
  { format, limit, heldBytes }: { readonly format: Format } & Pick<Rows<never, never>, 'limit' | 'heldBytes'>,
): Promise<void> {
  if (request.method === 'HEAD') return;
  const isWhole = format === 'json' && limit !== undefined;
  const bytes = isWhole ? listReservationBytes(limit) : limits.answerStepBytes;
  await request.server.answerBudget.claim(request, reply, bytes + heldBytes);
}

/** Answers with what comes, piece by piece; to HEAD with nothing. */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  steps: AsyncGenerator<unknown>,
  { chunks, heldBytes }: { readonly chunks: () => AsyncGenerator<string | Uint8Array>; readonly heldBytes: number },
): Promise<FastifyReply> {
  if (request.method === 'HEAD') {
    await steps.return(undefined);
    return reply.send(nothing());
  }
  return reply.send(
    Readable.from(
      unlessStalled(chunks(), reply, { stallMs: limits.streamStallMs, reservation: request.answerClaim, heldBytes }),
      { objectMode: false },
    ),
  );
}

function stepTextOf<T>(text: RowText<T>): StepText<T[]> {
  return {
    rowsIn: (rows) => rows.length,
    firstOf: (rows, count) => rows.slice(0, count),
    json: (rows) => rows.map((row) => text.json(row)).join(','),
    ndjson: (rows) => rows.map((row) => `${text.json(row)}\n`).join(''),
  };
}

/** The body of a HEAD: a stream, so that no length is named that would be wrong. */
export function nothing(): Readable {
  return Readable.from([]);
}

/** The list as one body, or, where it is too large for that, only how many rows there are. */
async function gather<S>(steps: AsyncGenerator<S>, text: StepText<S>, limit: number) {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let count = 0;
  for await (const step of steps) {
    const shown = text.firstOf(step, Math.max(0, limit - count));
    count += text.rowsIn(step);
    if (bytes > limits.listBytesMax || text.rowsIn(shown) === 0) continue;
    const json = text.json(shown);
    const piece = typeof json === 'string' ? Buffer.from(json) : json;
    bytes += piece.length;
    if (bytes > limits.listBytesMax) pieces = [];
    else pieces.push(pieces.length === 0 ? opening : between, piece);
  }
  if (bytes > limits.listBytesMax) return { count, body: undefined };
  return { count, body: pieces.length === 0 ? '[]' : Buffer.concat([...pieces, closing]) };
}

const opening = Buffer.from('[');
const between = Buffer.from(',');
const closing = Buffer.from(']');

async function* jsonList<S>(steps: AsyncGenerator<S>, text: StepText<S>): AsyncGenerator<string | Uint8Array> {
  let isFirst = true;
  for await (const step of steps) {
    yield isFirst ? opening : between;
    yield text.json(step);
    isFirst = false;
  }
  yield isFirst ? '[]' : closing;
}

async function* jsonLines<S>(steps: AsyncGenerator<S>, text: StepText<S>): AsyncGenerator<string | Uint8Array> {
  for await (const step of steps) yield text.ndjson(step);
}

async function* csvLines<T>(steps: AsyncGenerator<T[]>, text: RowText<T>): AsyncGenerator<string> {
  yield text.csvHeader;
  for await (const rows of steps) yield rows.map((row) => text.csvLine(row)).join('');
}

/** Cuts the connection of a reader who takes nothing for too long. */
export async function* unlessStalled(
  chunks: AsyncGenerator<string | Uint8Array>,
  reply: FastifyReply,
  {
    stallMs,
    reservation,
    heldBytes = 0,
  }: { readonly stallMs: number; readonly reservation: AnswerReservation | undefined; readonly heldBytes?: number },
): AsyncGenerator<string | Uint8Array> {
  for await (const chunk of chunks) {
    // What is ready waits here until the reader has taken what came before it.
    reservation?.setTo(heldBytes + Math.max(chunk.length, limits.answerStepBytes));
    const stalled = setTimeout(() => reply.raw.destroy(), stallMs);
    try {
      yield chunk;
    } finally {
      clearTimeout(stalled);
    }
  }
}
