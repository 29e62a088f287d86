// One push to one sensor, from the permission check until the readers of the feed get it.

import { limits } from '../../../config/limits.ts';
import type { Caller } from '../../callers/caller.ts';
import type { Device } from '../../devices/device.ts';
import type { Sensor } from '../../devices/sensor.ts';
import type { PushCharge } from '../../quotas/push-charge.ts';
import type { CommittedPush, OriginalMessage } from '../feed.ts';
import type { PublishFingerprint } from '../publish-fingerprint.ts';
import { PlainReadings } from './plain-readings.ts';
import type { Readings } from './reading.ts';
import { SingleReading } from './single-reading.ts';

/** The properties of a push besides its readings. */
export interface PushExtras {
  readonly original?: OriginalMessage | undefined;
  readonly publish?: PublishFingerprint | undefined;
  readonly many?: boolean | undefined;
  readonly skipsRules?: boolean | undefined;
}

/** A class, because tens of thousands are made each second, and instances of a class share one hidden class. */
export class Push implements CommittedPush {
  readonly device: Device;
  readonly sensor: Sensor;
  /** Charges the readings to quotas when they are committed. */
  readonly charge: PushCharge | undefined;
  readonly readings: Readings;
  readonly receivedMs: number;
  readonly original: OriginalMessage | undefined;
  readonly publish: PublishFingerprint | undefined;
  readonly many: boolean;
  readonly skipsRules: boolean;
  /** Both are set by the writer at the commit. */
  firstSeq = 0;
  caller: Caller | undefined = undefined;

  constructor(
    sensorRef: { readonly device: Device; readonly sensor: Sensor; readonly charge?: PushCharge },
    readings: Readings,
    receivedMs: number,
    extras: PushExtras,
  ) {
    this.device = sensorRef.device;
    this.sensor = sensorRef.sensor;
    this.charge = sensorRef.charge;
    this.readings = readings;
    this.receivedMs = receivedMs;
    this.original = extras.original;
    this.publish = extras.publish;
    this.many = extras.many === true;
    this.skipsRules = extras.skipsRules === true;
  }

  /** Not a field, because each push would have it. */
  get kind(): 'sensor' {
    return 'sensor';
  }
}

/** Bytes that readings count for quotas: a number that users can compute, however well datapoints are compressed. */
export function countedBytesOf(readings: Readings): number {
  let bytes = readings.length * limits.datapointBytesCounted;
  if (readings instanceof SingleReading || readings instanceof PlainReadings) return bytes;
  for (const { value } of readings) if (typeof value === 'string') bytes += value.length;
  return bytes;
}
