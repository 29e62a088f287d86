// Who waits for an answer: among whom the work for it is shared out, and whether they are still there. Work that waited
// in a queue asks when its turn comes, so that nothing is done for a client that has hung up meanwhile.
import { Refusal } from '../../base/refusal.ts';
import type { Caller } from './caller.ts';

export interface Asker {
  /** Whose share of scarce things it uses: the user, or for guests their address. */
  readonly caller: Caller;
  /** True once nobody can receive the answer. Undefined: the service itself asks, or the work is short. */
  readonly isGone?: (() => boolean) | undefined;
}

/** @throws Refusal `busy`, which nobody will read. */
export function assertThere({ isGone }: Asker): void {
  if (isGone?.() === true) throw new Refusal('busy', 'The connection ended before the work began.');
}
