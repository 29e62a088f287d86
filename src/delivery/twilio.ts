// A Twilio account for text messages and calls, by Twilio's client library. Its requests go through `post`, so that
// they are bounded, can be aborted, may go to a compatible gateway, and carry the message's id. Used by sms.ts and
// voice.ts.
import type { Twilio } from 'twilio';
import type { Clock } from '../base/time/clock.ts';
import type { OutgoingMessage } from '../domain/notifications/outbox/sender.ts';
import { objectOf, type ProviderResponse, post } from './post.ts';
import { type AddressOutcome, Attempt, outcomeOfError, outcomeOfStatus, retryAfterOf } from './send-outcome.ts';

export interface TwilioOptions {
  /** `AC…` */
  readonly accountSid: string;
  /** `SK…`; empty: the account signs in with its own token. */
  readonly apiKey: string;
  /** Token of the account, or secret of the API key. */
  readonly token: string;
  /** A number, a sender name, or a messaging service (`MG…`). */
  readonly from: string;
  /** The phone number that calls come from. */
  readonly voiceFrom: string;
  /** Language of the voice, such as fr-FR. */
  readonly voiceLanguage: string;
  /** Base URL of the API. */
  readonly url: string;
}

/** The request that the client library passes on (twilio's RequestClient). */
interface ClientRequest {
  readonly uri: string;
  readonly username?: string;
  readonly password?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, unknown>>;
}

const provider = 'Twilio';

export class TwilioAccount {
  readonly options: TwilioOptions;
  readonly #clock: Clock;
  readonly #msMax: number;

  constructor(options: TwilioOptions, { clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.options = options;
    this.#clock = clock;
    this.#msMax = msMax;
  }

  /** Creates a message or a call by one request. */
  async create(
    create: (client: Twilio) => Promise<unknown>,
    { id }: OutgoingMessage,
    stopped: AbortSignal,
  ): Promise<AddressOutcome> {
    const attempt = new Attempt(stopped, this.#msMax);
    let answer: ProviderResponse | undefined;
    try {
      await create(
        await this.#client(async (request) => {
          answer = await this.#request(request, { id, signal: attempt.signal });
          return { statusCode: answer.status, body: answer.text, headers: answer.headers };
        }),
      );
    } catch (error) {
      // The raw answer says more than the client library's error.
      if (answer === undefined) return outcomeOfError(provider, error, attempt);
    }
    return answer === undefined ? outcomeOfError(provider, undefined, attempt) : this.#outcome(answer);
  }

  async #client(request: (request: ClientRequest) => Promise<unknown>): Promise<Twilio> {
    // Loaded only where needed: it takes half a second and 20 MB.
    const { default: twilio } = await import('twilio');
    const { accountSid, apiKey, token } = this.options;
    // The client library uses only `request` of its HTTP client.
    const httpClient = { request } as never;
    return twilio(apiKey === '' ? accountSid : apiKey, token, { accountSid, httpClient, edge: '', region: '' });
  }

  #request(request: ClientRequest, { id, signal }: { readonly id: string; readonly signal: AbortSignal }) {
    const { pathname, search } = new URL(request.uri);
    const fields = Object.entries(request.data ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const basic = Buffer.from(`${request.username}:${request.password}`).toString('base64');
    return post(new URL(`${this.options.url}${pathname}${search}`), {
      headers: { ...request.headers, authorization: `Basic ${basic}`, 'idempotency-key': id },
      body: new URLSearchParams(fields).toString(),
      signal,
    });
  }

  #outcome(answer: ProviderResponse): AddressOutcome {
    // 201 means created, whatever the body of a gateway says: a second text message must not be sent.
    if (answer.status === 201) return { kind: 'sent', code: '201' };
    const body = objectOf(answer.text);
    const code = typeof body?.['code'] === 'number' ? String(body['code']) : undefined;
    const ofNumber = numberFaults[code ?? ''];
    if (ofNumber !== undefined) return { kind: 'failed', reason: ofNumber, code: code ?? '', tryNext: true };
    const ofAccount = accountFaults[code ?? ''];
    if (ofAccount !== undefined) return { kind: 'failed', reason: ofAccount, code: code ?? '' };
    const retryAfterS = retryAfterOf(answer.headers, this.#clock);
    // 21611: the sender's queue is full, which is temporary.
    if (code === '21611') return outcomeOfStatus(provider, { status: 429, code, retryAfterS });
    return outcomeOfStatus(provider, { status: answer.status, code, retryAfterS });
  }
}

/** Twilio's error codes about the recipient's number (twilio.com/docs/api/errors). */
const numberFaults: Readonly<Record<string, string>> = {
  '21211': 'the phone number is not valid',
  '21214': 'the phone number cannot be reached',
  '21217': 'the phone number is not valid',
  '21401': 'the phone number is not valid',
  '21612': 'the phone number cannot be reached from the number of this service',
  '21614': 'the phone number takes no text messages',
  '21610': 'the recipient has asked to get no more messages (STOP)',
  '21265': 'the phone number is a short code, which gets no messages',
  '21408': 'the account at Twilio may not send to this country',
  '21215': 'the account at Twilio may not call this country',
  '21608': 'the trial account at Twilio sends to verified numbers alone',
  '21219': 'the trial account at Twilio calls verified numbers alone',
};

/** Twilio's error codes about this service's settings. */
const accountFaults: Readonly<Record<string, string>> = {
  '20003': 'Twilio refuses the credentials of this service',
  '20404': 'Twilio does not know the account of this service',
  '21210': 'the number that calls (DUNDUN_TWILIO_VOICE_FROM) is not one of the account',
  '21212': 'the sender (DUNDUN_TWILIO_FROM) is not valid',
  '21603': 'there is no sender (DUNDUN_TWILIO_FROM)',
  '21606': 'the sender (DUNDUN_TWILIO_FROM) sends no text messages',
  '21659': 'the sender (DUNDUN_TWILIO_FROM) is not one of the account',
  '21660': 'the sender (DUNDUN_TWILIO_FROM) is not one of the account',
  '21617': 'the message is too long',
};
