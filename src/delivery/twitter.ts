// Sends direct messages on X (formerly Twitter), through twitter-api-v2, to the first account of the recipient that
// works. Accounts are given by id or name; ids of names are cached for a while.
import { Agent, type IncomingMessage } from 'node:http';
import type { ApiPartialResponseError, ApiResponseError, TwitterApi } from 'twitter-api-v2';
import { entryBytes, textHeapBytes } from '../base/memory/heap-bytes.ts';
import { LruCache } from '../base/memory/lru-cache.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import {
  type AddressOutcome,
  Attempt,
  boundedWait,
  outcomeOfError,
  outcomeOfStatus,
  retryAfterOf,
  shortened,
  toFirstReachable,
  unreadable,
} from './send-outcome.ts';

export interface TwitterOptions {
  readonly appKey: string;
  readonly appSecret: string;
  readonly accessToken: string;
  readonly accessSecret: string;
  /** Base URL of the API. */
  readonly url: string;
}

interface CachedAccountId {
  readonly id: string;
  readonly atMs: number;
}

const provider = 'X';

export class TwitterSender implements Sender {
  readonly channel = 'twitter';
  readonly perSMax = limits.twitterPerSMax;
  readonly #options: TwitterOptions;
  readonly #clock: Clock;
  readonly #msMax: number;
  /** Cached ids of accounts, by name in lower case. */
  readonly #ids = new LruCache<string, CachedAccountId>({
    weightMax: limits.accountNamesBytesMax,
    entriesMax: limits.accountNamesMax,
    weigh: ({ id }, name) => 2 * entryBytes + textHeapBytes(name) + textHeapBytes(id),
  });
  /** An agent without TLS where the URL is plain HTTP; undefined: the client library uses TLS. */
  readonly #agent: Agent | undefined;

  constructor(options: TwitterOptions, { clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.#options = options;
    this.#clock = clock;
    this.#msMax = msMax;
    this.#agent = options.url.startsWith('http:') ? new Agent({ keepAlive: true }) : undefined;
  }

  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const given = { addresses: message.to.twitter, what: 'account on X' };
    return toFirstReachable(message, given, (account) => this.#sendTo(account, message, signal));
  }

  async #sendTo(account: string, { id, text }: OutgoingMessage, stopped: AbortSignal): Promise<AddressOutcome> {
    const attempt = new Attempt(stopped, this.#msMax);
    try {
      const client = await this.#client(attempt.signal);
      const participant = await this.#idOf(account, client);
      if (typeof participant !== 'string') return participant;
      const answer = await client.v2.post<unknown>(
        'dm_conversations/with/:participant_id/messages',
        { text: shortened(text, limits.directMessageCharsMax) },
        { ...this.#request, params: { participant_id: participant }, headers: { 'idempotency-key': id } },
      );
      return idIn(answer, 'dm_event_id') === undefined ? unreadable(provider, 'answer') : { kind: 'sent', code: '201' };
    } catch (error) {
      return this.#ofError(error, attempt);
    }
  }

  /** The id of the account; an outcome where the name does not exist. */
  async #idOf(account: string, client: TwitterApi): Promise<string | AddressOutcome> {
    // Ids have been at least five digits long for twenty years, so shorter numbers are names.
    if (/^\d{5,19}$/.test(account)) return account;
    if (!/^\w{1,15}$/.test(account)) return noSuchAccount('name');
    const name = account.toLowerCase();
    const known = this.#ids.get(name);
    // A name can pass to another account, an id cannot.
    if (known !== undefined && this.#clock.elapsedMs() - known.atMs < limits.accountNameMs) return known.id;
    const answer = await client.v2.get<unknown>(
      'users/by/username/:username',
      {},
      { ...this.#request, params: { username: account } },
    );
    const id = idIn(answer, 'id');
    if (id === undefined) return hasErrors(answer) ? noSuchAccount('404') : unreadable(provider, 'answer');
    this.#ids.set(name, { id, atMs: this.#clock.elapsedMs() });
    return id;
  }

  get #request() {
    return { prefix: `${this.#options.url}/2/`, requestEventDebugHandler: boundAnswer };
  }

  async #client(signal: AbortSignal): Promise<TwitterApi> {
    const { TwitterApi } = await import('twitter-api-v2');
    const { appKey, appSecret, accessToken, accessSecret } = this.#options;
    const deadlinePlugin = {
      onBeforeRequest: ({ requestOptions }: { requestOptions: object }) =>
        void Object.assign(requestOptions, { signal }),
    };
    const agent = this.#agent === undefined ? {} : { httpAgent: this.#agent };
    return new TwitterApi(
      { appKey, appSecret, accessToken, accessSecret },
      { ...agent, plugins: [deadlinePlugin], compression: 'identity' },
    );
  }

  #ofError(error: unknown, attempt: Attempt): AddressOutcome {
    const { type } = error as { readonly type?: string };
    if (type === 'response') return this.#ofResponse(error as ApiResponseError);
    if (type === 'partial-response' && (error as ApiPartialResponseError).response.statusCode === 201) {
      // The message was sent; only the answer was cut.
      return { kind: 'sent', code: '201' };
    }
    if (type === 'partial-response' && !attempt.signal.aborted) {
      return unreadable(provider, String((error as ApiPartialResponseError).response.statusCode));
    }
    return outcomeOfError(provider, causeOf(error), attempt);
  }

  #ofResponse({ code, data, headers, rateLimit }: ApiResponseError): AddressOutcome {
    if (code === 429) {
      const resetS = rateLimit?.reset;
      const waitS = resetS === undefined ? undefined : boundedWait(resetS - this.#clock.now() / 1000);
      return outcomeOfStatus(provider, { status: 429, retryAfterS: retryAfterOf(headers, this.#clock) ?? waitS });
    }
    if (code === 404) return noSuchAccount('404');
    // An error without a specific type concerns this recipient; errors about our account have one.
    const type = typeof data === 'object' && data !== null ? (data as { readonly type?: unknown }).type : undefined;
    if (code === 403 && (type === undefined || type === 'about:blank')) {
      return {
        kind: 'failed',
        reason: 'the account on X takes no direct messages from this service',
        code: '403',
        tryNext: true,
      };
    }
    return outcomeOfStatus(provider, { status: code });
  }
}

function noSuchAccount(code: string): AddressOutcome {
  return { kind: 'failed', reason: 'there is no such account on X', code, tryNext: true };
}

/** Cuts answers that are too long, because the client library reads answers of any length. */
function boundAnswer(event: string, { res }: { readonly res?: IncomingMessage } = {}): void {
  if (event !== 'response' || res === undefined) return;
  let bytes = 0;
  res.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limits.providerAnswerBytesMax) res.destroy();
  });
}

/** A text in the answer's `data`. */
function idIn(answer: unknown, field: string): string | undefined {
  const data = (answer as { readonly data?: { readonly [field: string]: unknown } } | undefined)?.data;
  const id = typeof data === 'object' && data !== null ? data[field] : undefined;
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function hasErrors(answer: unknown): boolean {
  return Array.isArray((answer as { readonly errors?: unknown } | undefined)?.errors);
}

/** The client library wraps network errors in its own. */
function causeOf(error: unknown): unknown {
  const { _options: options } = error as {
    readonly _options?: { readonly error?: unknown; readonly responseError?: unknown };
  };
  return options?.error ?? options?.responseError ?? error;
}
