// The rules in memory: loaded when the watcher begins to evaluate and after a failure (they may then be ahead of the stored
// ones), loaded again when they change, each with its timers, its open alarms and when its sensors were last heard.

import type { ClockWatch } from '../../../base/time/clock-watch.ts';
import { nextLoopTurn, WorkPieces } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import { namedSensorOf } from '../../devices/former-ids/sensors-with-former.ts';
import type { SensorId } from '../../devices/sensor.ts';
import type { Series } from '../../ports/series.ts';
import { beginAnew, beginNoLater } from '../rules/firing.ts';
import type { NotificationId } from '../rules/notification.ts';
import type { RuleAlarms } from './rule-alarms.ts';
import type { RuleEntry } from './rule-entry.ts';
import type { RuleIndex } from './rule-index.ts';
import type { RuleTimers } from './rule-timers.ts';
import type { StepLoading } from './step-loading.ts';
import type { WatchStore } from './watch-store.ts';

export class RuleLoader {
  readonly #index: RuleIndex;
  readonly #watchStore: WatchStore;
  readonly #series: Pick<Series, 'latest'>;
  readonly #directory: DeviceDirectory;
  readonly #clock: ClockWatch;
  readonly #timers: RuleTimers;
  readonly #ruleAlarms: RuleAlarms;
  readonly #onAlarmsChanged: () => void;
  readonly #loading: StepLoading;
  #isTrusted = true;

  constructor(parts: {
    readonly index: RuleIndex;
    readonly watchStore: WatchStore;
    readonly series: Pick<Series, 'latest'>;
    readonly directory: DeviceDirectory;
    readonly clocks: ClockWatch;
    readonly timers: RuleTimers;
    readonly ruleAlarms: RuleAlarms;
    /** Called when a rule with alarms has changed. */
    readonly onAlarmsChanged: () => void;
    /** Its last values are dropped, because rules need other sensors. */
    readonly loading: StepLoading;
  }) {
    this.#index = parts.index;
    this.#watchStore = parts.watchStore;
    this.#series = parts.series;
    this.#directory = parts.directory;
    this.#clock = parts.clocks;
    this.#timers = parts.timers;
    this.#ruleAlarms = parts.ruleAlarms;
    this.#onAlarmsChanged = parts.onAlarmsChanged;
    this.#loading = parts.loading;
  }

  /** False from a failure until all were loaded again: those in memory are ahead of the stored ones, or not all there. */
  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  /** Call when something has failed that may have changed them in memory alone. */
  distrust(): void {
    this.#isTrusted = false;
  }

  /** Empties the index and loads all active rules, in steps. */
  async loadAll(): Promise<void> {
    this.#isTrusted = false;
    this.#index.clear();
    this.#loading.forgetValues();
    await this.#ruleAlarms.load();
    for (let after = 0; ; ) {
      const rules = await this.#watchStore.listRules({ after, limit: limits.watchLoadStep });
      for (const rule of rules) await this.#prepare(this.#index.add(rule));
      if (rules.length < limits.watchLoadStep) break;
      after = (rules.at(-1) as { key: number }).key;
      await nextLoopTurn();
    }
    this.#isTrusted = true;
  }

  /**
   * The wall clock is trusted again: `for` and `silence` are measured anew, because the time that they have lasted is not
   * known. Without this a jump ahead would make all of them due, and a jump back none for as long.
   */
  async restartTimes(): Promise<void> {
    const pieces = new WorkPieces(limits.pieceMsMax);
    const nowMs = this.#clock.now();
    for (const entry of [...this.#index.entries()].filter(({ record }) => record.hasTimes)) {
      for (const id of entry.rule.devices) {
        beginAnew(entry.memoryOf(id), nowMs);
        this.#timers.arrange(entry, id);
      }
      if (pieces.isOver) await pieces.next();
    }
    this.#timers.isHeld = this.#clock.isInDoubt;
  }

  /** Loads a rule again that was changed or removed. */
  async refresh(id: NotificationId): Promise<void> {
    const before = this.#index.find(id);
    const rule = await this.#watchStore.findRule(id);
    if (before !== undefined) this.#ruleAlarms.forgetRule(before.record.key);
    if (rule === undefined) this.#index.remove(id);
    else await this.#prepare(this.#index.add(rule));
    if (rule !== undefined) await this.#ruleAlarms.load([rule.key]);
    this.#loading.forgetValues();
    if (before !== undefined) this.#onAlarmsChanged();
  }

  /** The same for many, in steps. */
  async refreshAll(ids: readonly NotificationId[]): Promise<void> {
    for (let from = 0; from < ids.length; from += limits.watchLoadStep) {
      const step = ids.slice(from, from + limits.watchLoadStep);
      const found = new Map((await this.#watchStore.findRules(step)).map((rule) => [rule.id, rule]));
      for (const id of step) {
        const before = this.#index.find(id);
        if (before !== undefined) this.#ruleAlarms.forgetRule(before.record.key);
        if (!found.has(id)) this.#index.remove(id);
      }
      for (const rule of found.values()) await this.#prepare(this.#index.add(rule));
      await this.#ruleAlarms.load(Array.from(found.values(), ({ key }) => key));
      await nextLoopTurn();
    }
    this.#loading.forgetValues();
  }

  /**
   * Arranges the timers of a rule with `for` or `silence` when it is loaded. Silence counts from the last datapoint.
   */
  async #prepare(entry: RuleEntry): Promise<void> {
    if (!entry.record.hasTimes) return;
    const pieces = new WorkPieces(limits.pieceMsMax);
    for (const id of entry.rule.devices) {
      await this.#loadLastReceived(entry, id);
      beginNoLater(entry.memoryOf(id), this.#clock.now());
      this.#timers.arrange(entry, id);
      if (pieces.isOver) await pieces.next();
    }
  }

  /** Loads when the sensors of a rule with `silence` last sent a datapoint. */
  async #loadLastReceived(entry: RuleEntry, id: DeviceId): Promise<void> {
    const { silenceMs, sensors } = entry.rule;
    if (silenceMs === undefined) return;
    const device = await this.#directory.find(id);
    const keyOf = (sensor: SensorId) => (device === undefined ? undefined : namedSensorOf(device, sensor)?.key);
    const keys = sensors.flatMap((sensor) => keyOf(sensor) ?? []);
    const latest = await this.#series.latest(keys);
    const memory = entry.memoryOf(id);
    for (const sensor of sensors) {
      const receivedMs = latest.get(keyOf(sensor) ?? -1)?.receivedMs ?? 0;
      memory.lastReceivedMs.set(sensor, Math.max(entry.record.watchedSinceMs, receivedMs));
    }
  }
}
