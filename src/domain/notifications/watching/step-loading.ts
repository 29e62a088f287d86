// Loads what a step of the evaluator needs: for each device its rules, their authors, and the last values of its sensors,
// which stay in memory between steps.
import { entryBytes, heapBytes } from '../../../base/memory/heap-bytes.ts';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { WorkPieces } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../datapoints/datapoint.ts';
import type { Device } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { SensorKey } from '../../devices/sensor.ts';
import type { Series } from '../../ports/series.ts';
import { remembered } from '../../remembered.ts';
import type { Users } from '../../users/users.ts';
import { type EvaluationStep, WatchedDevice, type WatchedSensor } from './evaluation-step.ts';
import type { RuleIndex } from './rule-index.ts';
import type { SortedRules } from './sorted-rules.ts';
import type { SeenPush } from './watch-queue.ts';

export class StepLoading {
  readonly #index: RuleIndex;
  readonly #series: Pick<Series, 'latestUpTo'>;
  readonly #directory: DeviceDirectory;
  readonly #users: Users;
  /** Devices of earlier steps; not used again where the device or its rules have changed. */
  readonly #watchedDevices = new WeakMap<SortedRules, WatchedDevice>();
  /** Last values of sensors that rules need; sensors without a value are not in it. */
  readonly #values = new LruCache<SensorKey, StoredValue>({
    weightMax: limits.watchValueBytesMax,
    pool: remembered,
    weigh: (value) => entryBytes + heapBytes(value),
  });

  /** True where datapoints were removed or corrected since the last step ended: what a step has read may be old. */
  #isChanged = false;

  constructor(parts: {
    readonly index: RuleIndex;
    readonly series: Pick<Series, 'latestUpTo'>;
    readonly directory: DeviceDirectory;
    readonly users: Users;
  }) {
    this.#index = parts.index;
    this.#series = parts.series;
    this.#directory = parts.directory;
    this.#users = parts.users;
  }

  /**
   * Drops the last value of a sensor whose datapoints were removed or corrected; a step under way does not keep what it
   * has of it.
   */
  forgetValue(sensor: SensorKey): void {
    this.#values.delete(sensor);
    this.#isChanged = true;
  }

  /** Drops the last values: call when rules need other sensors, or the position has changed. */
  forgetValues(): void {
    this.#values.clear();
  }

  /** Keeps the values that the step has changed, for later steps, and takes all values from the step. */
  keepValues(step: EvaluationStep): void {
    if (this.#isChanged) for (const sensor of step.watches.keys()) this.#values.delete(sensor);
    else for (const { sensor, value } of step.moved) this.#values.set(sensor.key, value as StoredValue);
    this.#isChanged = false;
    step.releaseValues();
  }

  /** Loads for each device of the step its rules, their authors and the last values of its sensors. */
  async load(step: EvaluationStep, pushes: readonly Pick<SeenPush, 'device'>[], upToSeq: number): Promise<void> {
    for (const { device: asked } of pushes) {
      if (step.watchedDevices.has(asked.id)) continue;
      if (step.pieces.isOver) await step.pieces.next();
      for (const _ of this.#index.parse(asked.id)) if (step.pieces.isOver) await step.pieces.next();
      const rules = this.#index.of(asked.id);
      const isKnown = rules?.authors.every((author) => step.actors.has(author)) === true;
      if (rules !== undefined && !isKnown) await this.#loadAuthors(step, rules);
      const device = rules && (this.#directory.peek(asked.id) ?? (await this.#directory.find(asked.id)));
      if (rules === undefined || device === undefined) {
        step.watchedDevices.set(asked.id, undefined);
        continue;
      }
      const missing = this.#addDevice(step, device, rules);
      if (missing.length > 0) await this.#readValues(missing, { upToSeq, pieces: step.pieces });
    }
    // Loading ends here. Evaluation begins as a new piece of work, so that a step with few rules takes one turn.
    step.pieces.begin();
  }

  async #loadAuthors(step: EvaluationStep, { authors }: SortedRules): Promise<void> {
    for (const author of authors) {
      if (step.actors.has(author)) continue;
      const user = await this.#users.findByKey(author);
      step.actors.set(author, user && this.#users.actorOf(user));
    }
  }

  /** Adds a device to the step, with the last values in memory. @returns the sensors whose last value must be read. */
  #addDevice(step: EvaluationStep, device: Device, rules: SortedRules): readonly WatchedSensor[] {
    let watched = this.#watchedDevices.get(rules);
    if (watched === undefined || !watched.isOf(device, rules)) {
      watched = new WatchedDevice(device, rules);
      this.#watchedDevices.set(rules, watched);
    }
    step.addDevice(watched);
    for (const watch of watched.watches) watch.value = this.#values.get(watch.sensor.key);
    return watched.watches.filter(({ value }) => value === undefined);
  }

  async #readValues(
    watches: readonly WatchedSensor[],
    { upToSeq, pieces }: { readonly upToSeq: number; readonly pieces: WorkPieces },
  ): Promise<void> {
    for (const watch of watches) {
      if (pieces.isOver) await pieces.next();
      const { key } = watch.sensor;
      watch.value = (await this.#series.latestUpTo(key, upToSeq))?.value;
      if (watch.value !== undefined) this.#values.set(key, watch.value);
    }
  }
}
