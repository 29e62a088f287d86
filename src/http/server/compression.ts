// Compresses answers to GET with gzip, for people on weak links: lists and histories shrink to an eighth. Streamed answers are
// compressed as they are streamed. Only successful answers to GET are compressed, because they contain no secrets: the length of
// a compressed answer that has both a secret and text chosen by an attacker would reveal the secret (BREACH). Tokens, keys and
// links are answers to POST.
//
// zlib runs in the thread pool at some 300 MB/s, several times as fast as the main thread makes JSON, so a caller loads the
// pool less than the main thread. A stream keeps its compressor until it has been read, so compressors are shared among
// callers. A request that gets no compressor is answered uncompressed.
import { pipeline, Readable } from 'node:stream';
import { createGzip, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FairBudget } from '../../base/memory/fair-budget.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { takesEncoding } from './accepted-encoding.ts';

/**
 * Level 3 of 9: 300 MB/s and an eighth of the bytes for lists of devices or datapoints; level 6 is half as fast for a tenth. The window
 * and the tables of 32 KiB each keep a compressor at some 200 KiB.
 */
const options = { level: 3, memLevel: 7, windowBits: 15 } as const;

/** Not live streams, whose events have to leave at once, nor Parquet and ZIP, which are compressed already. */
const compressible = /^(application\/(json|x-ndjson|problem\+json)|text\/(csv|plain|html|markdown))\b/;

/** Registers the hook. Register it after the hook that counts answers: bytes are counted before compression. */
export function registerCompression(app: FastifyInstance): void {
  const compressors = new FairBudget<Caller>(limits.compressorsMax);
  app.addHook<unknown>('onSend', (request, reply, payload, done) => {
    if (!isCompressible(request, reply, payload)) return done(null, payload);
    addVary(reply);
    const caller = request.actor?.caller;
    const isTaken = takesEncoding(request.headers['accept-encoding'], 'gzip');
    if (!isTaken || caller === undefined || !compressors.take(caller, 1)) return done(null, payload);
    const release = () => compressors.release(caller, 1);
    if (payload instanceof Readable) {
      const compressor = createGzip(options);
      // What fails before anything was sent is answered by a refusal, which is not compressed.
      payload.once('error', () => {
        reply.removeHeader('content-encoding');
        if (!reply.raw.headersSent) reply.raw.removeHeader('content-encoding');
      });
      // An end of either ends both; Fastify sees what happens to the second.
      pipeline(payload, compressor, release);
      return done(null, encoded(reply, compressor));
    }
    gzip(payload, options, (error, bytes) => {
      release();
      // Out of memory, at most: the answer goes as it is.
      if (error !== null) done(null, payload);
      else done(null, encoded(reply, bytes));
    });
  });
}

function isCompressible(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): payload is string | Buffer | Readable {
  if (request.method !== 'GET' || reply.statusCode !== 200 || reply.hasHeader('content-encoding')) return false;
  if (!compressible.test(String(reply.getHeader('content-type') ?? ''))) return false;
  if (payload instanceof Readable) return true;
  return (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= limits.compressedBytesMin;
}

function encoded<Payload>(reply: FastifyReply, payload: Payload): Payload {
  reply.header('content-encoding', 'gzip').removeHeader('content-length');
  return payload;
}

/** A cache must not give the answer to clients that do not take it. */
function addVary(reply: FastifyReply): void {
  const before = String(reply.getHeader('vary') ?? '');
  if (/\baccept-encoding\b/i.test(before)) return;
  reply.header('vary', before === '' ? 'Accept-Encoding' : `${before}, Accept-Encoding`);
}
