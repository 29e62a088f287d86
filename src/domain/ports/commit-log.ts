// The port of the commit log: every datapoint in the order of commits, before and while it is sealed. The writer of
// ingest appends to it, the watcher of rules follows it, and the feed gets from it what other processes append. Every
// engine passes test/storage/commit-log.suite.ts.
import type { ArrivedDatapoint } from '../datapoints/datapoint.ts';
import type { DatapointBatch, PushReceipt } from '../datapoints/datapoint-batch.ts';
import type { OriginalMessage } from '../datapoints/feed.ts';
import type { Readings } from '../datapoints/ingest/reading.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { UserKey } from '../users/user.ts';
import type { Fence } from './coordination.ts';

/**
 * A position in the log, as this process follows it: the seq of the last datapoint before it, 0 before the first.
 * Positions can be compared and subtracted. An engine whose log has several writers numbers datapoints in the order
 * in which this process follows them; for a position it stores how far it has read each writer's log.
 */
export type LogPosition = number;

/** A datapoint read from the log. */
export interface LogEntry extends ArrivedDatapoint {
  readonly sensor: SensorKey;
  /** True when no rule is evaluated for it. */
  readonly skipsRules: boolean;
  /** How many datapoints just before it were removed since: nobody misses them. Left out where none. */
  readonly removedBefore?: number;
}

/** A push that another process has committed, with the fields that delivery, live streams and rules need. */
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

/** How datapoints of a batch were pushed: what their delivery by other processes needs. */
export interface PushedAs {
  readonly sensor: SensorKey;
  /** How many datapoints it has; 0 for a message that only kept its place. */
  readonly count: number;
  readonly receivedMs: number;
  readonly original: OriginalMessage | undefined;
  readonly many: boolean;
}

/** A message of a client to other clients, for subscribers of every process. */
export interface ClientMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** The publisher. */
  readonly user: UserKey;
  /** Key of the gateway that the topic belongs to. */
  readonly gateway?: number | undefined;
  /** As in OriginalMessage. */
  readonly properties?: Uint8Array | undefined;
  readonly expiresMs?: number | undefined;
  readonly publisherId?: string | undefined;
}

/** How stored fingerprints are trimmed. */
export interface FingerprintTrim {
  /** Bytes that they may take. */
  readonly bytesMax: number;
  /** Returns those of some stored records that are still needed. */
  readonly retain: (records: Uint32Array) => Uint32Array;
}

export interface CommitLog {
  /**
   * Stores the batch as a whole or not at all; it is on disk when this resolves (I1). Batches are committed in the
   * order of the calls.
   * @param pushesOf the pushes of the batch in their order, with all of its datapoints. Called only where other processes deliver
   * them, too; left out for what nobody delivers.
   * @returns the seq of the first datapoint; the others follow one by one.
   * @throws Refusal `storage` when the disk refuses.
   */
  append(batch: DatapointBatch, pushesOf?: () => readonly PushedAs[]): Promise<number>;
  /**
   * True while sealing is behind. A batch of more than `catchUpDatapointsMax` would wait for sealing, and later
   * batches behind it; smaller batches are committed.
   */
  readonly isCatchingUp: boolean;
  /**
   * How far sealing is behind: 0 while it keeps up, 1 where batches wait until the log has become shorter. The more, the more
   * time whoever appends should leave between batches.
   */
  readonly sealingDebt: number;
  /** Called when `isCatchingUp` becomes false. */
  onCaughtUp: () => void;
  /**
   * Called with what other processes have committed, in the order in which this process follows them; must resolve
   * when the feed has it. The engine waits for that before the next call, and before an `append` ends whose
   * datapoints come later. So the feed has everything in the order of positions (I3), and nothing gathers here (I4).
   * Must be set before the engine follows others; an engine of one process never calls it.
   */
  onFollowed: (pushes: readonly FollowedPush[]) => Promise<void>;
  /**
   * Tells other processes of a message between clients: resolves when it is stored for them, in one order with those of other
   * processes. undefined: there is no other process, and `messageOf` was not called.
   * @throws Refusal `storage`
   */
  relay(messageOf: () => ClientMessage): Promise<void> | undefined;
  /** Called with messages that other processes relay; as `onFollowed`. */
  onRelayed: (messages: readonly ClientMessage[]) => Promise<void>;
  /** Resolves when all is followed that other processes had appended at the call. @throws Refusal `storage`, `busy` */
  caughtUp(): Promise<void>;
  /** Called with records of MQTT publishes (publish-fingerprint.ts) that other processes have committed. */
  onPublished: (records: Uint32Array) => void;
  /** The position after the newest datapoint. Synchronous, because the watcher asks with every push. */
  readonly lastPosition: LogPosition;
  /**
   * When the datapoint that was committed last was received, by the wall clock of then, in milliseconds since 1970 UTC;
   * undefined where none is stored. Asked at start, to compare the wall clock with it.
   */
  newestReceivedMs(): Promise<number | undefined>;
  /**
   * The next datapoints after a position in order of commits, in one bounded step; empty where there are none. After
   * the confirmed position no datapoint is missing; before it some may be.
   */
  readAfter(position: LogPosition): Promise<LogEntry[]>;
  /**
   * Confirms that all datapoints up to a position were evaluated. Later ones stay readable by `readAfter` even after
   * they are sealed. undefined: nobody follows the log. Synchronous, because the engine stores the position with its
   * next commit. Without effect where the lease was taken with a greater epoch since.
   */
  confirm(position: LogPosition | undefined, fence: Fence): void;
  /** The confirmed position on disk, at which the next holder of the lease begins; undefined: not known. */
  confirmedPosition(): Promise<LogPosition | undefined>;
  /**
   * Claims an `Idempotency-Key` for a push that is about to come, so that it is stored once, whichever processes get
   * its repeats. Where another process has claimed the key, waits for the result of its push. Repeats within one
   * process must wait by themselves (idempotency-guard.ts).
   * @param options by the times that receipts carry: after `sinceMs`, and not after `untilMs` (one that a clock made that was
   * ahead).
   * @returns the receipt of a push that was stored under the key within these; then nothing is claimed. undefined:
   * the key is claimed until the commit that stores its receipt, or until `releaseClaim`.
   */
  claimReceipt(
    id: string,
    options: { readonly sinceMs: number; readonly untilMs?: number },
  ): Promise<PushReceipt | undefined>;
  /** Ends the claim of a push that was not stored. */
  releaseClaim(id: string): Promise<void>;
  /** The stored records of MQTT publishes (publish-fingerprint.ts), oldest first; a record may come twice. */
  listFingerprints(): Promise<Iterable<Uint32Array>>;
  /**
   * Where the stored records take more than `bytesMax`, deletes those that are not needed any more, oldest first. Records
   * of datapoints that are not sealed stay, and do not count.
   */
  trimFingerprints(trim: FingerprintTrim): Promise<void>;
}
