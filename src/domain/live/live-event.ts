// What the reader of a live stream is told.
import type { ActuatorId } from '../actuators/actuator.ts';
import type { Datapoint } from '../datapoints/datapoint.ts';
import type { SensorId } from '../sensors/sensor.ts';

export type LiveEvent =
  | { readonly kind: 'datapoint'; readonly sensor: SensorId; readonly point: Datapoint }
  | { readonly kind: 'actuator'; readonly actuator: ActuatorId; readonly valueJson: string }
  /** More was missed than is sent again. */
  | { readonly kind: 'gap' }
  /** The last event of a stream. */
  | { readonly kind: 'end'; readonly reason: string };
