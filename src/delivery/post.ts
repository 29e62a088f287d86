// One POST to a provider over HTTP, bounded in time and size of the answer; redirects are not followed. Used by all
// senders that speak HTTP themselves. Errors are phrased in our own words, because network errors may contain the
// recipient's address.
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { limits } from '../config/limits.ts';

export interface ProviderResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Aborts the request: its time is up, or the service stops. */
  readonly signal: AbortSignal;
  readonly agent?: Agent;
  readonly lookup?: LookupFunction;
}

const kept = {
  keepAlive: true,
  timeout: limits.providerKeptMs,
  maxSockets: limits.providerConnectionsMax,
  maxFreeSockets: limits.providerConnectionsMax,
};
/** Keep-alive: a handshake costs more than a message. */
const plainAgent = new Agent(kept);
const tlsAgent = new TlsAgent(kept);

/** Sends the POST. @throws Error when no complete answer came; `outcomeOfError` interprets it. */
export async function post(url: URL, sent: PostOptions): Promise<ProviderResponse> {
  const first = await once(url, sent);
  if (!('stale' in first)) return first;
  // The provider had closed a kept connection, which says nothing about its state: tries once on a new one.
  const second = await once(url, sent, { agent: false });
  if ('stale' in second) throw second.stale;
  return second;
}

/** Sends one request. Returns `stale` where it went out on a kept connection that closed before any answer. */
function once(
  url: URL,
  { headers, body, ...options }: PostOptions,
  overrides: { readonly agent?: false } = {},
): Promise<ProviderResponse | { readonly stale: Error }> {
  const isTls = url.protocol === 'https:';
  const request = isTls ? tlsRequest : plainRequest;
  const agent = isTls ? tlsAgent : plainAgent;
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const bounded = { ...headers, 'content-length': length };
    const sent = request(url, { agent, ...options, ...overrides, method: 'POST', headers: bounded });
    let hasAnswer = false;
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && !hasAnswer && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      if (isStale) resolve({ stale: error });
      else reject(error);
    });
    // A 101 answer leads to neither an error nor a response event.
    sent.on('close', () => {
      if (!hasAnswer) reject(Object.assign(new Error('no answer came'), { code: 'ECONNRESET' }));
    });
    sent.on('response', (response) => {
      hasAnswer = true;
      readText(response).then((text) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      }, reject);
    });
    sent.end(body);
  });
}

/**
 * The text of the answer. It is cut at `providerAnswerBytesMax` bytes: no answer that a sender understands is longer.
 */
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

/** The text as a JSON object; undefined where it is something else. */
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
