// Parses request bodies: JSON and text in UTF-8, with or without a charset; and values of single-field updates.

import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { reportReleasedBytes } from '../../base/memory/garbage-collection.ts';
import { Refusal } from '../../base/refusal.ts';
import { isStorableText, type Json, textFault } from '../../base/text/json.ts';
import { parseExactJsonText, parseJsonText } from '../../base/text/json-text.ts';
import { limits } from '../../config/limits.ts';
import type { ByteBudget } from '../../domain/callers/byte-budget.ts';
import { parsePlainReading, parsePlainReadings } from '../../domain/datapoints/ingest/plain-reading.ts';
import { PlainReadings } from '../../domain/datapoints/ingest/plain-readings.ts';
import { parseReadings, type Readings } from '../../domain/datapoints/ingest/reading.ts';
import { assertJsonLength, assertTextBound, type TextBound } from '../schemas/text-bounds.ts';
import { readBody } from './body-reading.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where NDJSON and CSV are accepted. */
    takesLines?: boolean;
    /** True where a page signs in: JSON has to be `application/json`, which other sites cannot send unasked. */
    isForPages?: boolean;
  }
  interface FastifyInstance {
    /** Whether a page of this origin may send JSON as a form; without an origin it is no page. */
    takesFormsOf(origin: string | undefined): boolean;
  }
  interface FastifyRequest {
    /** The raw body, kept only where an Idempotency-Key needs it. */
    rawBody: Buffer | undefined;
    /** SHA-256 of an array of readings in which each has a timestamp, where there is no Idempotency-Key. */
    repeatHash: string | undefined;
  }
}

/** A text/plain body, as distinct from a JSON string. */
export class TextBody {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A raw body of lines; UTF-8 is validated line by line. */
export class LinesBody {
  readonly kind: 'csv' | 'ndjson';
  readonly bytes: Buffer;

  constructor(kind: 'csv' | 'ndjson', bytes: Buffer) {
    this.kind = kind;
    this.bytes = bytes;
  }
}

/** Microcontrollers, and `curl -d`, send JSON under the second type. */
const jsonTypes = ['application/json', 'application/x-www-form-urlencoded'] as const;

const lineTypes = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
} as const;

export function registerBodyParsers(
  app: FastifyInstance,
  { byteBudget, corsOrigins }: { readonly byteBudget: ByteBudget; readonly corsOrigins: readonly string[] },
): void {
  app.decorate('byteBudget', byteBudget);
  const origins = new Set(corsOrigins);
  app.decorate('takesFormsOf', (origin) => origin === undefined || origins.has('*') || origins.has(origin));
  app.removeAllContentTypeParsers();
  app.decorateRequest('rawBody');
  app.decorateRequest('repeatHash');
  addJsonParser(app, (body) => parseJsonText(body, limits.nestingLevelsMax));
  app.addContentTypeParser('text/plain', (request: FastifyRequest, payload: IncomingMessage, done) => {
    const take = (body: Buffer): TextBody | undefined => {
      if (!hasBody(request)) return undefined;
      assertPlainUtf8(request);
      if (request.headers['idempotency-key'] !== undefined) request.rawBody = Buffer.from(body);
      return new TextBody(parseText(body));
    };
    readBody(request, payload, { take, done });
  });
  for (const [type, kind] of Object.entries(lineTypes)) {
    app.addContentTypeParser(type, (request: FastifyRequest, payload: IncomingMessage, done) => {
      const take = (body: Buffer): LinesBody => {
        if (request.routeOptions.config.takesLines !== true)
          throw new Refusal('unsupported', `${type} is not taken here.`);
        assertPlainUtf8(request);
        if (request.headers['idempotency-key'] !== undefined) request.rawBody = body;
        return new LinesBody(kind, body);
      };
      readBody(request, payload, { take, done, isKept: true });
    });
  }
}

/**
 * Parses JSON bodies into readings, usual ones straight from their bytes.
 * @param detectsRepeats whether arrays whose items all have a timestamp are hashed, while their bytes are here.
 */
export function registerReadingParser(
  app: FastifyInstance,
  { detectsRepeats }: { detectsRepeats: () => boolean },
): void {
  addJsonParser(app, (body, request) => {
    const plain = parsePlainReading(body, 0, body.length);
    if (plain !== undefined) return plain;
    const many = parsePlainReadings(body);
    const json = many === undefined ? parseExactJsonText(body, limits.nestingLevelsMax) : undefined;
    const readings = many ?? parseReadings(json);
    const mayBeRepeat = detectsRepeats() && request.headers['idempotency-key'] === undefined;
    if (mayBeRepeat && (many !== undefined || Array.isArray(json)) && isTimed(readings)) {
      request.repeatHash = hash('sha256', body, 'base64');
    }
    return readings;
  });
}

