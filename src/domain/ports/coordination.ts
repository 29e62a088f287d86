// The port by which processes on the same data agree. Work that only one process does (retention, the outbox, the
// evaluation of rules) is done by the holder of its lease. Every engine passes test/storage/coordination.suite.ts.

import type { Announcement, AnnouncementHandlers } from './announcement.ts';
import type { Questions } from './questions.ts';
import type { SharedCounts } from './shared-counts.ts';

/**
 * The lease of a part of the rules, which one process evaluates. Part 0 has all rules as long as they are not
 * divided.
 */
export type RulesLeaseName = `rules/${number}`;

/** Work that only one process does at a time. */
export type LeaseName = 'retention' | 'outbox' | 'alarms' | RulesLeaseName;

/**
 * Says under which lease something is written. The store compares it in the same transaction, and refuses the write
 * (LeaseLost) where the lease was taken with a greater epoch since. So a former holder that writes late neither
 * overwrites nor repeats anything.
 */
export interface Fence {
  readonly name: LeaseName;
  /** Increases with each holder: of two that both believe they hold the lease, the later one has the greater epoch. */
  readonly epoch: number;
}

export interface Lease extends Fence {
  /** False once the lease was released or lost. In memory, because it is asked before each step of the work. */
  readonly isHeld: boolean;
  /** Resolves when the lease was released or lost, so that its holder may try to get it again. */
  readonly ended: Promise<void>;
  /** Gives the lease back; call once. */
  release(): Promise<void>;
}

/**
 * Whether what this process has in memory holds: a change by another process is acknowledged when this one has applied it, or can
 * answer nobody any more. Asked wherever somebody comes in (a request, a packet, a sign-in), and not by handlers of announcements,
 * which bring about that it holds.
 */
export interface Standing {
  /** True as long as nobody can have taken this process for dead, and it knows what was there a second ago. Asked at every request. */
  readonly isSure: boolean;
  /** Finds out where that is not known. @throws Refusal `storage` where it cannot be found out. */
  makeSure(): Promise<void>;
  /**
   * This process will be busy for up to so many milliseconds, and tells nothing meanwhile: others are not to take it for dead.
   * Resolves when they know, or cannot be told.
   */
  foreseeSilence(ms: number): Promise<void>;
}

export interface Coordination {
  /**
   * Tells all other processes of a change that is stored. Resolves when each of them has applied it, or can write and
   * deliver nothing any more: from then on nothing passes anywhere that the change forbids. This process must apply
   * the change by itself. Call it before the change is acknowledged, and never while holding a turn that applying the
   * change would wait for.
   * @throws Refusal that a handler of another process has thrown; the others have applied or refused the change, too.
   */
  announce(announcement: Announcement): Promise<void>;
  readonly standing: Standing;
  /** Counts against bounds that all processes share. */
  readonly counts: SharedCounts;
  /** Sets the handlers for announcements of other processes. Call once, before the servers listen. */
  listen(handlers: AnnouncementHandlers): void;
  /** Asks other processes for what only they have in memory. */
  readonly questions: Questions;
  /** Takes the lease if nobody holds it; undefined if somebody does. Never waits for its holder. */
  acquire(name: LeaseName): Promise<Lease | undefined>;
}

/** The part of the port for code that only tells other processes of changes. */
export type Announcer = Pick<Coordination, 'announce'>;
