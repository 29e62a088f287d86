// What the answer of a provider means for the message: sent, again later, or never. Senders hand over what they got and
// add what only they know. Reasons are in our own words, because those of a provider hold phone numbers and addresses,
// and the author of a rule, who reads the reason, need not know those.
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, SendOutcome } from '../domain/notifications/outbox/sender.ts';

/** A refusal that concerns this address alone: the next one of the recipient may do. */
export interface Unreachable {
  readonly kind: 'failed';
  readonly reason: string;
  readonly code?: string;
  readonly tryNext: true;
}

export type AddressOutcome = SendOutcome | Unreachable;

/**
 * Tries one address of the recipient after the other until one is not refused as such.
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

/** What a status means that says nothing about the message in particular. */
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

/** An answer that is none: something between us and the provider may have given it. */
export function unreadable(provider: string, code: string): SendOutcome {
  return { kind: 'retry', reason: `the answer of ${provider} cannot be understood`, code };
}

/** What it means that no answer came. Whether the message arrived is not known then; a repeat carries the same id. */
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

/** The code of the error, or of what caused it. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return cause === undefined ? '' : codeOf(cause);
}

/** The time one try has: ends with the signal of the caller, or when it is up. */
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

/** Seconds that `Retry-After` asks for, as a number or a date (RFC 9110 10.2.3), within a bound. */
export function retryAfterOf(headers: IncomingHttpHeaders, clock: Clock): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return boundedWait(Number(text));
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : boundedWait((atMs - clock.now()) / 1000);
}

/** A provider that asks for a year is not believed. */
export function boundedWait(seconds: number): number | undefined {
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), limits.retryAfterSMax) : undefined;
}

export function noAddress({ to }: OutgoingMessage, what: string): SendOutcome {
  return { kind: 'undelivered', reason: `${to.username} has no ${what}` };
}

/** The text within what a channel takes; what is cut off is marked. Half a character is none. */
export function shortened(text: string, charsMax: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= charsMax) return whole;
  const cut = whole.slice(0, charsMax - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}
