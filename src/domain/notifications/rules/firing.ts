// Decides when a rule fires (spec 6). The watcher (evaluator.ts) and dry runs (dry-run.ts) both use it. The functions
// read no clock and no store: the result follows from the rule, its state for one device and the times passed in. The
// watcher passes the times at which the service received the datapoints, so that deciding again after a crash gives the
// same result; where the wall clock that gave them is in doubt, throttling and expiry are measured by `RuleTime`.
//
// - The condition begins with the first datapoint that makes the expression true, and ends with one that makes it false.
// - With `for`, the rule fires only after the condition has lasted that long, even if no further datapoint arrives.
// - From then on each datapoint that leaves the condition true fires the rule, unless throttling or hysteresis forbids it.
// - With `hysteresis`, a rule that has fired fires again only after that second expression was true.
// - With `silence`, the rule fires at most once when a sensor has sent nothing for that long, and again only after the
//   sensor has sent.
// - `recovery_message` is sent once after a firing: when the condition ends (with `hysteresis`: when that expression is
//   true), or when the silent sensor sends again. It does not count as a firing and is not throttled.
import type { SensorId, SensorKey } from '../../devices/sensor.ts';
import { holds, type Lookup } from './expression-evaluation.ts';
import type { Rule } from './rule.ts';

/** The state of a rule for one device. */
export interface RuleDeviceState {
  /** When the condition began, in milliseconds since 1970 UTC, and the sensor whose datapoint made it true. */
  since?: { readonly atMs: number; readonly sensor: string };
  /** True when the condition has held for the time that `for` asks for. */
  counts?: boolean;
  /** True after a firing, until the hysteresis expression was true. */
  isDisarmed?: boolean;
  /** True after a firing, until the recovery message is sent. */
  isAlarming?: boolean;
  /** Silent sensors; true where the rule fired because of the silence. */
  readonly silent: Map<string, boolean>;
  /** Seq of the last datapoint that changed this state. */
  seq?: number;
  /** When each sensor last sent, in milliseconds since 1970 UTC; only for rules with `silence`. Not stored. */
  readonly lastReceivedMs: Map<string, number>;
}

/** The state of a rule over all devices. */
export interface RuleState {
  lastFiredMs: number | undefined;
  /** The same by the monotonic clock; undefined where it fired before the start, or in another process. */
  lastFiredElapsedMs: number | undefined;
}

/** The time of a decision, beside that of the datapoint (decision 30). */
export interface RuleTime {
  /** True while the wall clock is in doubt. */
  readonly isInDoubt: boolean;
  /** By the monotonic clock. */
  elapsedMs(): number;
  /** Milliseconds since 1970 UTC, by which a rule expires: the earlier one while two are possible. */
  readonly forAge: { now(): number };
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
  readonly ruleState: RuleState;
  readonly time: RuleTime;
  /** The sensors that the device has now, by any id; a removed sensor causes no event. */
  readonly sensors: { readonly keyOf: (id: SensorId) => SensorKey | undefined };
  /** False where the rule may send no message about the device, for lack of permission: no event then. */
  readonly mayNotify: boolean;
}

/** A context with the events that the call has caused so far. */
interface Evaluation extends FiringContext {
  readonly events: FiringEvent[];
}

/** Whether a datapoint can fire a rule without device state. A cheap check, because most datapoints fire nothing. */
export function mayFire(
  rule: Rule,
  ruleState: RuleState,
  { atMs, lookup, time }: { readonly atMs: number; readonly lookup: Lookup; readonly time: RuleTime },
): boolean {
  if (rule.expression === undefined || isExpired(rule, atMs, time) || isThrottled(rule, ruleState, atMs, time))
    return false;
  return holds(rule.expression, lookup);
}

/** A rule expires by the time of the datapoint; while that is in doubt, no sooner than by the time that is known. */
function isExpired({ expiresMs }: Rule, atMs: number, time: RuleTime): boolean {
  return atMs >= expiresMs && (!time.isInDoubt || time.forAge.now() >= expiresMs);
}

/**
 * Whether the rule has fired too short a time ago. Times of the wall clock are compared unless they have gone back or are in
 * doubt: then the monotonic clock tells, and where it does not know the last firing, a negative difference is due.
 */
