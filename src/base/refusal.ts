// Expected failures. The domain throws a Refusal with a code from a closed list; HTTP, MQTT and the command line each
// have one table that translates the code.

export type RefusalCode =
  | 'malformed' // the request cannot be understood or breaks a rule of its fields
  | 'unauthenticated' // wrong login, bad token, or a sign-in is needed
  | 'forbidden' // the caller is known but lacks the right
  | 'not-found' // there is no such record
  | 'exists' // the id already exists
  | 'conflict' // the request is understood, but the present state does not allow it
  | 'too-large' // beyond a named bound
  | 'unsupported' // this kind of content is not accepted here
  | 'quota' // the owner's quota is used up
  | 'too-many' // the caller asked too often; a later try may succeed
  | 'busy' // a queue is full; a later try may succeed
  | 'full' // the storage quota is reached; succeeds again after something was removed
  | 'storage' // the disk refused; nothing was stored
  | 'damaged'; // the stored data cannot be read

/** Whether the cause is temporary and on our side: the same request may succeed later. */
export function isTransient({ code }: Refusal): boolean {
  return code === 'busy' || code === 'storage' || code === 'full';
}

/** A fault in one field: a JSON pointer, and what would be right. */
export interface FieldFault {
  readonly pointer: string;
  readonly detail: string;
}

/** A sentence by its code and what it names, for clients that say it in another language than the message's. */
export interface Said {
  readonly code: string;
  readonly params?: Readonly<Record<string, string | number>>;
}

export interface RefusalOptions {
  /** The message by its code, where a client has words of its own for it. */
  readonly said?: Said;
  readonly cause?: unknown;
  readonly faults?: readonly FieldFault[];
  /** When to try again, in seconds. */
  readonly retryAfterS?: number;
  readonly quota?: QuotaBreach | undefined;
}

/** The quota that was exceeded, its use and its limit. */
export interface QuotaBreach {
  readonly kind: string;
  readonly used: number;
  readonly limit: number;
}

/** An expected failure with a message for the caller; the internal reason is in `cause`. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly faults: readonly FieldFault[];
  readonly retryAfterS: number | undefined;
  /** Set where the code is `quota`. */
  readonly quota: QuotaBreach | undefined;
  readonly said: Said | undefined;

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    // Without a stack: it is of no use for an expected failure, and capturing it costs several times the rest of a
    // refused line, of which a request may have 30 000. The cause keeps its own.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.code = code;
    this.faults = options.faults ?? [];
    this.retryAfterS = options.retryAfterS;
    this.quota = options.quota;
    this.said = options.said;
  }

  static ofQuota(quota: QuotaBreach): Refusal {
    return new Refusal('quota', quotaDetail(quota), { quota });
  }
}

function quotaDetail({ kind, used, limit }: QuotaBreach): string {
  if (kind.startsWith('handed_over_')) {
    return `Within 30 days no more is handed over than its owner may have, and of ${kind.slice('handed_over_'.length)} ${used} of ${limit} are. An admin can hand over more.`;
  }
  if (kind.startsWith('received_')) {
    return 'The new owner has been handed as much as may be without an answer. They can keep what they were handed, give it back or delete it; an admin can hand over more.';
  }
  return `The quota ${kind} of who would be charged for this does not allow it: ${used} of ${limit} are used. Remove something, or ask an admin for more.`;
}
