// The right to do work of which there is one in all processes, for the outbox and the watcher of rules. It is asked for
// before each step, so that a process goes on where the last holder has ended, and stops where it has lost the lease.
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

  /** The lease that this process had last, held or not: what was begun under it is stored under it. */
  get latest(): Lease | undefined {
    return this.#lease;
  }

  /**
   * The lease, if this process has it. Takes it where nobody holds it; `begin` then makes ready for the work, and where
   * that fails the lease is given back.
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

  /** Gives the lease back, or stops believing in one that the store has refused. */
  async release(): Promise<void> {
    await this.#lease?.release();
  }
}
