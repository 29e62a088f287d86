// The lease for work that only one of all processes does: the outbox, and the evaluation of rules. It is asked for
// before each step, so that a process takes over when the last holder has ended, and stops when it has lost the
// lease.
import { LeaseLost } from '../lease-lost.ts';
import type { Coordination, Lease, LeaseName } from '../ports/coordination.ts';

export class Leadership {
  readonly #coordination: Coordination;
  readonly #name: LeaseName;
  readonly #onEnded: () => void;
  #lease: Lease | undefined;

  /** @param parts.onEnded called when the lease was released or lost, so that its owner tries to get it again. */
  constructor(parts: {
    readonly coordination: Coordination;
    readonly name: LeaseName;
    readonly onEnded: () => void;
  }) {
    this.#coordination = parts.coordination;
    this.#name = parts.name;
    this.#onEnded = parts.onEnded;
  }

  /** The lease, while it is held. */
  get lease(): Lease | undefined {
    return this.#lease?.isHeld === true ? this.#lease : undefined;
  }

  /**
   * The lease that this process had last, whether it still holds it: results of work begun under it are stored under
   * it.
   */
  get latest(): Lease | undefined {
    return this.#lease;
  }

  /**
   * The lease, if this process has it; takes it where nobody holds it. A new lease calls `begin`, which prepares the
   * work; if that fails, the lease is given back.
   * @throws what `begin` throws, except LeaseLost.
   */
  async take(begin: (lease: Lease) => Promise<void>): Promise<Lease | undefined> {
    if (this.lease !== undefined) return this.lease;
    const lease = await this.#coordination.acquire(this.#name);
    if (lease === undefined) return undefined;
    try {
      await begin(lease);
    } catch (error) {
      await lease.release();
      if (error instanceof LeaseLost) return undefined;
      throw error;
    }
    this.#lease = lease;
    void lease.ended.then(this.#onEnded);
    return this.lease;
  }

  /** Gives the lease back; also called when the store has refused writes under it. */
  async release(): Promise<void> {
    await this.#lease?.release();
  }
}