/** Parses JSON bodies that carry values of datapoints among other fields: numbers keep their digits. */
export function registerExactJsonParser(app: FastifyInstance): void {
  addJsonParser(app, (body) => parseExactJsonText(body, limits.nestingLevelsMax));
}

/** True where there are readings, and each has a timestamp. */
function isTimed(readings: Readings): boolean {
  if (readings instanceof PlainReadings) return !readings.timestamps.some(Number.isNaN);
  for (const { timestampMs } of readings) if (Number.isNaN(timestampMs)) return false;
  return readings.length > 0;
}

function addJsonParser(app: FastifyInstance, parse: (body: Buffer, request: FastifyRequest) => unknown): void {
  for (const type of jsonTypes) app.removeContentTypeParser(type);
  app.addContentTypeParser([...jsonTypes], (request: FastifyRequest, payload: IncomingMessage, done) => {
    const take = (body: Buffer): unknown => {
      assertPlainUtf8(request);
      assertNoForeignForm(request);
      if (request.headers['idempotency-key'] !== undefined) request.rawBody = Buffer.from(body);
      // The pieces it was received in.
      reportReleasedBytes(body.length);
      // A DELETE or GET may have the header and no body.
      return body.length === 0 ? undefined : parse(withoutNuls(body), request);
    };
    readBody(request, payload, { take, done });
  });
}

/** The text without the NULs that clients written in C send behind it. */
function withoutNuls(body: Buffer): Buffer {
  let end = body.length;
  while (end > 0 && body[end - 1] === 0) end -= 1;
  return end === body.length ? body : body.subarray(0, end);
}

/**
 * A browser sends a form to another site without asking it first, unlike `application/json`. So forms are taken only of
 * pages that may call the service anyway (CORS), and never where they would sign a page in.
 */
function assertNoForeignForm(request: FastifyRequest): void {
  const { 'content-type': type = '', origin } = request.headers;
  if (!/^application\/x-www-form-urlencoded/i.test(type)) return;
  if (request.routeOptions.config.isForPages !== true && request.server.takesFormsOf(origin)) return;
  throw new Refusal('unsupported', 'JSON is taken here as application/json alone. Set Content-Type.');
}

/** A text may be empty, which differs from no body at all (RFC 9112 section 6). */
function hasBody({ headers }: FastifyRequest): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function parseText(body: Buffer): string {
  if (!isUtf8(body)) throw new Refusal('malformed', 'The text is not UTF-8.');
  const text = body.toString('utf8');
  if (!isStorableText(text)) throw new Refusal('malformed', `The text ${textFault(text)}.`);
  return text;
}

function assertPlainUtf8(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Refusal('unsupported', `Bodies are taken as they are, not in the encoding ${encoding}.`);
  }
  const type = request.headers['content-type'] ?? '';
  if (!type.includes(';')) return;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i.exec(type)?.[1]?.toLowerCase();
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii') return;
  throw new Refusal('unsupported', `The charset must be UTF-8, not ${charset}.`);
}

/** The new value of a text field: text/plain with the bare value, or a JSON string. */
export function textFieldOf(body: unknown, field: string, bound: TextBound): string {
  if (body === undefined || body === null) {
    throw new Refusal('malformed', `${field} needs a body with its new value: text/plain, or a JSON string.`);
  }
  const text = body instanceof TextBody ? body.text.replace(/\r?\n$/, '') : body;
  if (typeof text !== 'string') {
    throw new Refusal('malformed', `${field} must be a text: text/plain with the bare value, or a JSON string.`);
  }
  assertTextBound(text, `/${field}`, bound);
  return text;
}

/** The new value of a JSON field: application/json, or text/plain that holds the JSON. */
export function jsonFieldOf(body: unknown, field: string, options: { readonly bytesMax?: number } = {}): Json {
  if (body === undefined) throw new Refusal('malformed', `${field} needs a body with its new value as JSON.`);
  const json =
    body instanceof TextBody ? parseJsonText(Buffer.from(body.text), limits.nestingLevelsMax) : (body as Json);
  assertJsonLength(json, `/${field}`, options.bytesMax ?? limits.descriptionBytesMax);
  return json;
}
