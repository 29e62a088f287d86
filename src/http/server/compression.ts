// Compresses answers to GET with brotli or gzip, for people on weak links: lists and histories shrink to a tenth. Streamed answers
// are compressed as they are streamed; event streams are in event-streams.ts. Only successful answers to GET are compressed,
// because they contain no secrets: the length of a compressed answer that has both a secret and text chosen by an attacker would
// reveal the secret (BREACH). Tokens, keys and links are answers to POST.
//
// Both run in the thread pool at some 300 MB/s, several times as fast as the main thread makes JSON, so a caller loads the
// pool less than the main thread. A stream keeps its compressor until it has been read, so compressors are shared among
// callers. A request that gets no compressor is answered uncompressed.
import { pipeline, Readable } from 'node:stream';
import { brotliCompress, createBrotliCompress, createGzip, gzip, constants as zlib } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FairBudget } from '../../base/memory/fair-budget.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { encodingOf } from './accepted-encoding.ts';

/** Level 3 of 9: 240 MB/s and a tenth of the bytes for lists of datapoints; level 6 is half as fast for 8 % less. */
const gzipOptions = { level: 3, memLevel: 7, windowBits: 15 } as const;

/** Quality 2 of 11: 330 MB/s and a fifth less than gzip; 4 is half as fast for nothing. A compressor takes some 470 KiB. */
const brotliOptions = {
  params: { [zlib.BROTLI_PARAM_QUALITY]: 2, [zlib.BROTLI_PARAM_LGWIN]: 16 },
} as const;

/** Not live streams, whose events have to leave at once, nor Parquet and ZIP, which are compressed already. */
const compressible = /^(application\/(json|x-ndjson|problem\+json)|text\/(csv|plain|html|markdown))\b/;

/** Registers the hook. Register it after the hook that counts answers: bytes are counted before compression. */
export function registerCompression(app: FastifyInstance): void {
  const compressors = new FairBudget<Caller>(limits.compressorsMax);
  app.addHook<unknown>('onSend', (request, reply, payload, done) => {
    if (!isCompressible(request, reply, payload)) return done(null, payload);
    addVary(reply);
    const caller = request.actor?.caller;
    const encoding = encodingOf(request.headers['accept-encoding'], ['br', 'gzip']);
    // The headers of HEAD are those of GET, but for what the length of a body that nobody makes would say.
    if (encoding === 'identity' || request.method === 'HEAD') return done(null, payload);
    if (caller === undefined || !compressors.take(caller, 1)) return done(null, payload);
    const release = () => compressors.release(caller, 1);
    if (payload instanceof Readable) {
      const compressor = encoding === 'br' ? createBrotliCompress(brotliOptions) : createGzip(gzipOptions);
      // What fails before anything was sent is answered by a refusal, which is not compressed.
      payload.once('error', () => {
        reply.removeHeader('content-encoding');
        if (!reply.raw.headersSent) reply.raw.removeHeader('content-encoding');
      });
      // An end of either ends both; Fastify sees what happens to the second.
      pipeline(payload, compressor, release);
      return done(null, encoded(reply, encoding, compressor));
    }
    const finish = (error: Error | null, bytes: Buffer) => {
      release();
      // Out of memory, at most: the answer goes as it is.
      if (error !== null) done(null, payload);
      else done(null, encoded(reply, encoding, bytes));
    };
    if (encoding === 'br') brotliCompress(payload, brotliOptions, finish);
    else gzip(payload, gzipOptions, finish);
  });
}

function isCompressible(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): payload is string | Buffer | Readable {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  if (reply.statusCode !== 200 || reply.hasHeader('content-encoding')) return false;
  if (!compressible.test(String(reply.getHeader('content-type') ?? ''))) return false;
  if (payload instanceof Readable) return true;
  return (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= limits.compressedBytesMin;
}

function encoded<Payload>(reply: FastifyReply, encoding: 'br' | 'gzip', payload: Payload): Payload {
  reply.header('content-encoding', encoding).removeHeader('content-length');
  return payload;
}

/** A cache must not give the answer to clients that do not take it. */
export function addVary(reply: FastifyReply): void {
  const before = String(reply.getHeader('vary') ?? '');
  if (/\baccept-encoding\b/i.test(before)) return;
  reply.header('vary', before === '' ? 'Accept-Encoding' : `${before}, Accept-Encoding`);
}
