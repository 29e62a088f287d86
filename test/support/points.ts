// Datapoints for tests of the store, the batch that stores them, and the expected result of a read: the order (time,
// arrival) and the cursor after each.

import type { StoredValue } from '../../src/domain/datapoints/datapoint.ts';
import { BatchBuilder, type DatapointBatch, type PushReceipt } from '../../src/domain/datapoints/datapoint-batch.ts';
import type { PublishFingerprint } from '../../src/domain/datapoints/publish-fingerprint.ts';
import type { SeriesCursor } from '../../src/domain/ports/series.ts';

export interface Point {
  readonly sensor: number;
  readonly timestamp?: number | undefined;
  /** `nowMs` where it is left out. */
  readonly received?: number;
  /** 0 where it is left out. */
  readonly value?: StoredValue;
}

/** A point that has been stored. */
export type StoredPoint = Point & { readonly seq: number };

export const nowMs = Date.UTC(2026, 0, 15, 12);

/** What may be kept in the commit of a batch. */
export interface Beside {
  readonly receipts?: readonly PushReceipt[];
  readonly publishes?: readonly PublishFingerprint[];
}

export function batchOf(points: readonly Point[], beside: Beside = {}): DatapointBatch {
  const { receipts = [], publishes = [] } = beside;
  const batch = new BatchBuilder(points.length);
  for (const { sensor, timestamp, received, value } of points) {
    batch.add(sensor, timestamp ?? Number.NaN, received ?? nowMs, value ?? 0);
  }
  for (const receipt of receipts) batch.addReceipt(receipt);
  for (const publish of publishes) batch.addPublish(publish);
  return batch.build();
}

export function timeOf({ timestamp, received }: Point): number {
  return timestamp ?? received ?? nowMs;
}

/** By time; equal times in order of arrival. */
export function sorted<P extends StoredPoint>(points: readonly P[], descending: boolean): P[] {
  const ascending = [...points].sort((a, b) => timeOf(a) - timeOf(b) || a.seq - b.seq);
  return descending ? ascending.reverse() : ascending;
}

/** Where a step ends whose last datapoint is this one. */
export function positionOf(
  point: StoredPoint,
  { of, descending }: { readonly of: readonly StoredPoint[]; readonly descending: boolean },
): SeriesCursor {
  const before = of.filter((one) => timeOf(one) === timeOf(point) && one.seq < point.seq).length;
  return { order: timeOf(point), index: descending ? before : before + 1 };
}
