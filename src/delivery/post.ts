// One POST to a provider over HTTP, bounded in time and in the size of the answer; redirects are not followed. Used by
// every sender that speaks HTTP itself. What goes wrong on the way is told in our own words: an error of the network may
// hold an address, and that belongs to the recipient.
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
  /** Ends the request: its time is up, or the service stops. */
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
/** A burst of messages shares a few connections: a handshake costs more than a message. */
const plainAgent = new Agent(kept);
const tlsAgent = new TlsAgent(kept);

/** @throws Error when no whole answer came; `outcomeOfError` says what it means. */
export async function post(url: URL, sent: PostOptions): Promise<ProviderResponse> {
  const first = await once(url, sent);
  if (!('stale' in first)) return first;
  // The other side had closed a connection that was kept: nothing says anything about it but a new one.
  const second = await once(url, sent, { agent: false });
  if ('stale' in second) throw second.stale;
  return second;
}

/** One request; `stale` where it went out on a kept connection that was cut before anything came back. */
function once(
  url: URL,
  { headers, body, ...options }: PostOptions,
  anew: { readonly agent?: false } = {},
): Promise<ProviderResponse | { readonly stale: Error }> {
  const isTls = url.protocol === 'https:';
  const request = isTls ? tlsRequest : plainRequest;
  const agent = isTls ? tlsAgent : plainAgent;
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const bounded = { ...headers, 'content-length': length };
    const sent = request(url, { agent, ...options, ...anew, method: 'POST', headers: bounded });
    let hasAnswer = false;
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && !hasAnswer && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      if (isStale) resolve({ stale: error });
      else reject(error);
    });
    // A change of protocol ends it with neither an error nor an answer.
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
