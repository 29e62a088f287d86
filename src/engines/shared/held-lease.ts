// A lease that was granted to this process, until it is given back. Made by the coordination of every engine.
import type { Fence, Lease, LeaseName } from '../../domain/ports/coordination.ts';

export class HeldLease implements Lease {
  readonly name: LeaseName;
  readonly epoch: number;
  readonly #giveBack: () => Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  #isHeld = true;

  /** @param giveBack makes the lease free for others. Where it fails, the engine frees the lease with what holds it. */
  constructor({ name, epoch }: Fence, giveBack: () => Promise<void>) {
    this.name = name;
    this.epoch = epoch;
    this.#giveBack = giveBack;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async release(): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    try {
      await this.#giveBack();
    } catch {
      // It stays with this process, which may take it again, and becomes free with the row of its node.
    } finally {
      this.#ended.resolve();
    }
  }
}
