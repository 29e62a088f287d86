// The client that waits for an answer: whose share of scarce things its work uses, and whether it is still connected.
// Work that waited in a queue checks this when its turn comes, so that nothing is done for a client that has hung up.
import { Refusal } from '../../base/refusal.ts';
import type { Caller } from './caller.ts';

export interface Asker {
  /** The caller whose share is used: the user, or for guests their address. */
  readonly caller: Caller;
  /** True once nobody can receive the answer. Undefined where the service itself asks, or the work is short. */
  readonly isGone?: (() => boolean) | undefined;
}

/** Ends work for a client that has gone. @throws Refusal `busy`, which nobody will read. */
export function assertThere({ isGone }: Asker): void {
  if (isGone?.() === true) throw new Refusal('busy', 'The connection ended before the work began.');
}
