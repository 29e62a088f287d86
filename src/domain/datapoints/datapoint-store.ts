// What datapoints need remembered. Every engine passes the one suite in test/datapoint-store-suite.ts.
import type { SensorKey } from '../sensors/sensor.ts';
import type { Datapoint } from './datapoint.ts';
import type { DatapointBatch, PublishMark, PushReceipt } from './datapoint-batch.ts';

/** A publish that is still remembered, with when it came, milliseconds since 1970 UTC. */
export interface RememberedPublish extends PublishMark {
  readonly atMs: number;
}

/** A place between two datapoints of a sensor: after (or, descending, before) this order and seq. */
export interface Position {
  readonly order: number;
  readonly seq: number;
}

export interface RangeQuery {
  readonly sensor: SensorKey;
  /** Bounds of the order, inclusive, milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly descending: boolean;
  /** Datapoints at most in this step. */
  readonly limit: number;
  /** Where the step before ended. */
  readonly after?: Position | undefined;
}

export interface DatapointStore {
  /**
   * Stores the batch, whole or not at all; durable when it resolves.
   * @returns the seq of the first datapoint; the others follow one by one.
   * @throws Refusal `storage` when the disk refuses.
   */
  append(batch: DatapointBatch): Promise<number>;
  /** One step of a read by order and seq; fewer than `limit` datapoints mean that the range is at its end. */
  read(query: RangeQuery): Promise<Datapoint[]>;
  /** The datapoint pushed last for each of the sensors that has any. */
  latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, Datapoint>>;
  findReceipt(id: string): Promise<PushReceipt | undefined>;
  /** The publishes still remembered, oldest first. */
  listPublishes(): Promise<RememberedPublish[]>;
}
