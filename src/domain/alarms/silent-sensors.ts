// Finds sensors that are silent beyond their habit, and those that were and have sent again. Called by the sweep alone.
// Silence counts from when this process listens: nobody was heard while the service was down.
import type { Ids } from '../../base/ids.ts';
import { WorkPieces } from '../../base/time/next-loop-turn.ts';
import { limits } from '../../config/limits.ts';
import { serviceCaller } from '../datapoints/ingest/writer-queue.ts';
import type { RetentionStore } from '../datapoints/retention-job.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { Lease } from '../ports/coordination.ts';
import type { Series } from '../ports/series.ts';
import type { UserKey } from '../users/user.ts';
import { type AlarmChange, subjectOf } from './alarm.ts';
import type { AlarmStore } from './alarm-store.ts';
import type { Habits } from './habits.ts';
import { OpenCounts } from './open-counts.ts';

export class SilentSensors {
  readonly #store: AlarmStore;
  readonly #sensors: Pick<RetentionStore, 'listSensors'>;
  readonly #series: Pick<Series, 'latest' | 'range'>;
  readonly #habits: Habits;
  readonly #ids: Ids;
  readonly #open = new OpenCounts<SensorKey>();
  /** The last sensor whose habit was learned from what is stored. */
  #learnedTo: SensorKey = 0;
  #isLearned = false;

  constructor(parts: {
    readonly alarmStore: AlarmStore;
    readonly sensors: Pick<RetentionStore, 'listSensors'>;
    readonly series: Pick<Series, 'latest' | 'range'>;
    readonly habits: Habits;
    readonly ids: Ids;
  }) {
    this.#store = parts.alarmStore;
    this.#sensors = parts.sensors;
    this.#series = parts.series;
    this.#habits = parts.habits;
    this.#ids = parts.ids;
  }

  /** Takes over the alarms that are stored: call when this process begins to look. */
  async load(): Promise<void> {
    this.#open.clear();
    for (let after = 0; ; ) {
      const step = await this.#store.listOpen('silence', { after, limit: limits.habitSensorsStep });
      for (const { sensor, keeper, sinceMs } of step)
        if (sensor !== undefined) {
          this.#open.add(sensor, keeper, sinceMs);
          this.#habits.mark(sensor, true);
        }
      const last = step.at(-1);
      if (last === undefined || step.length < limits.habitSensorsStep) return;
      after = last.key;
    }
  }

  /** Learns habits from what is stored, for as long as the lease is held; once. Pauses as long as it works. */
  async learn(lease: Pick<Lease, 'isHeld'>): Promise<void> {
    const pieces = new WorkPieces(limits.pieceMsMax);
    while (!this.#isLearned && lease.isHeld) {
      const step = await this.#sensors.listSensors({ after: this.#learnedTo, limit: limits.habitSensorsStep });
      for (const { sensor } of step) {
        this.#learnedTo = sensor;
        if (!this.#habits.isKnown(sensor)) this.#habits.adopt(sensor, await this.#lastReceptions(sensor));
        if (pieces.isOver) await pieces.next();
        if (!lease.isHeld) return;
      }
      this.#isLearned = step.length < limits.habitSensorsStep;
    }
  }

  /** What has changed. The caller stores it, and calls `done` then. */
  async look(time: { readonly nowMs: number; readonly sinceMs: number }): Promise<readonly AlarmChange[]> {
    return [...this.#returned(time), ...(await this.#silent(time))];
  }

  done(changes: readonly AlarmChange[]): void {
    for (const { sensor, clearedMs, keeper, sinceMs } of changes) {
      if (sensor === undefined) continue;
      this.#habits.mark(sensor, clearedMs === undefined);
      if (clearedMs === undefined) this.#open.add(sensor, keeper, sinceMs);
      else this.#open.delete(sensor);
    }
  }

  #returned({ nowMs }: { readonly nowMs: number }): AlarmChange[] {
    const changes: AlarmChange[] = [];
    for (const [sensor, { keeper, sinceMs }] of this.#open.entries()) {
      const lastMs = this.#habits.lastMs(sensor);
      if (lastMs === undefined || lastMs <= sinceMs) continue;
      const base = { kind: 'silence', subject: subjectOf.silence(sensor), id: this.#ids.uuid() } as const;
      changes.push({ ...base, begins: 0, atMs: nowMs, sinceMs, clearedMs: lastMs, sensor, keeper });
    }
    return changes;
  }

  async #silent(time: { readonly nowMs: number; readonly sinceMs: number }): Promise<AlarmChange[]> {
    const begun = new Map<UserKey, number>();
    const changes: AlarmChange[] = [];
    const pieces = new WorkPieces(limits.pieceMsMax);
    // Those that open none, because their owner has as many as one may have, do not keep the others waiting for the next look.
    for (const keys of this.#habits.overdue(time)) {
      for (let from = 0; from < keys.length && changes.length < limits.alarmsOpenedMax; from += limits.habitSensorsStep)
        await this.#begin(keys.slice(from, from + limits.habitSensorsStep), { time, begun, changes });
      if (changes.length >= limits.alarmsOpenedMax) break;
      if (pieces.isOver) await pieces.next();
    }
    return changes;
  }

  /** Adds the alarms of these sensors, up to those of one look. */
  async #begin(
    sensors: readonly SensorKey[],
    of: {
      readonly time: { readonly nowMs: number };
      readonly begun: Map<UserKey, number>;
      readonly changes: AlarmChange[];
    },
  ): Promise<void> {
    const { time, begun, changes } = of;
    const owners = await this.#store.ownersOf(sensors);
    for (const sensor of sensors) {
      if (changes.length >= limits.alarmsOpenedMax) return;
      const owned = owners.get(sensor);
      if (owned === undefined) {
        this.#habits.forget(sensor);
        continue;
      }
      const { device, owner } = owned;
      if (this.#open.has(sensor)) continue;
      const opened = begun.get(owner) ?? 0;
      if (this.#open.countOf(owner) + opened >= limits.alarmsOpenMax) {
        // Looked at again when it has sent, so that what is beyond the bound costs nothing at each look.
        this.#habits.mark(sensor, true);
        continue;
      }
      begun.set(owner, opened + 1);
      changes.push({
        ...{ kind: 'silence', subject: subjectOf.silence(sensor), id: this.#ids.uuid(), begins: 1, atMs: time.nowMs },
        ...{ sinceMs: this.#habits.lastMs(sensor) ?? time.nowMs, clearedMs: undefined, keeper: owner, device, sensor },
        threshold: seconds(this.#habits.silentAfterMs(sensor)),
        usualS: seconds(this.#habits.usualMs(sensor)),
      });
    }
  }

  async #lastReceptions(sensor: SensorKey): Promise<readonly number[]> {
    if (!(await this.#series.latest([sensor])).has(sensor)) return [];
    const query = { sensor, descending: true, limit: limits.habitDatapoints };
    // What cannot be read for damage says nothing of a habit; the read of a person tells of the damage.
    const step = await this.#series.range(query, { caller: serviceCaller }).catch(() => undefined);
    return step === undefined ? [] : [...step.columns.received];
  }
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms / 1000);
}
