// Interprets a provider's answer: sent, to be repeated, or failed. Senders pass on what they received and add what is
// specific to them. Reasons are phrased in our own words, because the provider's may contain phone numbers and
// addresses, which the rule's author must not see.
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, SendOutcome } from '../domain/notifications/outbox/sender.ts';

/** A failure of this address only: another address of the recipient may work. */
export interface Unreachable {
  readonly kind: 'failed';
  readonly reason: string;
  readonly code?: string;
  readonly tryNext: true;
}

export type AddressOutcome = SendOutcome | Unreachable;

/**
 * Tries the recipient's addresses one after the other, until one gives another outcome than `Unreachable`.
 * @param given `what`: what the recipient lacks where there are no addresses, such as "phone number"
 */
export async function toFirstReachable(
  message: OutgoingMessage,
  given: { readonly addresses: readonly string[] | undefined; readonly what: string },
  send: (address: string) => Promise<AddressOutcome>,
): Promise<SendOutcome> {
  let last = noAddress(message, given.what);
  for (const address of given.addresses ?? []) {
    const outcome = await send(address);
    if (!('tryNext' in outcome)) return outcome;
    const { tryNext: _, ...refused } = outcome;
    last = refused;
  }
  return last;
}

/** Interprets a status that is not specific to the message. */
export function outcomeOfStatus(
  provider: string,
  answer: { readonly status: number; readonly code?: string | undefined; readonly retryAfterS?: number | undefined },
): SendOutcome {
  const { status, code = String(status), retryAfterS } = answer;
  const wait = retryAfterS === undefined ? {} : { retryAfterS };
  if (status === 429) return { kind: 'retry', reason: `${provider} takes no more just now`, code, ...wait };
  if (status === 408 || status === 425 || status >= 500) {
    return { kind: 'retry', reason: `${provider} has a fault of its own (${status})`, code, ...wait };
  }
  if (status === 401 || status === 403) {
    return { kind: 'failed', reason: `${provider} refuses the credentials of this service`, code };
  }
  if (status >= 300 && status < 400) {
    return { kind: 'failed', reason: `${provider} points elsewhere (${status}), which is not followed`, code };
  }
  if (status >= 400) return { kind: 'failed', reason: `${provider} refuses the message (${code})`, code };
  return unreadable(provider, code);
}

/** The outcome for an answer that cannot be understood, perhaps written by something between us and the provider. */
export function unreadable(provider: string, code: string): SendOutcome {
  return { kind: 'retry', reason: `the answer of ${provider} cannot be understood`, code };
}

/**
 * Interprets an error instead of an answer. It is unknown whether the message arrived, so it is repeated under the
 * same id.
 */
export function outcomeOfError(provider: string, error: unknown, attempt: Attempt): SendOutcome {
  if (attempt.isStopped) return { kind: 'retry', reason: 'the service was stopped meanwhile', code: 'stopped' };
  if (attempt.isOver) {
    const seconds = Math.ceil(attempt.msMax / 1000);
    return { kind: 'retry', reason: `${provider} did not answer within ${seconds} s`, code: 'time-out' };
  }
  const [reason, code] = errorReason(codeOf(error));
  return { kind: 'retry', reason: `${provider} ${reason}`, code };
}

function errorReason(code: string): readonly [reason: string, code: string] {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EDNS')
    return ['has an address that cannot be looked up', code];
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return ['cannot be reached', code];
  if (code === 'ETIMEDOUT') return ['did not answer in time', code];
  if (code.startsWith('HPE_') || code === 'EPROTOCOL') return ['gave an answer that cannot be understood', code];
  if (/CERT|SSL|TLS|ALTNAME|SELF_SIGNED|ISSUER/.test(code)) return ['has a certificate that is not trusted', code];
  return ['cut the connection', /^E[A-Z_]+$/.test(code) ? code : 'cut'];
}

/** The code of the error or of its cause. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return cause === undefined ? '' : codeOf(cause);
}

/** The time limit of one attempt: `signal` aborts with the caller's signal, or when the time is up. */
export class Attempt {
  readonly msMax: number;
  readonly signal: AbortSignal;
  readonly #stopped: AbortSignal;
  readonly #over: AbortSignal;

  constructor(stopped: AbortSignal, msMax: number) {
    this.msMax = msMax;
    this.#stopped = stopped;
    this.#over = AbortSignal.timeout(msMax);
    this.signal = AbortSignal.any([stopped, this.#over]);
  }

  get isStopped(): boolean {
    return this.#stopped.aborted;
  }

  get isOver(): boolean {
    return this.#over.aborted;
  }
}

/** The seconds of `Retry-After`, a number or a date (RFC 9110 10.2.3), within a bound. */
export function retryAfterOf(headers: IncomingHttpHeaders, clock: Clock): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return boundedWait(Number(text));
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : boundedWait((atMs - clock.now()) / 1000);
}

/** Bounds the seconds that a provider asks us to wait. */
export function boundedWait(seconds: number): number | undefined {
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), limits.retryAfterSMax) : undefined;
}

/** The outcome where the recipient lacks an address; `what`: what is missing, such as "phone number". */
export function noAddress({ to }: OutgoingMessage, what: string): SendOutcome {
  return { kind: 'undelivered', reason: `${to.username} has no ${what}` };
}

/** Shortens the text to a channel's maximum in UTF-16 code units, with an ellipsis; never within a surrogate pair. */
export function shortened(text: string, charsMax: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= charsMax) return whole;
  const cut = whole.slice(0, charsMax - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}
