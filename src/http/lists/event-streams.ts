// Streams of server-sent events, of devices and of alarms: their headers, and gzip for whoever takes it, flushed after each step
// of events. A usual event of 190 bytes leaves as 27.
//
// A compressor kept open takes 100 KiB and more whatever its window, because of the tables of zlib, and there may be thousands
// of streams. So none is kept: each step is a piece of the stream for itself, compressed with the text before it as
// dictionary, and `eventWindowBytes` of text is all that a stream holds. That is 20 µs a step on the main thread. Brotli has no such
// pieces; every client that takes brotli takes gzip.
import { crc32, deflateRawSync, constants as zlib } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import { encodingOf } from '../server/accepted-encoding.ts';
import { addVary } from '../server/compression.ts';

export function setEventHeaders(reply: FastifyReply): void {
  reply
    .type('text/event-stream; charset=utf-8')
    .header('cache-control', 'no-store')
    // Tells proxies not to buffer events.
    .header('x-accel-buffering', 'no')
    .serializer(String);
  addVary(reply);
}

/**
 * The text of a stream, its events in pieces of about `eventSliceBytes`: values may be long, and no more text is made than the
 * reader takes. An empty step is a comment, as a sign of life.
 */
export async function* eventTexts<E>(
  steps: AsyncGenerator<readonly E[]>,
  textOf: (event: E) => string,
): AsyncGenerator<string> {
  yield 'retry: 3000\n\n';
  for await (const events of steps) {
    let text = events.length === 0 ? ':\n\n' : '';
    for (const event of events) {
      text += textOf(event);
      if (text.length < limits.eventSliceBytes) continue;
      yield text;
      text = '';
    }
    if (text !== '') yield text;
  }
}

/** The events as they are sent to whoever asks: compressed where they take it. Call it once the stream is open. */
export function encodeEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  events: AsyncGenerator<string>,
): AsyncGenerator<string | Uint8Array> {
  if (encodingOf(request.headers['accept-encoding'], ['gzip']) !== 'gzip') return events;
  reply.header('content-encoding', 'gzip');
  return gzipPieces(inSlices(events, request));
}

/** No piece is so long that compressing it holds up the event loop. */
async function* inSlices(events: AsyncGenerator<string>, request: FastifyRequest): AsyncGenerator<Buffer> {
  for await (const text of events) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += limits.eventSliceBytes) {
      if (at > 0 || bytes.length >= limits.eventSliceBytes) await loopTurns.turn(request.actor.caller);
      yield bytes.subarray(at, at + limits.eventSliceBytes);
    }
  }
}

/** Deflate, an unknown time, an unknown system (RFC 1952 section 2.3). */
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** The last block of a deflate stream, an empty one. */
const lastBlock = Buffer.from([0x03, 0x00]);

/** One gzip member, each piece of which can be decompressed as soon as it is there. */
async function* gzipPieces(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let window = Buffer.alloc(0);
  let checksum = 0;
  let length = 0;
  let head = gzipHeader;
  for await (const piece of pieces) {
    const body = deflateRawSync(piece, {
      level: 6,
      windowBits: 12,
      memLevel: 5,
      chunkSize: 4 * 1024,
      // Ends at a byte, and is not the end.
      finishFlush: zlib.Z_SYNC_FLUSH,
      ...(window.length === 0 ? {} : { dictionary: window }),
    });
    checksum = crc32(piece, checksum);
    length = (length + piece.length) % 2 ** 32;
    window = endOf(window, piece);
    yield head.length === 0 ? body : Buffer.concat([head, body]);
    head = Buffer.alloc(0);
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(checksum, 0);
  trailer.writeUInt32LE(length, 4);
  yield Buffer.concat([head, lastBlock, trailer]);
}

/** A copy of the last bytes, so that nothing longer stays in memory. */
function endOf(window: Buffer, piece: Buffer): Buffer<ArrayBuffer> {
  const max = limits.eventWindowBytes;
  if (piece.length >= max) return Buffer.from(piece.subarray(piece.length - max));
  return Buffer.concat([window.subarray(Math.max(0, window.length + piece.length - max)), piece]);
}
