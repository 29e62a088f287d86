// What datapoints need remembered. Every engine passes the one suite in test/datapoint-store-suite.ts.
import type { SensorKey } from '../sensors/sensor.ts';
import type { Datapoint, StoredValue } from './datapoint.ts';

/** That a push under an `Idempotency-Key` was stored; kept in the push's own commit. */
export interface PushReceipt {
  /** Who pushed, the method and path, and the key, as one text. */
  readonly id: string;
  /** The caller part of the id, within which the number of receipts is bounded. */
  readonly caller: string;
  /** SHA-256 of the body: the same key with another body is refused. */
  readonly bodyHash: string;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
}

/** That an MQTT session published something under a packet id; kept in the datapoint's own commit. */
export interface PublishMark {
  /** Hash of user, client id and packet id. */
  readonly slot: number;
  /** Hash of topic and payload. */
  readonly content: number;
}

/** A publish that is still remembered, with when it came, milliseconds since 1970 UTC. */
export interface RememberedPublish extends PublishMark {
  readonly atMs: number;
}

/** Datapoints to be stored in one commit, as columns, in order of arrival; with what must be kept beside them. */
export interface DatapointBatch {
  readonly sensors: readonly SensorKey[];
  /** Milliseconds since 1970 UTC, NaN where there is none. */
  readonly timestamps: readonly number[];
  readonly received: readonly number[];
  readonly values: readonly StoredValue[];
  readonly receipts: readonly PushReceipt[];
  readonly publishes: readonly PublishMark[];
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
