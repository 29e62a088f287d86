// Finds requests in the bytes of a connection and reads their headers, where all HTTP parsers agree about them: a
// subset of HTTP. Anything unusual is left to Node.js. Used by push-connection.ts and push-fast-path.ts.
import { limits } from '../../config/limits.ts';

/** The meaning of a request's headers. */
export interface RequestHeaders {
  /** Length of the body. */
  readonly bodyBytes: number;
  /** True where the headers ask for nothing beyond a usual push. */
  readonly isUsual: boolean;
  readonly authorization: string | undefined;
  /** X-Forwarded-For, used only where the peer is a trusted proxy. */
  readonly forwardedFor: string | undefined;
  /** X-Forwarded-Proto, likewise. */
  readonly forwardedProto: string | undefined;
}

/** A request among the bytes of a connection. */
export interface RequestHead {
  readonly method: string;
  /** As sent: with escapes and query. */
  readonly target: string;
  readonly facts: RequestHeaders;
  /** Index of the body's first byte, and of the byte after its last. */
  readonly bodyAt: number;
  readonly end: number;
}

const headEnd = Buffer.from('\r\n\r\n');
const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) ([!-~]+) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~][ -~]*)?$/;
/** Headers that change where the request ends, or make it the connection's last. */
const framing = new Set(['transfer-encoding', 'upgrade', 'expect', 'trailer', 'proxy-connection']);
/** Headers that ask for something beside storing the push. */
const askingForMore = new Set(['idempotency-key', 'prefer', 'origin', 'content-encoding']);
const jsonTypes = new Set(['application/json', 'application/json; charset=utf-8']);

/** A cache of parsed headers. A fleet sends few different texts, again with each request. */
export class HeaderCache {
  readonly #known = new Map<string, RequestHeaders | undefined>();
  #chars = 0;

  /**
   * Undefined where only Node.js can interpret the headers.
   * @param heldChars length of the text that the headers are a part of, which the cache keeps with them.
   */
  factsOf(text: string, heldChars: number): RequestHeaders | undefined {
    const known = this.#known.get(text);
    if (known !== undefined || this.#known.has(text)) return known;
    const { fastPathHeadersMax, fastPathHeaderCharsMax } = limits;
    if (this.#known.size >= fastPathHeadersMax || this.#chars + heldChars > fastPathHeaderCharsMax) {
      this.#known.clear();
      this.#chars = 0;
    }
    const facts = readHeaders(text);
    this.#known.set(text, facts);
    this.#chars += heldChars;
    return facts;
  }
}

/** The request at an index; undefined where its head is incomplete, or only Node.js can parse it. */
export function readHead(bytes: Buffer, start: number, memory: HeaderCache): RequestHead | undefined {
  const blank = bytes.indexOf(headEnd, start);
  if (blank < 0 || blank - start > limits.fastPathHeadBytesMax) return undefined;
  const text = bytes.toString('latin1', start, blank);
  const lineEnd = text.indexOf('\r\n');
  const [, method, target] = (lineEnd < 0 ? null : requestLine.exec(text.slice(0, lineEnd))) ?? [];
  if (method === undefined || target === undefined) return undefined;
  const facts = memory.factsOf(text.slice(lineEnd + 2), text.length);
  if (facts === undefined) return undefined;
  const bodyAt = blank + headEnd.length;
  return { method, target, facts, bodyAt, end: bodyAt + facts.bodyBytes };
}

/** True for bytes that may be the beginning of a usual head. */
export function isHeadCut(bytes: Buffer): boolean {
  if (bytes.length >= limits.fastPathHeadBytesMax || bytes.indexOf(headEnd) >= 0) return false;
  const lineEnd = bytes.indexOf(0x0a);
  return lineEnd < 0 || bytes[lineEnd - 1] === 0x0d;
}

function readHeaders(text: string): RequestHeaders | undefined {
  const headers = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) return undefined;
    const key = name.toLowerCase();
    // Repeated headers are left to Node.js.
    if (headers.has(key) || framing.has(key)) return undefined;
    headers.set(key, value.trimEnd());
  }
  const length = headers.get('content-length');
  if (headers.get('host') === undefined || !/^\d{1,9}$/.test(length ?? '0')) return undefined;
  if (!/^keep-alive$/i.test(headers.get('connection') ?? 'keep-alive')) return undefined;
  const bodyBytes = Number(length ?? 0);
  const isUsual =
    bodyBytes > 0 &&
    bodyBytes <= limits.fastPathBodyBytesMax &&
    jsonTypes.has(headers.get('content-type') ?? '') &&
    !askingForMore.values().some((name) => headers.has(name));
  return {
    bodyBytes,
    isUsual,
    authorization: headers.get('authorization'),
    forwardedFor: headers.get('x-forwarded-for'),
    forwardedProto: headers.get('x-forwarded-proto'),
  };
}

/**
 * The whole request with which the bytes begin, where it may be a usual push: nothing else waits for a turn of pushes. The first of
 * a connection must be sent to `…/values`, because a sign-in looks alike.
 */
export function pushIn(
  bytes: Buffer,
  { headers, isFirst }: { readonly headers: HeaderCache; readonly isFirst: boolean },
): RequestHead | undefined {
  const head = readHead(bytes, 0, headers);
  const isPush = head?.method === 'POST' && head.facts.isUsual && head.end <= bytes.length;
  return isPush && (!isFirst || head.target.endsWith('/values')) ? head : undefined;
}
