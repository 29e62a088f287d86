// Heads of requests whose lines end in bare line feeds, as microcontrollers send them, put into the form that HTTP/1.1
// demands (RFC 9112 section 2.2 lets a recipient take a bare LF for the end of a line). Used by push-connection.ts, before
// Node.js, whose parser refuses them.
//
// Nobody may smuggle a request past a proxy with them. A proxy that ends lines at CRLF alone would see other headers where
// a bare LF stands between lines that it reads; so the request line has to end in a bare LF: such a proxy finds no
// request line that it could pass on. And the end of the body must be certain: one Content-Length at most, in digits, no
// Transfer-Encoding, no continued line, no CR within a line. Every other head goes to Node.js as it came, which answers 400.
import { limits } from '../../config/limits.ts';

/** A request with its head in CRLF, and the index of the byte behind its body. */
export interface MendedRequest {
  readonly bytes: Buffer;
  readonly end: number;
}

const lf = 0x0a;
const cr = 0x0d;
const requestLine = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [!-~]+ HTTP\/1\.[01]$/;
/** A text that may become a request line. */
const requestLineBegun =
  /^[A-Z]{1,7}(?: (?:[!-~]+(?: (?:H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.[01]\r?)?)?)?)?$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?:[!-~\x80-\xff][\t -~\x80-\xff]*)?$/;
/** Headers by which the request, or the connection, may end elsewhere than Content-Length says. */
const doubtful = new Set(['transfer-encoding', 'upgrade', 'expect', 'trailer', 'te', 'proxy-connection']);

/**
 * Looks at the bytes where a request begins.
 * @returns the request mended; `begun` where more bytes have to come before that is known; undefined where it is for Node.js
 * as it is.
 */
function mendBareLines(bytes: Buffer): MendedRequest | 'begun' | undefined {
  const start = behindEmptyLines(bytes);
  const firstEnd = bytes.indexOf(lf, start);
  if (firstEnd < 0) {
    if (bytes.length >= limits.bareHeadBytesMax) return undefined;
    return start === bytes.length || requestLineBegun.test(bytes.toString('latin1', start)) ? 'begun' : undefined;
  }
  if (bytes[firstEnd - 1] === cr) return undefined;
  if (!requestLine.test(bytes.toString('latin1', start, firstEnd))) return undefined;
  const bodyAt = bodyStart(bytes, firstEnd);
  if (bodyAt < 0) return bytes.length < limits.bareHeadBytesMax ? 'begun' : undefined;
  if (bodyAt - start > limits.bareHeadBytesMax) return undefined;
  const lines = bytes.toString('latin1', start, bodyAt).split(/\r?\n/).slice(0, -2);
  const bodyBytes = bodyBytesOf(lines.slice(1));
  if (bodyBytes === undefined) return undefined;
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return { bytes: Buffer.concat([head, bytes.subarray(bodyAt)]), end: head.length + bodyBytes };
}

/** The head of one connection's next request while it comes in pieces. */
export class BareHead {
  /** Since when it is held, by the clock of the event loop. */
  #sinceMs = Number.NaN;

  /**
   * As `mendBareLines`. Node.js has not seen what has begun, so for a later request of a connection the time of the head is measured
   * here, as each piece comes, and the head is for Node.js when it is over; the first one has Node.js's time-out.
   */
  mend(bytes: Buffer): MendedRequest | 'begun' | undefined {
    const mended = mendBareLines(bytes);
    if (mended !== 'begun') return mended;
    const nowMs = performance.now();
    if (Number.isNaN(this.#sinceMs)) this.#sinceMs = nowMs;
    return nowMs - this.#sinceMs > limits.headMsMax ? undefined : mended;
  }

  /** It is there, or is none of this kind. */
  end(): void {
    this.#sinceMs = Number.NaN;
  }
}

/** Index behind the line ends before a request, which clients send after a body (RFC 9112 section 2.2). */
function behindEmptyLines(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === lf || (bytes[at] === cr && (bytes[at + 1] === lf || at + 1 === bytes.length))) at += 1;
  return at;
}

/** Index behind the empty line that ends the head; negative where it has not come. */
function bodyStart(bytes: Buffer, firstEnd: number): number {
  for (let end = firstEnd; end >= 0; ) {
    if (bytes[end + 1] === lf) return end + 2;
    if (bytes[end + 1] === cr && bytes[end + 2] === lf) return end + 3;
    end = bytes.indexOf(lf, end + 1);
  }
  return -1;
}

/** Length of the body by the header lines; undefined where it is in doubt. */
function bodyBytesOf(lines: readonly string[]): number | undefined {
  let bodyBytes: number | undefined;
  for (const line of lines) {
    const [, name] = headerLine.exec(line) ?? [];
    if (name === undefined) return undefined;
    const key = name.toLowerCase();
    if (doubtful.has(key)) return undefined;
    if (key !== 'content-length') continue;
    const [, length] = /^:[ \t]*(\d{1,9})[ \t]*$/.exec(line.slice(name.length)) ?? [];
    if (length === undefined || bodyBytes !== undefined) return undefined;
    bodyBytes = Number(length);
  }
  return bodyBytes ?? 0;
}
