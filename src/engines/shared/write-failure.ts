// Why a write failed, and the error that its caller gets. Each engine translates the errors of its database into these reasons
// (database-error.ts).
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { LeaseLost } from '../../domain/lease-lost.ts';

export interface WriteFailure {
  /**
   * `exists`: an id is taken; `quota`: the message names the quota, its use and its limit; `growth`: the data may not
   * grow; `gone`: the record that the row belongs to was removed meanwhile; `storage`: the disk or the database refused;
   * `unsealed`: the head is full, because sealing fails; `fenced`: the lease of this name was taken with a greater epoch;
   * `damaged`: an edit of datapoints met damage and ended, and the message is the detail for its caller; `internal`: any
   * other error.
   */
  readonly kind: 'exists' | 'quota' | 'growth' | 'gone' | 'storage' | 'unsealed' | 'fenced' | 'damaged' | 'internal';
  readonly message: string;
  /** The disk is full, as far as the database can tell. */
  readonly isFull?: true;
  /** A page of the database is damaged: to try again is of no use. */
  readonly isDamaged?: true;
}

/** The error with which a failed write rejects. */
export function refusalOf({ kind, message }: WriteFailure): Error {
  if (kind === 'exists') return new Refusal('exists', 'This id is taken.', { cause: message });
  if (kind === 'quota') return quotaRefusal(message);
  if (kind === 'growth') return growthRefusal();
  if (kind === 'gone') return new Refusal('not-found', 'The record was removed meanwhile.', { cause: message });
  if (kind === 'fenced') return new LeaseLost(message);
  if (kind === 'damaged') return new Refusal('damaged', message);
  if (kind === 'unsealed') return unsealedRefusal(new Error(message));
  return kind === 'storage' ? storageRefusal(new Error(message)) : new Error(message);
}

/** @param message `quota <kind> <used> <limit>`, raised by the triggers of quotas. */
function quotaRefusal(message: string): Refusal {
  const [, kind = '', used, limit] = message.split(' ');
  return Refusal.ofQuota({ kind, used: Number(used), limit: Number(limit) });
}

export function stoppingRefusal(): Refusal {
  return new Refusal('busy', 'The service is stopping. Send the request again.', {
    retryAfterS: limits.busyRetryAfterS,
  });
}

function growthRefusal(): Refusal {
  return new Refusal(
    'full',
    'There is no room for more: the data or the disk is full. Nothing of this request was stored. What is removed or made smaller makes room.',
    { retryAfterS: limits.storageFullRetryAfterS },
  );
}

export function storageRefusal(cause: Error): Refusal {
  return new Refusal(
    'storage',
    'The storage refused to write. Nothing of this request was stored; send it again later.',
    { cause, retryAfterS: limits.storageRetryAfterS },
  );
}

/** Where the connection to the database broke during a commit, and has not come back in time to say what became of it. */
export function unknownOutcome(cause: unknown): Refusal {
  return new Refusal(
    'storage',
    'The database went away while this request was being stored. Whether it was stored is not known yet: look before you send it again, or send it under the same Idempotency-Key.',
    { cause, retryAfterS: limits.storageRetryAfterS },
  );
}

function unsealedRefusal(cause: Error): Refusal {
  return new Refusal(
    'storage',
    'No more datapoints can be held until the storage can compress those it has, which fails. Nothing of this request was stored; send it again later.',
    { cause, retryAfterS: limits.storageRetryAfterS },
  );
}
