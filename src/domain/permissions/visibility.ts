// Visibility of devices and gateways, and its rules for guest (spec 5.5, contract 3).
import { Refusal } from '../../base/refusal.ts';
import { type Actor, guestUsername } from '../users/user.ts';

/** Who sees a record: everybody, or only users who have a right on it. */
export type Visibility = 'public' | 'private';

/** The visibility of a new record: public for guest, otherwise as asked for, or the default. */
export function visibilityOfNew(actor: Actor, asked: Visibility | undefined, fallback: Visibility): Visibility {
  return actor.guest ? 'public' : (asked ?? fallback);
}

/**
 * Checks a change of visibility. @throws Refusal `forbidden` when guest, or a record of guest's, would become
 * private.
 */
export function assertMayChangeVisibility(
  visibility: Visibility | undefined,
  by: { readonly actor: Actor; readonly owner: string },
): void {
  if (visibility !== 'private' || !(by.actor.guest || by.owner === guestUsername)) return;
  throw new Refusal('forbidden', 'What guest owns is public. Hand it over to a user first.');
}

/** Checks a new owner. @throws Refusal `conflict` when a private record would become guest's. */
export function assertMayOwn(username: string, record: { readonly kind: string; readonly visibility: Visibility }) {
  if (username !== guestUsername || record.visibility === 'public') return;
  throw new Refusal(
    'conflict',
    `What guest owns is public. Make the ${record.kind} public before handing it to guest.`,
  );
}
