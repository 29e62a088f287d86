// The port of what processes on the same data agree on. Work of which there is one in all of them (retention, the outbox,
// the evaluation of rules) is done by who holds its lease. Every engine passes test/storage/coordination.suite.ts.

import type { Announcement, AnnouncementHandlers } from './announcement.ts';
import type { SharedCounts } from './shared-counts.ts';

/** A part of the rules, which one process evaluates. Part 0 has all rules as long as nobody divides them. */
export type RulesLeaseName = `rules/${number}`;

/** Work that one process at a time does. */
export type LeaseName = 'retention' | 'outbox' | RulesLeaseName;

/**
 * Says under which lease something is written. The store compares it in the same transaction, and refuses it (LeaseLost)
 * where the lease was taken with a greater epoch since: who held it before, and comes late, overwrites and doubles
 * nothing.
 */
export interface Fence {
  readonly name: LeaseName;
  /** Of two holders that both believe they hold the lease, the later one has the greater epoch. */
  readonly epoch: number;
}

export interface Lease extends Fence {
  /** False once it was released or lost. In memory, because it is asked before each step of the work. */
  readonly isHeld: boolean;
  /** Resolves when it was released or lost: its holder may try to get it again. */
  readonly ended: Promise<void>;
  /** Gives it back; once. */
  release(): Promise<void>;
}

export interface Coordination {
  /**
   * Tells all other processes of a change that is stored. Resolves when each of them has applied it, or can write and
   * deliver nothing any more: from then on nothing passes anywhere that the change forbids. This process applies it by
   * itself. Called before the change is acknowledged, and never by who holds a turn that applying it would wait for.
   * @throws Refusal that a handler of another process has thrown; the others have applied it or refused it too.
   */
  announce(announcement: Announcement): Promise<void>;
  /** Counts against bounds that all processes share. */
  readonly counts: SharedCounts;
  /** Has the handlers called on what other processes announce. Once, before any door opens. */
  listen(handlers: AnnouncementHandlers): void;
  /** Takes the lease where nobody holds it; undefined where somebody does. Never waits for its holder. */
  acquire(name: LeaseName): Promise<Lease | undefined>;
}

/** What it takes to tell the other processes of a change. */
export type Announcer = Pick<Coordination, 'announce'>;
