// Schedules evaluations that time causes without a datapoint: the end of `for`, the begin of `silence`. The evaluator
// adds alarms after each evaluation; the watcher asks when the next one is due and takes the due ones.
import type { Clock } from '../../../base/time/clock.ts';
import { Schedule } from '../../../base/time/schedule.ts';
import type { DeviceId } from '../../devices/device.ts';
import { dueMs } from '../rules/firing.ts';
import type { RuleEntry } from './rule-index.ts';

/** A rule is to evaluate a device at this time. */
export interface Alarm {
  readonly entry: RuleEntry;
  readonly device: DeviceId;
}

export class Alarms {
  readonly #clock: Clock;
  readonly #alarms = new Schedule<Alarm>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isDue(): boolean {
    return (this.nextMs ?? Number.POSITIVE_INFINITY) <= this.#clock.now();
  }

  /** When the next is due, milliseconds since 1970 UTC; undefined: there is none. */
  get nextMs(): number | undefined {
    return this.#alarms.nextMs;
  }

  /** Schedules the rule's next alarm for the device; none where only a datapoint can change its state. */
  arrange(entry: RuleEntry, device: DeviceId): void {
    if (entry.isGone || !entry.hasMemory) return;
    const at = dueMs({ rule: entry.rule, memory: entry.memoryOf(device) });
    if (at !== undefined && entry.planAlarm(device, at)) this.#alarms.add(at, { entry, device });
  }

  /** Removes and returns up to `max` due alarms; the caller evaluates them and arranges the next ones. */
  take(max: number): Alarm[] {
    const due: Alarm[] = [];
    while (due.length < max) {
      const alarm = this.#alarms.take(this.#clock.now());
      if (alarm === undefined) break;
      if (!alarm.entry.isGone) due.push(alarm);
    }
    for (const { entry, device } of due) entry.alarmTaken(device);
    return due;
  }
}
