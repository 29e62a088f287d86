// One POST to a provider over HTTP, bounded in time and in the size of the answer; redirects are not followed. Used by
// every sender that speaks HTTP itself. What goes wrong on the way is told in our own words: an error of the network may
// hold an address, and that belongs to the recipient.
import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { limits } from '../config/limits.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the request: its time is up, or the service stops. */
  readonly signal: AbortSignal;
  readonly agent?: Agent;
  readonly lookup?: LookupFunction;
}

/** @throws Error when no whole answer came; `troubleOf` says what it means. */
export function post(url: URL, { headers, body, ...options }: Sent): Promise<Answer> {
  const request = url.protocol === 'https:' ? tlsRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const sent = request(url, { ...options, method: 'POST', headers: { ...headers, 'content-length': length } });
    sent.on('error', reject);
    sent.on('response', (response) => {
      readText(response).then((text) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      }, reject);
    });
    sent.end(body);
  });
}

/** The answer up to a bound; what is longer is none of the answers that we understand. */
async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limits.providerAnswerBytesMax) {
      response.destroy();
      break;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The text as a JSON object; undefined where it is none. */
export function objectOf(text: string): { readonly [field: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { readonly [field: string]: unknown })
      : undefined;
  } catch {
    return undefined;
  }
}
