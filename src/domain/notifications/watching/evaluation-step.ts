// The state of one step of the evaluator: the devices that it evaluates, and results that are not stored yet.
import { WorkPieces } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import type { AlarmChange } from '../../alarms/alarm.ts';
import { jsonValue, type StoredValue } from '../../datapoints/datapoint.ts';
import { calibrate } from '../../devices/calibration.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import { namedSensorOf } from '../../devices/former-ids/sensors-with-former.ts';
import type { Sensor, SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Fence } from '../../ports/coordination.ts';
import type { Actor, UserKey } from '../../users/user.ts';
import type { Lookup } from '../rules/expression-evaluation.ts';
import type { RuleEntry } from './rule-entry.ts';
import type { SensorRules, SortedRules } from './sorted-rules.ts';
import type { RecordedFiring, RecordedMemory } from './watch-store.ts';

/** A sensor whose values rules need. */
export interface WatchedSensor {
  readonly watched: WatchedDevice;
  readonly sensor: Sensor;
  /** As the rules name it: perhaps by an id that it had before. */
  readonly name: SensorId;
  /** The same sensor by another name of other rules; for nearly all none. */
  also: WatchedSensor | undefined;
  /** The rules that its datapoints concern. */
  readonly rules: SensorRules;
  /** The last value; undefined where the sensor never had one. */
  value: StoredValue | undefined;
  /** True where a datapoint of this step has changed the value. */
  isMoved: boolean;
}

/** A device with rules. The evaluator uses it again in later steps, without values. */
export class WatchedDevice {
  readonly device: Device;
  /** True where time alone may make one of its rules fire. */
  readonly hasTimes: boolean;
  readonly watches: readonly WatchedSensor[];
  readonly #rules: SortedRules;
  readonly #watches: ReadonlyMap<SensorId, WatchedSensor>;
  readonly #bySensor = new Map<SensorKey, WatchedSensor>();

  constructor(device: Device, rules: SortedRules) {
    this.device = device;
    this.hasTimes = rules.hasTimes;
    this.#rules = rules;
    this.watches = [...rules.bySensor].flatMap(([id, sensorRules]) => {
      const sensor = namedSensorOf(device, id);
      if (sensor === undefined) return [];
      return [
        { watched: this, sensor, name: id, also: undefined, rules: sensorRules, value: undefined, isMoved: false },
      ];
    });
    this.#watches = new Map(this.watches.map((watch) => [watch.name, watch]));
    for (const watch of this.watches) {
      watch.also = this.#bySensor.get(watch.sensor.key);
      this.#bySensor.set(watch.sensor.key, watch);
    }
  }

  /** Each sensor once, by one of its names. */
  get bySensor(): ReadonlyMap<SensorKey, WatchedSensor> {
    return this.#bySensor;
  }

  /** The sensor of the device that rules find by this id. */
  keyOf(id: SensorId): SensorKey | undefined {
    return namedSensorOf(this.device, id)?.key;
  }

  /** Whether this is still up to date; false where the device or its rules have changed. */
  isOf(device: Device, rules: SortedRules): boolean {
    return this.device === device && this.#rules === rules;
  }

  /** Last values as API reads return them: calibrated. */
  readonly lookup: Lookup = (id) => {
    const watch = this.#watches.get(id);
    return watch?.value === undefined ? undefined : jsonValue(calibrate(watch.value, watch.sensor.calibration));
  };
}

/** A rule and a device, evaluated for a datapoint or for the time until `untilMs`. */
export interface RuleEvaluation {
  readonly entry: RuleEntry;
  readonly device: DeviceId;
  /** Undefined where the device was removed. */
  readonly watched: WatchedDevice | undefined;
  readonly datapoint?: {
    readonly seq: number;
    readonly sensor: SensorId;
    readonly names: readonly SensorId[];
    readonly atMs: number;
    readonly lookup: Lookup;
  };
  readonly untilMs?: number;
}

export class EvaluationStep {
  /** The lease under which its results are stored. */
  readonly fence: Fence;
  /** The devices of this step; undefined: the device has no rules any more. */
  readonly watchedDevices = new Map<DeviceId, WatchedDevice | undefined>();
  readonly watches = new Map<SensorKey, WatchedSensor>();
  readonly actors = new Map<UserKey, Actor | undefined>();
  /** Sensors with a new value in this step. */
  readonly moved: WatchedSensor[] = [];
  firings: { readonly entry: RuleEntry; readonly firing: RecordedFiring }[] = [];
  memories = new Map<string, RecordedMemory>();
  /** Alarms that began or ended, by what they are about. */
  alarms = new Map<string, AlarmChange>();
  readonly pieces = new WorkPieces(limits.pieceMsMax);
  /** Characters of messages and states that are not stored yet. */
  resultChars = 0;

  constructor(fence: Fence) {
    this.fence = fence;
  }

  /** Whether the results are so large that they must be stored before there are more. */
  get isFull(): boolean {
    const results = Math.max(this.firings.length, this.alarms.size);
    return results >= limits.watchFiringsMax || this.resultChars >= limits.watchResultChars;
  }

  /** Whether results have to be stored, or other work has to have its turn, before the step goes on. */
  get needsPause(): boolean {
    return this.isFull || this.pieces.isOver;
  }

  get hasResults(): boolean {
    return this.firings.length > 0 || this.memories.size > 0 || this.alarms.size > 0;
  }

  addDevice(watched: WatchedDevice): void {
    this.watchedDevices.set(watched.device.id, watched);
    for (const watch of watched.watches) watch.isMoved = false;
    for (const [key, watch] of watched.bySensor) this.watches.set(key, watch);
  }

  /** Releases the values, because the evaluator's cache keeps and bounds them between steps. */
  releaseValues(): void {
    for (const first of this.watches.values())
      for (const watch of namesOf(first)) {
        watch.value = undefined;
        watch.isMoved = false;
      }
  }

  /** Sets a sensor's value and remembers that it has changed. */
  move(watch: WatchedSensor, value: StoredValue): void {
    watch.value = value;
    if (watch.isMoved) return;
    watch.isMoved = true;
    this.moved.push(watch);
  }
}

/** The sensor by each of its names. */
export function* namesOf(first: WatchedSensor): Generator<WatchedSensor> {
  for (let watch: WatchedSensor | undefined = first; watch !== undefined; watch = watch.also) yield watch;
}
