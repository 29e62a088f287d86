// When a rule fires: the one place that decides it (spec 6), for the watcher and for replays over history alike. Pure:
// it knows a rule, what the rule remembers of one device, and the times of what happens; all times are those at which
// the service received the datapoints, so that deciding again after a crash comes to the same.
//
// - The condition holds from the first datapoint with which the expression is true until one with which it is not.
// - With `for` it counts once it has held that long, be it that no further datapoint comes.
// - A datapoint with which the condition counts makes the rule fire, unless throttling or hysteresis says no.
// - With `hysteresis` a rule that has fired fires again only after that second expression was true.
// - `silence`: it fires when a sensor has sent nothing for so long; once, until the sensor sends again.
// - `recovery_message`: after a firing, once, when the condition ends (with hysteresis: when that is true) or the silent
//   sensor sends again. It is no firing: it is not counted and not throttled.
import type { SensorId } from '../../devices/sensor.ts';
import { holds, type Lookup } from './expression-evaluation.ts';
import type { Rule } from './rule.ts';

/** The state of a rule for one device. */
export interface RuleDeviceState {
  /** Since when the condition holds, and the sensor whose datapoint made it true. */
  since?: { readonly atMs: number; readonly sensor: string };
  /** True when it has held for the required time. */
  counts?: boolean;
  /** True after a firing, until the hysteresis expression was true. */
  isDisarmed?: boolean;
  /** True after a firing, until the recovery message. */
  isAlarming?: boolean;
  /** Silent sensors; true where the rule fired because of it. */
  readonly silent: Map<string, boolean>;
  /** Seq of the last datapoint that changed this state. */
  seq?: number;
  /** When each sensor last sent, in milliseconds since 1970 UTC; only for rules with `silence`. Not stored. */
  readonly heardMs: Map<string, number>;
}

/** The state of a rule over all devices. */
export interface RuleState {
  lastFiredMs: number | undefined;
}

export interface FiringEvent {
  readonly kind: 'fires' | 'recovers';
  readonly atMs: number;
  /** The value of `{id}` in the message. */
  readonly sensor: string;
}

export interface FiringContext {
  readonly rule: Rule;
  readonly memory: RuleDeviceState;
  readonly standing: RuleState;
  /** The sensors that the device has now; a removed sensor causes no event. */
  readonly sensors: { readonly has: (id: SensorId) => boolean };
  /** False where the rule must send no message about the device: then it neither fires nor recovers. */
  readonly mayTell: boolean;
}

/** A context, and what has happened in it so far. */
interface Judged extends FiringContext {
  readonly events: FiringEvent[];
}

/** For a rule without state of devices: whether a datapoint can make it fire at all. Usually it cannot. */
export function mayFire(
  { expression, throttlingMs, expiresMs }: Rule,
  { lastFiredMs }: RuleState,
  { atMs, lookup }: { readonly atMs: number; readonly lookup: Lookup },
): boolean {
  if (atMs >= expiresMs || expression === undefined) return false;
  if (throttlingMs > 0 && lastFiredMs !== undefined && atMs - lastFiredMs < throttlingMs) return false;
  return holds(expression, lookup);
}

/**
 * Something comes in from a sensor. What time makes happen until then was taken before its value was known (`applyTime`).
 * @returns what happens, in order.
 */
export function applyDatapoint(
  context: FiringContext,
  { sensor, atMs, lookup }: { readonly sensor: string; readonly atMs: number; readonly lookup: Lookup },
): readonly FiringEvent[] {
  const of: Judged = { ...context, events: [] };
  const { rule, memory, events } = of;
  if (rule.silenceMs !== undefined) hear(of, sensor, atMs);
  if (rule.expression === undefined) return events;
  // Before the condition, because this datapoint may re-arm the rule and make it fire.
  if (rule.rearm !== undefined && holds(rule.rearm, lookup)) {
    delete memory.isDisarmed;
    recover(of, { sensor, atMs });
  }
  if (holds(rule.expression, lookup)) {
    memory.since ??= { atMs, sensor };
    if (rule.forMs === 0) memory.counts = true;
    if (memory.counts === true) fire(of, { sensor, atMs });
  } else {
    delete memory.since;
    delete memory.counts;
    if (rule.rearm === undefined) recover(of, { sensor, atMs });
  }
  return events;
}

