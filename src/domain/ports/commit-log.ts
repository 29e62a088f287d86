// The port of the commit log: every datapoint in the order of commits, before and while it is sealed. The writer of ingest
// appends to it, the watcher of rules follows it, and what other processes append comes from it to the feed. Every engine passes test/storage/commit-log.suite.ts.
import type { ArrivedDatapoint } from '../datapoints/datapoint.ts';
import type { DatapointBatch, PublishFingerprint, PushReceipt } from '../datapoints/datapoint-batch.ts';
import type { OriginalMessage } from '../datapoints/feed.ts';
import type { Readings } from '../datapoints/ingest/reading.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { Fence } from './coordination.ts';

/**
 * A position in the log, as this process follows it: the seq of the last datapoint before it, 0 before the first.
 * Positions can be compared and subtracted. An engine whose log has several writers numbers datapoints in the order in
 * which it follows them, and stores for a position how far it has read each writer's log.
 */
export type LogPosition = number;

/** A datapoint read from the log. */
export interface LogEntry extends ArrivedDatapoint {
  readonly sensor: SensorKey;
  /** True when no rule is evaluated for it. */
  readonly skipsRules: boolean;
}

/** A push that another process has committed: what delivery, live streams and rules need of it. */
export interface FollowedPush {
  readonly sensor: SensorKey;
  readonly readings: Readings;
  /** Milliseconds since 1970 UTC at which the other process received it. */
  readonly receivedMs: number;
  /** Seq of the first of its datapoints, as this process numbers them. */
  readonly firstSeq: number;
  /** Set when it came over MQTT. */
  readonly original?: OriginalMessage | undefined;
  /** True when the payload was an array on the `values` topic. */
  readonly many: boolean;
  /** True when no rule is evaluated for it. */
  readonly skipsRules: boolean;
}

/** A stored fingerprint of a publish, with its time of receiving in milliseconds since 1970 UTC. */
export interface StoredFingerprint extends PublishFingerprint {
  readonly atMs: number;
}

export interface CommitLog {
  /**
   * Stores the batch as a whole or not at all; on disk when it resolves (I1). Calls are committed in their order.
   * @returns the seq of the first datapoint; the others follow one by one.
   * @throws Refusal `storage` when the disk refuses.
   */
  append(batch: DatapointBatch): Promise<number>;
  /**
   * True while sealing is behind: a batch of more than `catchUpDatapointsMax` would wait for it, and later batches
   * behind that one. Smaller ones go on.
   */
  readonly isCatchingUp: boolean;
  /** Called when `isCatchingUp` becomes false. */
  onCaughtUp: () => void;
  /**
   * Called with what other processes have committed, in the order in which this process follows them, so that its feed has
   * it; resolves when that is so. The engine goes on only then, with the next call and with the end of an `append` whose
   * datapoints come behind these: so the feed has all in the order of positions (I3), and nothing gathers here (I4). Must
   * be set before the engine follows others; an engine of one process never calls it.
   */
  onFollowed: (pushes: readonly FollowedPush[]) => Promise<void>;
  /** Position after the newest datapoint. Synchronous, because the watcher asks with every push. */
  readonly lastPosition: LogPosition;
  /**
   * The next datapoints after a position in order of commits, in one bounded step; empty where there are none. Those
   * after the confirmed position are complete; of earlier ones some may be missing.
   */
  readAfter(position: LogPosition): Promise<LogEntry[]>;
  /**
   * Confirms that all datapoints up to a position were evaluated. Later ones stay readable by `readAfter` even when they
   * are sealed. undefined: there is no follower. Synchronous, because the engine stores it with its next commit.
   * Without effect where the lease was taken with a greater epoch since.
   */
  confirm(position: LogPosition | undefined, fence: Fence): void;
  /** The confirmed position that is stored on disk; the next holder of the lease begins there. undefined: not known. */
  confirmedPosition(): Promise<LogPosition | undefined>;
  /**
   * Claims an `Idempotency-Key` for a push that is to come, so that it is stored once whichever processes get its
   * repeats: where another process has claimed it, waits for what comes of its push. Repeats in this process wait for
   * the first by themselves.
   * @returns the receipt of a push that was stored under the key after `sinceMs`; then nothing is claimed. undefined: it
   * is claimed until the commit that stores its receipt, or until `releaseClaim`.
   */
  claimReceipt(id: string, options: { readonly sinceMs: number }): Promise<PushReceipt | undefined>;
  /** Ends the claim of a push that was not stored. */
  releaseClaim(id: string): Promise<void>;
  /** The stored fingerprints of MQTT publishes, oldest first. */
  listFingerprints(): Promise<Iterable<StoredFingerprint>>;
}
