// Sends lists of rows of any length as JSON, CSV, NDJSON or Parquet. A step is made only when the one before has been sent,
// so that memory stays constant and slow readers do not affect others. JSON is sent as pieces of text (json-pieces.ts).
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../config/limits.ts';
import type { TextPiece } from '../../domain/datapoints/history/history.ts';
import { asksFor } from '../server/preference.ts';
import { type AnswerReservation, listReservationBytes } from './answer-budget.ts';
import { inTurns } from './in-turns.ts';
import { gatherJson, jsonLines, jsonList, openPieces, type ReleaseText, type StepText } from './json-pieces.ts';
import { setLinks } from './paging.ts';
import { type ParquetColumn, parquetChunks } from './parquet.ts';

export type Format = 'json' | 'csv' | 'ndjson' | 'parquet';

/** The formats of a row. */
export interface RowText<T> {
  /** With its line ending. */
  readonly csvHeader: string;
  csvLine(row: T): string;
  json(row: T): string;
  readonly columns: readonly ParquetColumn<T>[];
}

/** Opens the rows, `limit` at most, checking permission; may be called twice. */
type Open<S> = (limit: number | undefined) => Promise<AsyncGenerator<S>>;

interface Rows<S> {
  readonly open: Open<S>;
  readonly limit: number | undefined;
  readonly offset: number;
  /** Bytes held beside the step that is being sent: those of several series side by side. */
  readonly heldBytes: number;
}

/** As registered with IANA. */
export const parquetType = 'application/vnd.apache.parquet';

/** Media types by format. */
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

/** Answers with the rows; a JSON list with a limit has `Link` headers. */
export function sendRows<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: Format,
  rows: Rows<T[]> & { readonly text: RowText<T> },
): Promise<FastifyReply> {
  if (format === 'csv' || format === 'parquet') return sendTable(request, reply, format, rows);
  const open = openPieces(rows.open, stepTextOf(rows.text), { format, caller: request.actor.caller });
  return sendPieces(request, reply, format, { ...rows, open });
}

/** Answers with rows that come as pieces of text, as JSON or NDJSON; `release` gets back the memory of a sent piece. */
export async function sendPieces(
  request: FastifyRequest,
  reply: FastifyReply,
  format: 'json' | 'ndjson',
  { limit, offset, open, heldBytes, release }: Rows<TextPiece> & { readonly release?: ReleaseText },
): Promise<FastifyReply> {
  reply.type(types[format]).serializer(String);
  await reservationFor(request, reply, { format, limit, heldBytes });
  if (format === 'json' && limit !== undefined) {
    const list = await gatherJson(await open(limit), release);
    setLinks(request, reply, { limit, offset, hasNext: list.hasMore });
    if (list.body !== undefined) {
      const { body, isLent } = list;
      // By then the operating system has all bytes. Where the connection ends before, the memory is garbage-collected.
      if (isLent) reply.raw.once('finish', () => release?.(body));
      return reply.send(body);
    }
  }
  const pieces = await open(limit);
  const chunks = () => (format === 'json' ? jsonList(pieces) : jsonLines(pieces));
  return sendStream(request, reply, pieces, { chunks, heldBytes });
}

async function sendTable<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  format: 'csv' | 'parquet',
  { limit, open, text, heldBytes }: Rows<T[]> & { readonly text: RowText<T> },
): Promise<FastifyReply> {
  reply.type(types[format]).serializer(String);
  await reservationFor(request, reply, { format, limit, heldBytes });
  const steps = inTurns(await open(limit), request.actor.caller);
  const chunks = () => (format === 'parquet' ? parquetChunks(steps, text.columns) : csvLines(steps, text));
  return sendStream(request, reply, steps, { chunks, heldBytes });
}

/** Reserves memory for the answer: for a list sent whole all of it, for a stream one step. */
async function reservationFor(
  request: FastifyRequest,
  reply: FastifyReply,
  { format, limit, heldBytes }: { readonly format: Format } & Pick<Rows<never>, 'limit' | 'heldBytes'>,
): Promise<void> {
  if (request.method === 'HEAD') return;
  const isWhole = format === 'json' && limit !== undefined;
  const bytes = isWhole ? listReservationBytes(limit) : limits.answerStepBytes;
  await request.server.answerBudget.reserve(request, reply, bytes + heldBytes);
}

/** Streams the answer in pieces; to HEAD without a body. */
async function sendStream(
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
      unlessStalled(chunks(), reply, {
        stallMs: limits.streamStallMs,
        reservation: request.answerReservation,
        heldBytes,
      }),
      { objectMode: false },
    ),
  );
}

function stepTextOf<T>(text: RowText<T>): StepText<T[]> {
  return {
    rowsIn: (rows) => rows.length,
    firstOf: (rows, count) => rows.slice(0, count),
    encode: (rows, format) => {
      const records = rows.map((row) => text.json(row));
      return Buffer.from(format === 'json' ? `[${records.join(',')}]` : ` ${records.join('\n')}\n `);
    },
  };
}

/** The body of a HEAD answer: a stream, so that no Content-Length is sent, which would be wrong. */
export function nothing(): Readable {
  return Readable.from([]);
}

async function* csvLines<T>(steps: AsyncGenerator<T[]>, text: RowText<T>): AsyncGenerator<string> {
  yield text.csvHeader;
  for await (const rows of steps) yield rows.map((row) => text.csvLine(row)).join('');
}

/** Cuts the connection of a reader that takes nothing for too long. */
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
    // The next piece is held until the reader has taken the previous one.
    reservation?.setTo(heldBytes + Math.max(chunk.length, limits.answerStepBytes));
    const stalled = setTimeout(() => reply.raw.destroy(), stallMs);
    try {
      yield chunk;
    } finally {
      clearTimeout(stalled);
    }
  }
}
