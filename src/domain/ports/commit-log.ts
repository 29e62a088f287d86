// The port of the commit log: every datapoint in the order of commits, before and while it is sealed. The writer of ingest
// appends to it, the watcher of rules follows it. Every engine passes test/storage/commit-log.suite.ts.
import type { ArrivedDatapoint } from '../datapoints/datapoint.ts';
import type { DatapointBatch, PublishFingerprint, PushReceipt } from '../datapoints/datapoint-batch.ts';
import type { SensorKey } from '../devices/sensor.ts';

/**
 * A place in the log as this process follows it: the seq of the last datapoint before it, 0 before the first. Positions are
 * compared and subtracted. An engine whose log has several writers numbers datapoints in the order in which it follows
 * them, and keeps beside a position what it stands for in the log of each writer.
 */
export type LogPosition = number;

/** A datapoint as it is read from the log. */
export interface LogEntry extends ArrivedDatapoint {
  readonly sensor: SensorKey;
  /** True when no rule is to look at it. */
  readonly isQuiet: boolean;
}

/** The fingerprint of a publish that is still kept, with the time of receiving, milliseconds since 1970 UTC. */
export interface StoredFingerprint extends PublishFingerprint {
  readonly atMs: number;
}

export interface CommitLog {
  /**
   * Stores the batch, whole or not at all; durable when it resolves (I1). Calls are committed in their order.
   * @returns the seq of the first datapoint; the others follow one by one.
   * @throws Refusal `storage` when the disk refuses.
   */
  append(batch: DatapointBatch): Promise<number>;
  /**
   * True while sealing is behind the log: a batch of more than `catchUpDatapointsMax` would wait for it, and with it all
   * that comes later. Smaller ones go on.
   */
  readonly isCatchingUp: boolean;
  /** Called when that is over. */
  onCaughtUp: () => void;
  /** Behind the newest datapoint. In memory, because the watcher asks with every push. */
  readonly lastPosition: LogPosition;
  /**
   * Datapoints behind a position in order of commits, one bounded step; none where there is nothing behind it. What lies
   * behind the confirmed position is there; of what lies before it, perhaps a part.
   */
  readAfter(position: LogPosition): Promise<LogEntry[]>;
  /**
   * Confirms that all datapoints up to a position were looked at: those behind it are kept for `readAfter` whatever is
   * sealed. undefined: nobody follows. Only notes it in memory; the engine writes it with its own work.
   */
  confirm(position: LogPosition | undefined): void;
  /** The position that was confirmed for certain when the data was last in use; undefined: not known. */
  confirmedPosition(): Promise<LogPosition | undefined>;
  /** The receipt of a push under an `Idempotency-Key`, which was stored in the push's own commit. */
  findReceipt(id: string): Promise<PushReceipt | undefined>;
  /** Fingerprints of MQTT publishes that are still kept, oldest first. */
  listFingerprints(): Promise<Iterable<StoredFingerprint>>;
}
