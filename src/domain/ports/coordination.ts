// The port of what processes on the same data agree on. Work of which there is one in all of them (retention, the outbox) is
// done by who holds its lease. Every engine passes test/storage/coordination.suite.ts.

/** Work that one process at a time does. */
export type LeaseName = 'retention' | 'outbox';

export interface Lease {
  /** Of two holders that both believe they hold the lease, the later one has the greater epoch. */
  readonly epoch: number;
  /** False once it was released or lost. In memory, because it is asked before each step of the work. */
  readonly isHeld: boolean;
  /** Gives it back; once. */
  release(): Promise<void>;
}

export interface Coordination {
  /** Takes the lease where nobody holds it; undefined where somebody does. Never waits for its holder. */
  acquire(name: LeaseName): Promise<Lease | undefined>;
}
