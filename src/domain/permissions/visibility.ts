// Visibility of devices and gateways, and its rules for guest (spec 5.5, contract 3).
import { Refusal } from '../../base/refusal.ts';
import { type Actor, guestUsername } from '../users/user.ts';

/** Who sees a record: everybody, or those who hold a right on it. */
export type Visibility = 'public' | 'private';

/** Records of guest are public; others as asked for, or by default. */
export function visibilityOfNew(actor: Actor, asked: Visibility | undefined, fallback: Visibility): Visibility {
  return actor.guest ? 'public' : (asked ?? fallback);
}

/** @throws Refusal `forbidden` when a record of guest, or a record by guest, would become private. */
export function assertMayChangeVisibility(
  visibility: Visibility | undefined,
  by: { readonly actor: Actor; readonly owner: string },
): void {
  if (visibility !== 'private' || !(by.actor.guest || by.owner === guestUsername)) return;
  throw new Refusal('forbidden', 'What guest owns is public. Hand it over to a user first.');
}

/** @throws Refusal `conflict` when a private record would become guest's. */
export function assertMayOwn(username: string, record: { readonly kind: string; readonly visibility: Visibility }) {
  if (username !== guestUsername || record.visibility === 'public') return;
  throw new Refusal(
    'conflict',
    `What guest owns is public. Make the ${record.kind} public before handing it to guest.`,
  );
}