function isThrottled(
  { throttlingMs }: Rule,
  { lastFiredMs, lastFiredElapsedMs }: RuleState,
  atMs: number,
  time: RuleTime,
): boolean {
  if (throttlingMs <= 0 || lastFiredMs === undefined) return false;
  const passedMs = atMs - lastFiredMs;
  if ((passedMs < 0 || time.isInDoubt) && lastFiredElapsedMs !== undefined)
    return time.elapsedMs() - lastFiredElapsedMs < throttlingMs;
  return passedMs >= 0 && passedMs < throttlingMs;
}

/**
 * Applies a datapoint to the state. Call `applyTime` with the datapoint's time before, while lookups still return the
 * earlier values.
 * @returns the events it causes, in order.
 */
export function applyDatapoint(
  context: FiringContext,
  {
    sensor,
    names = [sensor],
    atMs,
    lookup,
  }: {
    readonly sensor: string;
    /** All ids by which the rule names the sensor. */
    readonly names?: readonly string[];
    readonly atMs: number;
    readonly lookup: Lookup;
  },
): readonly FiringEvent[] {
  const of: Evaluation = { ...context, events: [] };
  const { rule, memory, events } = of;
  if (rule.silenceMs !== undefined) endSilence(of, names, atMs);
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
 * Applies the time that has passed until `untilMs`: conditions that have lasted long enough, sensors that are silent.
 * @returns the events it causes, in order.
 */
export function applyTime(context: FiringContext, untilMs: number): readonly FiringEvent[] {
  const of: Evaluation = { ...context, events: [] };
  const { memory } = of;
  joinNames(of);
  for (const due of allDue(of, untilMs)) {
    if (due.isSilence) {
      // A rule may name sensors that a device does not have: these take no memory until they send.
      if (of.sensors.keyOf(due.sensor) !== undefined) memory.silent.set(due.sensor, fire(of, due, { isSilence: true }));
      else memory.lastReceivedMs.delete(due.sensor);
    } else {
      memory.counts = true;
      fire(of, due);
    }
  }
  return of.events;
}

/**
 * Starts the times of `for` and `silence` again at `atMs`, because while the wall clock was in doubt it was not known how
 * much time had passed.
 */
export function beginAnew(memory: RuleDeviceState, atMs: number): void {
  if (memory.since !== undefined && memory.counts !== true) memory.since = { ...memory.since, atMs };
  for (const sensor of memory.lastReceivedMs.keys()) memory.lastReceivedMs.set(sensor, atMs);
}

/** What began later than now, while the clock was ahead, begins now: else it would last for as long as the clock was wrong. */
export function beginNoLater(memory: RuleDeviceState, nowMs: number): void {
  const { since, lastReceivedMs } = memory;
  if (since !== undefined && since.atMs > nowMs) memory.since = { ...since, atMs: nowMs };
  for (const [sensor, atMs] of lastReceivedMs) if (atMs > nowMs) lastReceivedMs.set(sensor, nowMs);
}

/** When `applyTime` has something to do next; undefined where that depends on the next datapoint. */
export function dueMs(of: Pick<FiringContext, 'rule' | 'memory'>): number | undefined {
  let nextMs: number | undefined;
  for (const { atMs } of dues(of)) if (nextMs === undefined || atMs < nextMs) nextMs = atMs;
  return nextMs;
}

/** The part of the state that is stored. */
export function serializeDeviceState({ lastReceivedMs: _, silent, ...stored }: RuleDeviceState): string {
  return JSON.stringify(silent.size === 0 ? stored : { ...stored, silent: [...silent] });
}

/** Restores a state that `serializeDeviceState` stored, without the times in memory. */
export function parseDeviceState(stored: string): RuleDeviceState {
  const { silent = [], ...memory } = JSON.parse(stored) as Omit<RuleDeviceState, 'silent'> & {
    silent?: [string, boolean][];
  };
  return { ...memory, silent: new Map(silent), lastReceivedMs: new Map() };
}

/** The state of a rule that has seen no datapoint of the device. */
export function newDeviceState(): RuleDeviceState {
  return { silent: new Map(), lastReceivedMs: new Map() };
}

/** What time alone will cause, unless a datapoint comes before. */
interface Due {
  readonly atMs: number;
  readonly sensor: string;
  readonly isSilence: boolean;
}

/**
 * Everything that is due until then, in order. In one pass: a device may have thousands of sensors that fall silent
 * at once.
 */
function allDue(of: Pick<FiringContext, 'rule' | 'memory'>, untilMs: number): readonly Due[] {
  const due: Due[] = [];
  for (const each of dues(of)) if (each.atMs <= untilMs) due.push(each);
  return due.sort((a, b) => a.atMs - b.atMs);
}

function* dues({ rule, memory }: Pick<FiringContext, 'rule' | 'memory'>): Generator<Due> {
  const { since } = memory;
  if (rule.forMs > 0 && since !== undefined && memory.counts !== true) {
    yield { atMs: since.atMs + rule.forMs, sensor: since.sensor, isSilence: false };
  }
  if (rule.silenceMs === undefined) return;
  for (const [sensor, lastReceivedMs] of memory.lastReceivedMs) {
    if (!memory.silent.has(sensor)) yield { atMs: lastReceivedMs + rule.silenceMs, sensor, isSilence: true };
  }
}

/** Adds an event. @returns false and adds nothing where the rule may not notify or the sensor was removed. */
function addEvent({ mayNotify, sensors, events }: Evaluation, event: FiringEvent): boolean {
  if (!mayNotify || sensors.keyOf(event.sensor) === undefined) return false;
  events.push(event);
  return true;
}

/**
 * A rule may name a sensor by several ids, because it was renamed: it is silent by the first of them alone, since it was last heard by
 * any of them.
 */
function joinNames({ memory, sensors }: Evaluation): void {
  const { lastReceivedMs, silent } = memory;
  if (lastReceivedMs.size < 2) return;
  const firstOf = new Map<SensorKey, SensorId>();
  for (const [name, atMs] of lastReceivedMs) {
    const key = sensors.keyOf(name as SensorId);
    const first = key && firstOf.get(key);
    if (key !== undefined && first === undefined) firstOf.set(key, name as SensorId);
    if (first === undefined) continue;
    lastReceivedMs.set(first, Math.max(lastReceivedMs.get(first) ?? 0, atMs));
    lastReceivedMs.delete(name);
    const hasFired = silent.get(name);
    if (hasFired === undefined) continue;
    silent.set(first, hasFired || silent.get(first) === true);
    silent.delete(name);
  }
}

/** The sensor has sent: it is silent no longer, and the rule recovers if it had fired because of the silence. */
function endSilence(of: Evaluation, names: readonly string[], atMs: number): void {
  const { memory, rule } = of;
  const sensor = names.find((name) => memory.lastReceivedMs.has(name)) ?? (names[0] as string);
  memory.lastReceivedMs.set(sensor, atMs);
  const hasFired = names.some((name) => memory.silent.get(name) === true);
  for (const name of names) memory.silent.delete(name);
  if (hasFired && rule.recoveryMessage !== undefined && !isExpired(rule, atMs, of.time)) {
    addEvent(of, { kind: 'recovers', atMs, sensor });
  }
}

function fire(of: Evaluation, { atMs, sensor }: Omit<FiringEvent, 'kind'>, { isSilence = false } = {}): boolean {
  const { rule, memory, ruleState, time } = of;
  if (!isSilence && rule.rearm !== undefined && memory.isDisarmed === true) return false;
  if (isExpired(rule, atMs, time) || isThrottled(rule, ruleState, atMs, time)) return false;
  if (!addEvent(of, { kind: 'fires', atMs, sensor })) return false;
  ruleState.lastFiredMs = atMs;
  ruleState.lastFiredElapsedMs = time.elapsedMs();
  if (isSilence) return true;
  if (rule.rearm !== undefined) memory.isDisarmed = true;
  if (rule.recoveryMessage !== undefined) memory.isAlarming = true;
  return true;
}

function recover(of: Evaluation, { atMs, sensor }: Omit<FiringEvent, 'kind'>): void {
  const { rule, memory } = of;
  if (memory.isAlarming !== true) return;
  delete memory.isAlarming;
  if (!isExpired(rule, atMs, of.time)) addEvent(of, { kind: 'recovers', atMs, sensor });
}