/**
 * Time has come to `untilMs`.
 * @returns what happens, in order.
 */
export function applyTime(context: FiringContext, untilMs: number): readonly FiringEvent[] {
  const of: Judged = { ...context, events: [] };
  for (let next = nextOf(of); next !== undefined && next.atMs <= untilMs; next = nextOf(of)) {
    const { memory } = of;
    if (next.isSilence) {
      memory.silent.set(next.sensor, fire(of, next, { isSilence: true }));
    } else {
      memory.counts = true;
      fire(of, next);
    }
  }
  return of.events;
}

/** When time alone causes something next; undefined: not before the next datapoint. */
export function dueMs(of: Pick<FiringContext, 'rule' | 'memory'>): number | undefined {
  return nextOf(of)?.atMs;
}

/** The part of the state that is stored. */
export function serializeDeviceState({ heardMs: _, silent, ...kept }: RuleDeviceState): string {
  return JSON.stringify(silent.size === 0 ? kept : { ...kept, silent: [...silent] });
}

export function parseDeviceState(kept: string): RuleDeviceState {
  const { silent = [], ...memory } = JSON.parse(kept) as Omit<RuleDeviceState, 'silent'> & {
    silent?: [string, boolean][];
  };
  return { ...memory, silent: new Map(silent), heardMs: new Map() };
}

export function newDeviceState(): RuleDeviceState {
  return { silent: new Map(), heardMs: new Map() };
}

function nextOf({ rule, memory }: Pick<FiringContext, 'rule' | 'memory'>) {
  let next: { atMs: number; sensor: string; isSilence: boolean } | undefined;
  const { since } = memory;
  if (rule.forMs > 0 && since !== undefined && memory.counts !== true) {
    next = { atMs: since.atMs + rule.forMs, sensor: since.sensor, isSilence: false };
  }
  if (rule.silenceMs === undefined) return next;
  for (const [sensor, heardMs] of memory.heardMs) {
    const atMs = heardMs + rule.silenceMs;
    if (!memory.silent.has(sensor) && (next === undefined || atMs < next.atMs)) {
      next = { atMs, sensor, isSilence: true };
    }
  }
  return next;
}

/** Adds an event; false where the rule may not send it or the sensor is gone: then nothing is added. */
function tell({ mayTell, sensors, events }: Judged, event: FiringEvent): boolean {
  if (!mayTell || !sensors.has(event.sensor)) return false;
  events.push(event);
  return true;
}

function hear(of: Judged, sensor: string, atMs: number): void {
  const { memory, rule } = of;
  memory.heardMs.set(sensor, Math.max(atMs, memory.heardMs.get(sensor) ?? 0));
  const told = memory.silent.get(sensor) === true;
  memory.silent.delete(sensor);
  if (told && rule.recoveryMessage !== undefined && atMs < rule.expiresMs) tell(of, { kind: 'recovers', atMs, sensor });
}

function fire(of: Judged, { atMs, sensor }: Omit<FiringEvent, 'kind'>, { isSilence = false } = {}): boolean {
  const { rule, memory, standing } = of;
  if (!isSilence && rule.rearm !== undefined && memory.isDisarmed === true) return false;
  if (atMs >= rule.expiresMs) return false;
  const { lastFiredMs } = standing;
  if (rule.throttlingMs > 0 && lastFiredMs !== undefined && atMs - lastFiredMs < rule.throttlingMs) return false;
  if (!tell(of, { kind: 'fires', atMs, sensor })) return false;
  standing.lastFiredMs = atMs;
  if (isSilence) return true;
  if (rule.rearm !== undefined) memory.isDisarmed = true;
  if (rule.recoveryMessage !== undefined) memory.isAlarming = true;
  return true;
}

function recover(of: Judged, { atMs, sensor }: Omit<FiringEvent, 'kind'>): void {
  const { rule, memory } = of;
  if (memory.isAlarming !== true) return;
  delete memory.isAlarming;
  if (atMs < rule.expiresMs) tell(of, { kind: 'recovers', atMs, sensor });
}
