// Lists of the datapoints of one sensor as JSON or NDJSON, which come from the store as text, piece by piece, and leave as
// they came: a usual list is one piece, and is not even copied. Says what row-streams.ts says.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { reportReleasedBytes } from '../../base/memory/garbage-collection.ts';
import { limits } from '../../config/limits.ts';
import type { TextPiece } from '../../domain/datapoints/history/history.ts';
import { setLinks } from './paging.ts';
import { reservationFor, sendStream, types } from './row-streams.ts';

const opening = 0x5b;
const between = 0x2c;
const closing = 0x5d;

interface Texts {
  /** Opens the rows, at most `limit` of them, permitting the read; it may be called twice. */
  readonly open: (limit: number | undefined) => Promise<AsyncGenerator<TextPiece>>;
  readonly limit: number | undefined;
  readonly offset: number;
  /** Takes the memory of a text that nobody reads any more. */
  readonly giveBack: (text: Uint8Array) => void;
}

/** Answers with the rows; a JSON list with a limit says by `Link` whether there are more. */
export async function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  format: 'json' | 'ndjson',
  texts: Texts,
): Promise<FastifyReply> {
  const { open, limit, offset } = texts;
  reply.type(types[format]).serializer(String);
  await reservationFor(request, reply, { format, limit, heldBytes: 0 });
  if (format === 'json' && limit !== undefined) {
    const list = await gather(await open(limit), texts);
    setLinks(request, reply, { limit, offset, hasNext: list.hasMore });
    if (list.body !== undefined) {
      const { body, isLent } = list;
      // All of it is with the system then. Where the connection ends before, the memory is left to the collector.
      if (isLent) reply.raw.once('finish', () => texts.giveBack(body));
      return reply.send(body);
    }
  }
  const pieces = await open(limit);
  const chunks = () => (format === 'json' ? jsonList(pieces) : jsonLines(pieces));
  return sendStream(request, reply, pieces, { chunks, heldBytes: 0 });
}

interface Gathered {
  readonly hasMore: boolean;
  /** undefined where the list is too large to be made whole. */
  readonly body: Buffer | undefined;
  /** True where the body is the memory of a text. */
  readonly isLent: boolean;
}

async function gather(texts: AsyncGenerator<TextPiece>, { giveBack }: Texts): Promise<Gathered> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let hasMore = false;
  for await (const piece of texts) {
    hasMore ||= piece.hasMore;
    if (piece.rows > 0) bytes += piece.text.length;
    const isTooLarge = bytes > limits.listBytesMax;
    if (piece.rows > 0 && !isTooLarge) pieces.push(piece.text);
    else giveBack(piece.text);
    if (!isTooLarge) continue;
    for (const text of pieces) giveBack(text);
    pieces = [];
  }
  if (bytes > limits.listBytesMax) return { hasMore, body: undefined, isLent: false };
  const [only, ...others] = pieces;
  if (only === undefined) return { hasMore, body: Buffer.from('[]'), isLent: false };
  if (others.length === 0) return { hasMore, body: enclosed(only), isLent: true };
  const body = joined(pieces, bytes);
  for (const text of pieces) giveBack(text);
  return { hasMore, body, isLent: false };
}

function enclosed(text: Uint8Array): Buffer {
  text[0] = opening;
  text[text.length - 1] = closing;
  return Buffer.from(text.buffer, text.byteOffset, text.length);
}

/** The byte before each text is its comma; the room behind all but the last is left out. */
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

async function* jsonList(texts: AsyncGenerator<TextPiece>): AsyncGenerator<string | Uint8Array> {
  let isFirst = true;
  for await (const { text, rows } of texts) {
    if (rows === 0) continue;
    text[0] = isFirst ? opening : between;
    isFirst = false;
    yield text.subarray(0, -1);
    reportReleasedBytes(text.length);
  }
  yield isFirst ? '[]' : ']';
}

async function* jsonLines(texts: AsyncGenerator<TextPiece>): AsyncGenerator<Uint8Array> {
  for await (const { text, rows } of texts) {
    if (rows === 0) continue;
    yield text.subarray(1, -1);
    reportReleasedBytes(text.length);
  }
}
