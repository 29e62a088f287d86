// What one step of the evaluator knows of the devices that it looks at, and what it has concluded and not yet written.
import { jsonValue, type StoredValue } from '../datapoints/datapoint.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { Sensor, SensorId, SensorKey } from '../sensors/sensor.ts';
import type { Actor, UserKey } from '../users/user.ts';
import type { Lookup } from './evaluation.ts';
import type { DeviceRules, SensorRules, WatchedEntry } from './rule-index.ts';
import type { RecordedFiring, WatchRecord } from './watch-store.ts';

/** A sensor whose values rules need. */
export interface Watch {
  readonly place: Place;
  readonly sensor: Sensor;
  /** Those that its datapoints concern. */
  readonly rules: SensorRules;
  /** The last value; undefined where nothing was ever pushed. */
  value: StoredValue | undefined;
  isMoved: boolean;
}

/** A device whose rules look. Kept from step to step, without the values. */
export class Place {
  readonly device: Device;
  /** True where time alone may make one of its rules fire. */
  readonly hasTimes: boolean;
  readonly watches: readonly Watch[];
  readonly #bySensor: DeviceRules['bySensor'];
  readonly #watches: ReadonlyMap<SensorId, Watch>;

  constructor(device: Device, { bySensor, hasTimes }: DeviceRules) {
    this.device = device;
    this.hasTimes = hasTimes;
    this.#bySensor = bySensor;
    this.watches = [...bySensor].flatMap(([id, rules]) => {
      const sensor = device.sensors.get(id);
      return sensor === undefined ? [] : [{ place: this, sensor, rules, value: undefined, isMoved: false }];
    });
    this.#watches = new Map(this.watches.map((watch) => [watch.sensor.id, watch]));
  }

  /** False where the device or the rules are no longer as they were. */
  isOf(device: Device, rules: DeviceRules): boolean {
    return this.device === device && this.#bySensor === rules.bySensor;
  }

  /** Last values as reads show them. */
  readonly lookup: Lookup = (id) => {
    const watch = this.#watches.get(id);
    return watch?.value === undefined ? undefined : jsonValue(calibrate(watch.value, watch.sensor.calibration));
  };
}

export class Step {
  /** The devices it has come to; undefined: nobody looks at it any more. */
  readonly places = new Map<DeviceId, Place | undefined>();
  readonly watches = new Map<SensorKey, Watch>();
  readonly actors = new Map<UserKey, Actor | undefined>();
  /** Sensors of which a value came in this step. */
  readonly moved: Watch[] = [];
  firings: { readonly entry: WatchedEntry; readonly firing: RecordedFiring }[] = [];
  memories = new Map<string, WatchRecord['memories'][number]>();
  rulesLookedAt = 0;

  get hasNews(): boolean {
    return this.firings.length > 0 || this.memories.size > 0;
  }

  enter(place: Place): void {
    this.places.set(place.device.id, place);
    for (const watch of place.watches) {
      watch.isMoved = false;
      this.watches.set(watch.sensor.key, watch);
    }
  }

  /** Lets go of the values: they are bounded elsewhere. */
  leave(): void {
    for (const watch of this.watches.values()) {
      watch.value = undefined;
      watch.isMoved = false;
    }
  }

  /** The sensor has another value. */
  move(watch: Watch, value: StoredValue): void {
    watch.value = value;
    if (watch.isMoved) return;
    watch.isMoved = true;
    this.moved.push(watch);
  }
}
