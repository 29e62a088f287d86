// Makes JSON and NDJSON lists of rows that come in pieces of text, as one body or as a stream. The store leaves a spare
// byte before and after each piece, into which brackets and commas are written, so that a usual list, which is one
// piece, is not copied. Rows that come as objects or columns are encoded into such pieces here. Used by row-streams.ts.

import { reportReleasedBytes } from '../../base/memory/garbage-collection.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import type { TextPiece } from '../../domain/datapoints/history/history.ts';
import { inTurns } from './in-turns.ts';

const opening = 0x5b;
const between = 0x2c;
const closing = 0x5d;

/** Encodes the rows of a step as JSON at once. */
export interface StepText<S> {
  rowsIn(step: S): number;
  firstOf(step: S, count: number): S;
  /** The rows with commas between them, or a line break after each; with a spare byte before and after all of them. */
  encode(step: S, format: 'json' | 'ndjson'): Uint8Array;
}

/** Opens the pieces of steps: as JSON, one row more than asked for is read to tell whether there is a next page. */
export function openPieces<S>(
  open: (limit: number | undefined) => Promise<AsyncGenerator<S>>,
  text: StepText<S>,
  { format, caller }: { readonly format: 'json' | 'ndjson'; readonly caller: Caller },
): (limit: number | undefined) => Promise<AsyncGenerator<TextPiece>> {
  return async (limit) => {
    const max = limit === undefined || format === 'ndjson' ? limit : limit + 1;
    return piecesOf(inTurns(await open(max), caller), text, { limit, format });
  };
}

async function* piecesOf<S>(
  steps: AsyncGenerator<S>,
  text: StepText<S>,
  { limit, format }: { readonly limit: number | undefined; readonly format: 'json' | 'ndjson' },
): AsyncGenerator<TextPiece> {
  let count = 0;
  for await (const step of steps) {
    const shown = limit === undefined ? step : text.firstOf(step, Math.max(0, limit - count));
    count += text.rowsIn(step);
    yield {
      rows: text.rowsIn(shown),
      hasMore: limit !== undefined && count > limit,
      // Made when it is asked for: a list that is too large for one body only counts the rest.
      get text() {
        return text.encode(shown, format);
      },
    };
  }
}

/** Called with a text that is not needed any more, so that its memory can be used again. */
export type ReleaseText = (text: Uint8Array) => void;

interface JsonBody {
  readonly hasMore: boolean;
  /** undefined where the list is too large to be made whole. */
  readonly body: Buffer | undefined;
  /** True where the body is the memory of a piece, which has to be released once it is sent. */
  readonly isLent: boolean;
}

/** The list as one body, or, where it is too large for that, only whether there are more rows. */
export async function gatherJson(
  pieces: AsyncGenerator<TextPiece>,
  release: ReleaseText | undefined,
): Promise<JsonBody> {
  let texts: Uint8Array[] = [];
  let bytes = 0;
  let hasMore = false;
  for await (const piece of pieces) {
    hasMore ||= piece.hasMore;
    if (piece.rows === 0 || bytes > limits.listBytesMax) {
      release?.(piece.text);
      continue;
    }
    const { text } = piece;
    texts.push(text);
    bytes += text.length;
    if (bytes <= limits.listBytesMax) continue;
    for (const unused of texts) release?.(unused);
    texts = [];
  }
  if (bytes > limits.listBytesMax) return { hasMore, body: undefined, isLent: false };
  const [only, ...others] = texts;
  if (only === undefined) return { hasMore, body: Buffer.from('[]'), isLent: false };
  if (others.length === 0) return { hasMore, body: enclosed(only), isLent: true };
  const body = joined(texts, bytes);
  for (const text of texts) release?.(text);
  return { hasMore, body, isLent: false };
}

function enclosed(text: Uint8Array): Buffer {
  text[0] = opening;
  text[text.length - 1] = closing;
  return Buffer.from(text.buffer, text.byteOffset, text.length);
}

/** Joins texts: the spare byte before each becomes a bracket or comma, the spare bytes after them are left out. */
function joined(texts: readonly Uint8Array[], bytes: number): Buffer {
  const body = Buffer.allocUnsafeSlow(bytes - texts.length + 1);
  let at = 0;
  for (const text of texts) {
    text[0] = at === 0 ? opening : between;
    body.set(text.subarray(0, -1), at);
    at += text.length - 1;
  }
  body[at] = closing;
  return body;
}

/** The list as a stream. */
export async function* jsonList(pieces: AsyncGenerator<TextPiece>): AsyncGenerator<string | Uint8Array> {
  let isFirst = true;
  for await (const { rows, text } of pieces) {
    if (rows === 0) continue;
    text[0] = isFirst ? opening : between;
    isFirst = false;
    yield text.subarray(0, -1);
    reportReleasedBytes(text.length);
  }
  yield isFirst ? '[]' : ']';
}

/** The lines as a stream. */
export async function* jsonLines(pieces: AsyncGenerator<TextPiece>): AsyncGenerator<Uint8Array> {
  for await (const { rows, text } of pieces) {
    if (rows === 0) continue;
    yield text.subarray(1, -1);
    reportReleasedBytes(text.length);
  }
}
