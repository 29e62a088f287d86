// Sends messages of a Telegram bot by its HTTP API (core.telegram.org/bots/api), to the first chat of the recipient
// that accepts one. The URL contains the token, so it never appears in a reason or a log line.
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { objectOf, type ProviderResponse, post } from './post.ts';
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

export interface TelegramOptions {
  readonly token: string;
  /** Base URL of the API. */
  readonly url: string;
}

const provider = 'Telegram';

export class TelegramSender implements Sender {
  readonly channel = 'telegram';
  readonly perSMax = limits.telegramPerSMax;
  readonly #options: TelegramOptions;
  readonly #clock: Clock;
  readonly #msMax: number;

  constructor(options: TelegramOptions, { clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.#options = options;
    this.#clock = clock;
    this.#msMax = msMax;
  }

  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const given = { addresses: message.to.telegram, what: 'chat with the Telegram bot' };
    return toFirstReachable(message, given, (chat) => this.#sendTo(chat, message, signal));
  }

  async #sendTo(chat: string, { id, text }: OutgoingMessage, stopped: AbortSignal): Promise<AddressOutcome> {
    const attempt = new Attempt(stopped, this.#msMax);
    const { url, token } = this.#options;
    const body = {
      chat_id: chat,
      text: shortened(text, limits.telegramCharsMax),
      link_preview_options: { is_disabled: true },
    };
    try {
      const answer = await post(new URL(`${url}/bot${token}/sendMessage`), {
        headers: { 'content-type': 'application/json', 'idempotency-key': id },
        body: JSON.stringify(body),
        signal: attempt.signal,
      });
      return this.#outcome(answer);
    } catch (error) {
      return outcomeOfError(provider, error, attempt);
    }
  }

  #outcome({ status, headers, text }: ProviderResponse): AddressOutcome {
    const body = objectOf(text);
    if (status < 300)
      return body?.['ok'] === true ? { kind: 'sent', code: String(status) } : unreadable(provider, String(status));
    const code = String(status);
    if (status === 400 || status === 403) return { kind: 'failed', reason: refusal(status, body), code, tryNext: true };
    // 404 means that the URL has no valid bot, that is, a wrong token.
    if (status === 404) return outcomeOfStatus(provider, { status: 401, code });
    const { retry_after: waitS } = (body?.['parameters'] ?? {}) as { readonly retry_after?: unknown };
    const retryAfterS = typeof waitS === 'number' ? boundedWait(waitS) : retryAfterOf(headers, this.#clock);
    return outcomeOfStatus(provider, { status, retryAfterS });
  }
}

/** The reason in our words. Telegram says it only as text. */
function refusal(status: number, body: { readonly [field: string]: unknown } | undefined): string {
  const words = typeof body?.['description'] === 'string' ? body['description'] : '';
  if (/blocked by the user/i.test(words)) return 'the recipient has blocked the Telegram bot';
  if (/can't initiate conversation/i.test(words)) return 'the recipient has not started the Telegram bot yet';
  if (/deactivated/i.test(words)) return 'the account on Telegram is closed';
  if (/upgraded to a supergroup/i.test(words)) return 'the Telegram group has got another number';
  if (/not found|PEER_ID_INVALID/i.test(words))
    return 'the Telegram bot knows no such chat; the recipient has to start it';
  return status === 403 ? 'the Telegram bot may not write to this chat' : 'Telegram refuses the message (400)';
}
