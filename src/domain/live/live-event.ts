// What the reader of a live stream is told.

import type { Datapoint } from '../datapoints/datapoint.ts';
import type { ActuatorId } from '../devices/actuator.ts';
import type { SensorId } from '../devices/sensor.ts';

/** A datapoint, and its order of arrival where that is still known. */
export interface LivePoint extends Datapoint {
  readonly seq: number | undefined;
}

/** What a reader that comes back had last. */
export interface ResumePoint {
  /** Order of arrival; 0 where it was not known. */
  readonly seq: number;
  /** When it was received, milliseconds since 1970 UTC; undefined where the reader does not say. */
  readonly receivedMs: number | undefined;
}

export type LiveEvent =
  | { readonly kind: 'datapoint'; readonly sensor: SensorId; readonly point: LivePoint }
  | { readonly kind: 'actuator'; readonly actuator: ActuatorId; readonly valueJson: string }
  /** More was missed than is sent again. */
  | { readonly kind: 'gap' }
  /** The last event of a stream. */
  | { readonly kind: 'end'; readonly reason: string };
