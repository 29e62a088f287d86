// Leases for the embedded engine. The lock on the data folder ensures that one process has the data, so a lease that is
// not held is granted at once, and none is ever lost.
import type { Coordination, Lease, LeaseName } from '../../../domain/ports/coordination.ts';

export class LocalCoordination implements Coordination {
  readonly #held = new Set<LeaseName>();
  #epoch = 0;

  async acquire(name: LeaseName): Promise<Lease | undefined> {
    if (this.#held.has(name)) return undefined;
    this.#held.add(name);
    this.#epoch += 1;
    return new LocalLease(this.#epoch, () => this.#held.delete(name));
  }
}

class LocalLease implements Lease {
  readonly epoch: number;
  readonly #release: () => void;
  #isHeld = true;

  constructor(epoch: number, release: () => void) {
    this.epoch = epoch;
    this.#release = release;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  async release(): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#release();
  }
}
