// Coordination for the embedded engine. The lock on the data folder ensures that one process has the data, so a lease that
// is not held is granted at once, and none is ever lost. Epochs are stored, so that they grow over restarts too. A change
// need not be announced, because there is no other process, and what is in memory holds.
import type { Clock } from '../../../base/time/clock.ts';
import type { Coordination, Fence, Lease, LeaseName } from '../../../domain/ports/coordination.ts';
import type { Questions } from '../../../domain/ports/questions.ts';
import type { SharedCounts } from '../../../domain/ports/shared-counts.ts';
import { HeldLease } from '../../shared/held-lease.ts';
import { LocalCounts } from './local-counts.ts';

export class LocalCoordination implements Coordination {
  readonly standing = { isSure: true, makeSure: async () => {}, foreseeSilence: async () => {} };
  /** There is nobody else to ask. */
  readonly questions: Questions = {
    place: 0,
    isAlone: true,
    ask: async () => ({ given: [], silent: [] }),
    answer: () => {},
  };
  readonly counts: SharedCounts;
  readonly #countEpoch: (name: LeaseName) => Promise<number>;
  readonly #held = new Set<LeaseName>();
  readonly #epochs = new Map<LeaseName, number>();

  /** @param parts.countEpoch stores and returns the next epoch of a lease. */
  constructor(parts: { readonly countEpoch: (name: LeaseName) => Promise<number>; readonly clock: Clock }) {
    this.#countEpoch = parts.countEpoch;
    this.counts = new LocalCounts(parts.clock);
  }

  /** The names of the leases that are held. */
  get held(): readonly LeaseName[] {
    return [...this.#held].sort();
  }

  async acquire(name: LeaseName): Promise<Lease | undefined> {
    if (this.#held.has(name)) return undefined;
    this.#held.add(name);
    try {
      const epoch = await this.#countEpoch(name);
      this.#epochs.set(name, epoch);
      return new HeldLease({ name, epoch }, async () => void this.#held.delete(name));
    } catch (error) {
      this.#held.delete(name);
      throw error;
    }
  }

  async announce(): Promise<void> {}

  listen(): void {}

  /** False where the lease was taken with a greater epoch since. */
  isNewest({ name, epoch }: Fence): boolean {
    return epoch >= (this.#epochs.get(name) ?? 0);
  }
}
