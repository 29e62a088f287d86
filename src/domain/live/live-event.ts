// The events of a live stream.

import type { Datapoint } from '../datapoints/datapoint.ts';
import type { ActuatorId } from '../devices/actuator.ts';
import type { SensorId } from '../devices/sensor.ts';

/** A datapoint, with its order of arrival where that is known. */
export interface LivePoint extends Datapoint {
  readonly seq: number | undefined;
}

/** The last datapoint that a returning reader has. */
export interface ResumePoint {
  /** Its order of arrival; 0 where the reader does not know it. */
  readonly seq: number;
  /** When it was received, in milliseconds since 1970 UTC; undefined where the reader does not say. */
  readonly receivedMs: number | undefined;
}

export type LiveEvent =
  | { readonly kind: 'datapoint'; readonly sensor: SensorId; readonly point: LivePoint }
  | { readonly kind: 'actuator'; readonly actuator: ActuatorId; readonly valueJson: string }
  /** More datapoints were missed than are sent again. */
  | { readonly kind: 'gap' }
  /** The last event of a stream. */
  | { readonly kind: 'end'; readonly reason: string };
