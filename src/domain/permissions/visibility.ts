// Who may see a record that has a visibility, and what guest may make of it (spec 5.5, contract 3). The rules are the
// same for devices and gateways.
import { Refusal } from '../../base/refusal.ts';
import { type Actor, guestUsername } from '../users/user.ts';

/** Who sees a record: everybody, or those who hold a right on it. */
export type Visibility = 'public' | 'private';

/** What guest creates is everybody's; what somebody creates is theirs until they say otherwise. */
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
