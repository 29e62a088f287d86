// The actor of a request whose work may wait in a queue: lists and long reads. Called by their routes.
import type { Actor } from '../../domain/users/user.ts';

/** The actor with `isGone`, which tells whether the connection has ended: then queued work need not be done. */
export function actorWhileConnected(
  { actor }: { readonly actor: Actor },
  reply: { readonly raw: { readonly destroyed: boolean } },
): Actor {
  return { ...actor, isGone: () => reply.raw.destroyed };
}
