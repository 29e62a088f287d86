// Schedules evaluations that time causes without a datapoint: the end of `for`, the beginning of `silence`. The
// evaluator adds timers after each evaluation; the watcher asks when the next timer is due and takes the due ones.
// While the wall clock is in doubt none is due: nobody knows how much time has passed (decision 30).
import type { ClockWatch } from '../../../base/time/clock-watch.ts';
import { Schedule } from '../../../base/time/schedule.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceId } from '../../devices/device.ts';
import { dueMs } from '../rules/firing.ts';
import type { RuleEntry } from './rule-entry.ts';

/** The time at which a rule must evaluate a device has come. */
export interface RuleTimer {
  readonly entry: RuleEntry;
  readonly device: DeviceId;
}

export class RuleTimers {
  readonly #clock: Pick<ClockWatch, 'now' | 'look' | 'isInDoubt'>;
  readonly #timers = new Schedule<RuleTimer>();
  /** True from a doubt of the wall clock until `for` and `silence` are measured anew. */
  isHeld: boolean;

  constructor(clock: Pick<ClockWatch, 'now' | 'look' | 'isInDoubt'>) {
    this.#clock = clock;
    this.isHeld = clock.isInDoubt;
  }

  get isDue(): boolean {
    const { nextMs } = this.#timers;
    if (nextMs === undefined || nextMs > this.#clock.now()) return false;
    // A jump must be noticed before what it seems to make due is evaluated.
    this.#clock.look();
    return !this.isHeld;
  }

  /** How long until the next may be due, in milliseconds; undefined: there is none. */
  get waitMs(): number | undefined {
    const { nextMs } = this.#timers;
    if (nextMs === undefined) return undefined;
    const waitMs = Math.max(nextMs - this.#clock.now(), 0);
    return this.isHeld ? Math.max(waitMs, limits.clockLookMs) : waitMs;
  }

  /** Schedules the rule's next timer for the device; none where only a datapoint can change its state. */
  arrange(entry: RuleEntry, device: DeviceId): void {
    if (entry.isGone || !entry.hasMemory) return;
    const at = dueMs({ rule: entry.rule, memory: entry.memoryOf(device) });
    if (at !== undefined && entry.planTimer(device, at)) this.#timers.add(at, { entry, device });
  }

  /** Removes and returns up to `max` due timers; the caller evaluates them and arranges the next ones. */
  take(max: number): RuleTimer[] {
    const due: RuleTimer[] = [];
    if (!this.isDue) return due;
    while (due.length < max) {
      const timer = this.#timers.take(this.#clock.now());
      if (timer === undefined) break;
      if (!timer.entry.isGone) due.push(timer);
    }
    for (const { entry, device } of due) entry.timerTaken(device);
    return due;
  }
}
