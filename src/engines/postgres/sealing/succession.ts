// What a server takes over from others that are not there any more, looked for after each of its signs of life: the work of sealing,
// and removals of datapoints that they have not completed.
import type { Membership } from '../coordination/membership.ts';
import type { SealingDuty } from './node-lease.ts';
import type { Purge } from './purge.ts';
import type { SealControl } from './seal-control.ts';

interface SuccessionParts {
  readonly membership: Pick<Membership, 'others'>;
  readonly duty: SealingDuty;
  readonly purge: Purge;
  readonly sealing: SealControl;
  readonly completeRemovals: () => Promise<readonly string[]>;
  readonly onFailure: (error: Error) => void;
}

export function succession({
  membership,
  duty,
  purge,
  sealing,
  completeRemovals,
  onFailure,
}: SuccessionParts): () => void {
  let { others } = membership;
  const look = async () => {
    const isTaken = await duty.take();
    if (isTaken) sealing.resume();
    const isFewer = membership.others < others;
    others = membership.others;
    if (!duty.isOurs) return;
    if (isTaken || isFewer) for (const what of await completeRemovals()) onFailure(new Error(what));
    if (isTaken || others > 0) purge.look();
  };
  let isLooking = false;
  return () => {
    if (isLooking) return;
    isLooking = true;
    // Where the database is away, the next sign of life is the next chance.
    void look()
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  };
}
