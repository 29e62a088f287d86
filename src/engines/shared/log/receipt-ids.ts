// By what the receipt of a push is found: its id, or, where the engine stores ids as digests because they can be longer than an index
// takes, that. A receipt that was moved from such an engine has an id made of the digest.
import { createHash } from 'node:crypto';
import { repeatIdPrefix } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';

/** A receipt as its digest has it. */
export interface ReceiptKey {
  readonly hash: Uint8Array;
  /** The sensor of a receipt without an `Idempotency-Key`; null for others. */
  readonly sensor: number | null;
}

export function hashOf(id: string): Buffer {
  return createHash('sha256').update(id).digest();
}

/** The sensor of a receipt without a key (repeatIdPrefix); null for others. */
export function sensorOf(id: string): number | null {
  const [, sensor] = /^\n(\d+)\n/.exec(id) ?? [];
  return sensor === undefined ? null : Number(sensor);
}

/** No caller's name begins like that, so that no other id is one of these. */
const mark = 'sha256\n';
const digits = 64;

/** The id of a receipt of which only the digest is known. It is among those of its sensor, and ends with them. */
export function idOfHash({ hash, sensor }: ReceiptKey): string {
  const prefix = sensor === null ? '' : repeatIdPrefix(sensor as SensorKey);
  return `${prefix}${mark}${Buffer.from(hash).toString('hex')}`;
}

/** Of an id of either kind. */
export function receiptKeyOf(id: string): ReceiptKey {
  const sensor = sensorOf(id);
  const prefix = sensor === null ? '' : repeatIdPrefix(sensor as SensorKey);
  const isMoved = id.length === prefix.length + mark.length + digits && id.startsWith(mark, prefix.length);
  return { sensor, hash: isMoved ? Buffer.from(id.slice(-digits), 'hex') : hashOf(id) };
}
