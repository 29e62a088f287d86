// The sensors of a device, some of which have former ids (decision 42): `get` and `has` find a sensor by its former ids, too.
// Iterating yields each sensor once, by its present id. Devices without former ids of sensors have a plain map, so that pushes
// to them cost no more than before.
import type { Clock } from '../../../base/time/clock.ts';
import type { Sensor, SensorId, SensorKey } from '../sensor.ts';
import type { FormerId } from './former-id.ts';

/** An id that a sensor had before on the same device. */
export interface FormerSensorId extends FormerId {
  readonly sensor: SensorKey;
}

export class SensorsWithFormer extends Map<SensorId, Sensor> {
  readonly #former = new Map<SensorId, { readonly sensor: Sensor; readonly untilMs: number }>();
  /** Until it is given, no former id answers. */
  #ages: Pick<Clock, 'now'> = { now: () => Number.POSITIVE_INFINITY };

  constructor(sensors: Iterable<readonly [SensorId, Sensor]>, former: readonly FormerSensorId[]) {
    super(sensors);
    const byKey = new Map(Array.from(super.values(), (sensor) => [sensor.key, sensor]));
    for (const { id, sensor: key, untilMs } of former) {
      const sensor = byKey.get(key);
      if (sensor !== undefined) this.#former.set(id, { sensor, untilMs });
    }
  }

  /** Sets the clock by which former ids end; from then on they answer. */
  answerBy(ages: Pick<Clock, 'now'>): void {
    this.#ages = ages;
  }

  override get(id: SensorId): Sensor | undefined {
    return super.get(id) ?? this.#answering(id);
  }

  override has(id: SensorId): boolean {
    return this.get(id) !== undefined;
  }

  /** Finds by expired former ids, too, as long as no other sensor has taken the id. */
  byAnyId(id: SensorId): Sensor | undefined {
    return super.get(id) ?? this.#former.get(id)?.sensor;
  }

  /** The former ids of a sensor, also expired ones. */
  formerOf(key: SensorKey): FormerId[] {
    return [...this.#former].flatMap(([id, { sensor, untilMs }]) => (sensor.key === key ? [{ id, untilMs }] : []));
  }

  get formerSize(): number {
    return this.#former.size;
  }

  /** How many former ids answer. */
  get answeringSize(): number {
    const nowMs = this.#ages.now();
    return [...this.#former.values()].filter(({ untilMs }) => untilMs > nowMs).length;
  }

  #answering(id: SensorId): Sensor | undefined {
    const former = this.#former.get(id);
    return former === undefined || former.untilMs <= this.#ages.now() ? undefined : former.sensor;
  }
}

interface WithSensors {
  readonly sensors: ReadonlyMap<SensorId, Sensor>;
}

/** The sensor that a rule names, also by a former id: a rule follows a sensor until another sensor takes the id. */
export function namedSensorOf({ sensors }: WithSensors, id: SensorId): Sensor | undefined {
  return sensors instanceof SensorsWithFormer ? sensors.byAnyId(id) : sensors.get(id);
}

export function hasFormerSensors({ sensors }: WithSensors): boolean {
  return sensors instanceof SensorsWithFormer;
}

/** The ids that the sensor had before; none for nearly all. */
export function formerIdsOfSensor({ sensors }: WithSensors, key: SensorKey): readonly FormerId[] {
  return sensors instanceof SensorsWithFormer ? sensors.formerOf(key) : noFormer;
}

const noFormer: readonly FormerId[] = [];
