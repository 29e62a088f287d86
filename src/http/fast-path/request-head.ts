// Where a request begins and ends among the bytes of a connection, and what its headers ask for, as far as that is beyond
// doubt: less than HTTP allows, and read alike by every parser. Whatever is unusual in the least is left to Node.js. Used
// by push-connection.ts and push-fast-path.ts.
import { limits } from '../../config/limits.ts';

/** What the headers of a request say. */
export interface RequestHeaders {
  /** Bytes of the body behind them. */
  readonly bodyBytes: number;
  /** True where nothing is asked for that a usual push does not. */
  readonly isUsual: boolean;
  readonly authorization: string | undefined;
  /** X-Forwarded-For, which counts only where the peer is a trusted proxy. */
  readonly forwardedFor: string | undefined;
}

/** A request among the bytes of a connection. */
export interface RequestHead {
  readonly method: string;
  /** As it was sent: nothing is unescaped, and a query still hangs on it. */
  readonly target: string;
  readonly facts: RequestHeaders;
  /** Index of the first byte of the body, and of the byte behind the last. */
  readonly bodyAt: number;
  readonly end: number;
}

const headEnd = Buffer.from('\r\n\r\n');
const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) ([!-~]+) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~][ -~]*)?$/;
/** Headers by which a request is framed in another way, or is the last of its connection. */
const framing = new Set(['transfer-encoding', 'upgrade', 'expect', 'trailer', 'proxy-connection']);
/** Headers that a push asks for something by, beside its being stored. */
const askingForMore = new Set(['idempotency-key', 'prefer', 'origin', 'content-encoding']);
const jsonTypes = new Set(['application/json', 'application/json; charset=utf-8']);

/** What headers were found to say. Those of a fleet are few texts, which come again with each request. */
export class HeaderCache {
  readonly #known = new Map<string, RequestHeaders | undefined>();

  /** Undefined where only Node.js can tell what they say. */
  factsOf(text: string): RequestHeaders | undefined {
    const known = this.#known.get(text);
    if (known !== undefined || this.#known.has(text)) return known;
    if (this.#known.size >= limits.fastPathHeadersMax) this.#known.clear();
    const facts = readHeaders(text);
    this.#known.set(text, facts);
    return facts;
  }
}

/** The request that begins at an index; undefined where its head is not there whole, or only Node.js can read it. */
export function readHead(bytes: Buffer, start: number, memory: HeaderCache): RequestHead | undefined {
  const blank = bytes.indexOf(headEnd, start);
  if (blank < 0 || blank - start > limits.fastPathHeadBytesMax) return undefined;
  const text = bytes.toString('latin1', start, blank);
  const lineEnd = text.indexOf('\r\n');
  const [, method, target] = (lineEnd < 0 ? null : requestLine.exec(text.slice(0, lineEnd))) ?? [];
  if (method === undefined || target === undefined) return undefined;
  const facts = memory.factsOf(text.slice(lineEnd + 2));
  if (facts === undefined) return undefined;
  const bodyAt = blank + headEnd.length;
  return { method, target, facts, bodyAt, end: bodyAt + facts.bodyBytes };
}

/** True for bytes that may be the beginning of a usual head, without its end. */
export function isHeadCut(bytes: Buffer): boolean {
  return bytes.length < limits.fastPathHeadBytesMax && bytes.indexOf(headEnd) < 0;
}

function readHeaders(text: string): RequestHeaders | undefined {
  const headers = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) return undefined;
    const key = name.toLowerCase();
    // What is said twice is for those who know which of them counts.
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
  };
}
