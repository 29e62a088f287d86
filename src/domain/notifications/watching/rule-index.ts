// The active rules in memory, by device and sensor: a datapoint of a device without rules costs one look-up. Only the
// evaluator parses rules, when they are first needed and in pieces, because a commit may have datapoints of hundreds
// of devices with rules. Bounded in bytes (I4): unparsed rules by `ruleBytesMax`, shared among authors; parsed rules
// and their order by sensor by `sortedRuleBytesMax`, beyond which the oldest are dropped and computed again when
// needed.
import { FairBudget } from '../../../base/memory/fair-budget.ts';
import { entryBytes, textHeapBytes } from '../../../base/memory/heap-bytes.ts';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId } from '../../devices/sensor.ts';
import { remembered } from '../../remembered.ts';
import type { UserKey } from '../../users/user.ts';
import type { Expression } from '../rules/expression.ts';
import { isInNoFireRange, type NoFireRange, noFireRangeOf } from '../rules/expression-evaluation.ts';
import { newDeviceState, parseDeviceState, type RuleDeviceState, type RuleState } from '../rules/firing.ts';
import type { JsonObject, NotificationFields, NotificationId } from '../rules/notification.ts';
import { type Rule, toRule } from '../rules/rule.ts';
import type { RuleWeight } from '../rules/rule-changes.ts';
import type { WatchedRule } from './watch-store.ts';

/** An active rule and its state. */
export class RuleEntry {
  readonly record: WatchedRule;
  /** Its memory, in bytes, about. */
  readonly weight: number;
  readonly ruleState: RuleState;
  timesSent: number;
  /** Datapoints up to this seq are ignored. */
  afterSeq: number;
  /** True when it was removed from the index. */
  isGone = false;
  /** Number of devices in whose `SortedRules` this rule is. Its parsed form is counted while there are any. */
  sortedFor = 0;
  #rule: Rule | undefined;
  #hasMemory: boolean | undefined;
  // Undefined for most rules, because there may be hundreds of thousands.
  #memories: Map<DeviceId, RuleDeviceState> | undefined;
  /** By device: the time of its alarm. */
  #alarmsMs: Map<DeviceId, number> | undefined;

  constructor(record: WatchedRule) {
    this.record = record;
    this.weight = weightOf(record);
    this.ruleState = { lastFiredMs: record.lastFiredMs, lastFiredElapsedMs: undefined };
    this.timesSent = record.timesSent;
    this.afterSeq = record.afterSeq;
    if (record.memories.length > 0)
      this.#memories = new Map(record.memories.map(({ device, memory }) => [device, parseDeviceState(memory)]));
  }

  get rule(): Rule {
    this.#rule ??= toRule(fieldsOf(this.record));
    return this.#rule;
  }

  /** Drops the parsed form to free memory; `rule` parses again. */
  forgetParsed(): void {
    this.#rule = undefined;
  }

  /** True when earlier datapoints influence the evaluation of later ones. */
  get hasMemory(): boolean {
    this.#hasMemory ??= remembers(this.rule);
    return this.#hasMemory;
  }

  /**
   * Until when throttling prevents firings. Only for rules without state, because a rule with state needs each
   * datapoint.
   */
  get throttledUntilMs(): number {
    const { lastFiredMs } = this.ruleState;
    const { throttlingMs } = this.rule;
    const isThrottled = !this.hasMemory && lastFiredMs !== undefined && throttlingMs > 0;
    return isThrottled ? lastFiredMs + throttlingMs : Number.NEGATIVE_INFINITY;
  }

  /** Plans an alarm; false where one is planned for that time or earlier. */
  planAlarm(device: DeviceId, atMs: number): boolean {
    const planned = this.#alarmsMs?.get(device);
    if (planned !== undefined && planned <= atMs) return false;
    this.#alarmsMs ??= new Map();
    this.#alarmsMs.set(device, atMs);
    return true;
  }

  alarmTaken(device: DeviceId): void {
    this.#alarmsMs?.delete(device);
  }

  memoryOf(device: DeviceId): RuleDeviceState {
    if (!this.hasMemory) return newDeviceState();
    this.#memories ??= new Map();
    let memory = this.#memories.get(device);
    if (memory === undefined) {
      memory = newDeviceState();
      this.#memories.set(device, memory);
    }
    return memory;
  }
}

function fieldsOf({ conditionJson, actionJson, throttlingS, expiresMs, extras }: WatchedRule): NotificationFields {
  return {
    condition: JSON.parse(conditionJson) as JsonObject,
    action: JSON.parse(actionJson) as JsonObject,
    status: 'active',
    throttlingS,
    ...extras,
    ...(expiresMs === undefined ? {} : { expiresMs }),
  };
}

function remembers({ rearm, forMs, silenceMs, recoveryMessage }: Rule): boolean {
  return rearm !== undefined || forMs > 0 || silenceMs !== undefined || recoveryMessage !== undefined;
}

/** The rules that the datapoints of one sensor concern. */
export class SensorRules {
  readonly entries: RuleEntry[] = [];
  /** No rule fires between these times, in milliseconds since 1970 UTC; may end before the real end of throttling. */
  #throttledFromMs = Number.POSITIVE_INFINITY;
  #throttledUntilMs = Number.NEGATIVE_INFINITY;
  readonly #sensor: SensorId;
  /** Undefined: not computed yet. Null: a number alone does not decide. */
  #noFireRange: NoFireRange | null | undefined;

  constructor(sensor: SensorId) {
    this.#sensor = sensor;
  }

  /** Whether throttling keeps all rules from firing; not before the last firing, where the clock was set back. */
  isThrottled(atMs: number): boolean {
    return atMs < this.#throttledUntilMs && atMs >= this.#throttledFromMs;
  }

  /** Computes what `isThrottled` says; call after all rules were evaluated for a datapoint. */
  updateThrottled(atMs: number): void {
    let untilMs = Number.POSITIVE_INFINITY;
    let fromMs = Number.NEGATIVE_INFINITY;
    for (const { throttledUntilMs, ruleState } of this.entries) {
      untilMs = Math.min(untilMs, throttledUntilMs);
      fromMs = Math.max(fromMs, ruleState.lastFiredMs ?? fromMs);
      if (untilMs > atMs) continue;
      // One rule that is not throttled decides: its datapoints must be evaluated.
      untilMs = Number.NEGATIVE_INFINITY;
      break;
    }
    this.#throttledFromMs = fromMs;
    this.#throttledUntilMs = untilMs;
  }

  /** True where no rule can fire or change its state at this value. */
  cannotFireAt(value: number): boolean {
    if (this.#noFireRange === undefined) this.#noFireRange = this.#findNoFireRange() ?? null;
    return this.#noFireRange !== null && isInNoFireRange(value, this.#noFireRange);
  }

  #findNoFireRange(): NoFireRange | undefined {
    const expressions: Expression[] = [];
    for (const { hasMemory, rule } of this.entries) {
      if (hasMemory) return undefined;
      if (rule.expression !== undefined) expressions.push(rule.expression);
    }
    return noFireRangeOf(expressions, this.#sensor);
  }
}

/** The rules of one device, by the sensors whose datapoints they are evaluated for. */
export class SortedRules {
  /** By sensor. A sensor whose value is only read, but triggers no rule, has no `entries`. */
  readonly bySensor: ReadonlyMap<SensorId, SensorRules>;
  readonly authors: readonly UserKey[];
  /** True where time alone may make one of the rules fire. */
  readonly hasTimes: boolean;

  constructor(entries: ReadonlySet<RuleEntry>) {
    this.bySensor = sortBySensor(entries);
    this.authors = [...new Set([...entries].map(({ record }) => record.author))];
    this.hasTimes = [...entries].some(({ record }) => record.hasTimes);
  }
}

function sortBySensor(entries: ReadonlySet<RuleEntry>): ReadonlyMap<SensorId, SensorRules> {
  const bySensor = new Map<SensorId, SensorRules>();
  for (const entry of entries) {
    for (const sensor of entry.rule.values) if (!bySensor.has(sensor)) bySensor.set(sensor, new SensorRules(sensor));
    for (const sensor of entry.rule.sensors) bySensor.get(sensor)?.entries.push(entry);
  }
  return bySensor;
}

/** The rules of one device as the index holds them. */
interface DeviceRules {
  readonly entries: Set<RuleEntry>;
  /** Computed when first needed; dropped when a rule of the device changes or memory is short. */
  sorted: SortedRules | undefined;
  /**
   * Bytes that `sorted` takes, and the rules parsed for it. Both stay when a rule of the device changes, until it is
   * sorted anew.
   */
  sortedBytes: number;
  parsed: Set<RuleEntry>;
}

/** Measured bytes of memory of a rule without its texts and devices. */
const ruleBytes = 400;
/** Measured bytes of memory for each device of a rule. */
const ruleDeviceBytes = 300;
/** Measured bytes of memory for each sensor in `SortedRules`. */
const sortedSensorBytes = 300;
/** Bytes of a rule in `SortedRules`, with its place in the set of parsed rules. */
const sortedEntryBytes = 64;
/** Measured bytes of memory of a rule's state for one device; and for one of its sensors that may fall silent. */
const deviceStateBytes = 500;
const silentSensorBytes = 128;
/**
 * Estimated bytes for each character of a parsed condition; and for each character beyond `longConditionChars`, which
 * in the worst case are short ids of sensors. Long conditions count as if they were always parsed.
 */
const parsedBytesEach = 4;
const longConditionChars = 1024;
const longConditionBytesEach = 12;

function weightOf(rule: RuleWeight): number {
  const { devices, conditionJson, actionJson, extras } = rule;
  const { hysteresis = '', recoveryMessage = '', forS = 0, silenceS } = extras;
  const texts = [conditionJson, actionJson, hysteresis, recoveryMessage];
  const textBytes = texts.reduce((sum, text) => sum + textHeapBytes(text), longConditionBytes(conditionJson));
  const hasState = hysteresis !== '' || recoveryMessage !== '' || forS > 0 || silenceS !== undefined;
  const silentBytes = silenceS === undefined ? 0 : sensorsIn(rule) * silentSensorBytes;
  const deviceBytes = ruleDeviceBytes + (hasState ? deviceStateBytes : 0) + silentBytes;
  // A rule with state is parsed when it is loaded, and stays parsed.
  const parsedBytes = hasState ? parsedBytesEach * (conditionJson.length + entryBytes) : 0;
  return ruleBytes + textBytes + parsedBytes + devices.length * deviceBytes;
}

function longConditionBytes(conditionJson: string): number {
  return Math.max(0, conditionJson.length - longConditionChars) * longConditionBytesEach;
}

/** The number of sensors of a device that the rule watches, whether the device has them or not. */
function sensorsIn({ conditionJson, actionJson, extras }: RuleWeight): number {
  const condition = JSON.parse(conditionJson) as JsonObject;
  const action = JSON.parse(actionJson) as JsonObject;
  return toRule({ condition, action, status: 'active', throttlingS: 0, ...extras }).sensors.length;
}

function parsedBytesOf({ record: { conditionJson } }: RuleEntry): number {
  return parsedBytesEach * (conditionJson.length + entryBytes) + longConditionBytes(conditionJson);
}

export class RuleIndex {
  readonly #devices = new Map<DeviceId, DeviceRules>();
  readonly #entries = new Map<NotificationId, RuleEntry>();
  readonly #budget = new FairBudget<UserKey>(limits.ruleBytesMax, {
    multiple: limits.ruleBytesMultiple,
    pool: remembered,
  });
  /** Devices with sorted rules, or whose rules were sorted until one changed; the oldest first. */
  readonly #sorted = new Set<DeviceRules>();
  #sortedBytes = 0;

  get size(): number {
    return this.#entries.size;
  }

  of(device: DeviceId): SortedRules | undefined {
    const rules = this.#devices.get(device);
    return rules === undefined ? undefined : (rules.sorted ?? this.#sort(rules));
  }

  /** Whether a datapoint may concern a rule, without parsing any: true while the rules of its device are not sorted. */
  mayConcern(device: DeviceId, sensor: SensorId): boolean {
    const rules = this.#devices.get(device);
    return rules !== undefined && rules.sorted?.bySensor.has(sensor) !== false;
  }

  /**
   * Parses the unparsed rules of a device, one in each step, because a device may have thousands and `of` needs all.
   */
  *parse(device: DeviceId): Generator<Rule> {
    const rules = this.#devices.get(device);
    if (rules !== undefined && rules.sorted === undefined) for (const entry of rules.entries) yield entry.rule;
  }

  find(id: NotificationId): RuleEntry | undefined {
    return this.#entries.get(id);
  }

  entries(): IterableIterator<RuleEntry> {
    return this.#entries.values();
  }

  /**
   * Reserves memory for a rule that is about to be stored, or for its growth.
   * @returns the function that ends the reservation; call it when the rule is in the index, or will not be.
   * @throws Refusal `busy` where the existing rules leave no memory for it.
   */
  reserve(author: UserKey, rule: RuleWeight, before?: RuleWeight): () => void {
    const bytes = weightOf(rule) - (before === undefined ? 0 : weightOf(before));
    if (bytes <= 0) return () => {};
    if (!this.#budget.take(author, bytes))
      throw new Refusal('busy', 'There is no memory for more active rules. Stop or remove some of yours.', {
        retryAfterS: limits.rulesRetryAfterS,
      });
    return () => this.#budget.release(author, bytes);
  }

  add(record: WatchedRule): RuleEntry {
    this.remove(record.id);
    const entry = new RuleEntry(record);
    this.#entries.set(record.id, entry);
    // Counted even beyond the budget: a rule that is stored must be evaluated.
    this.#budget.count(record.author, entry.weight);
    for (const device of new Set(record.devices)) {
      const rules = this.#devices.get(device) ?? {
        entries: new Set(),
        sorted: undefined,
        sortedBytes: 0,
        parsed: new Set(),
      };
      this.#devices.set(device, rules);
      rules.entries.add(entry);
      rules.sorted = undefined;
    }
    return entry;
  }

  remove(id: NotificationId): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.isGone = true;
    this.#entries.delete(id);
    this.#budget.release(entry.record.author, entry.weight);
    for (const device of entry.record.devices) {
      const rules = this.#devices.get(device);
      if (rules === undefined) continue;
      rules.entries.delete(entry);
      rules.sorted = undefined;
      if (rules.parsed.delete(entry)) this.#letGo([entry]);
      if (rules.entries.size > 0) continue;
      this.#forgetSorted(rules);
      this.#devices.delete(device);
    }
  }

  /** Empties the index. */
  clear(): void {
    for (const entry of this.#entries.values()) {
      entry.isGone = true;
      this.#budget.release(entry.record.author, entry.weight);
    }
    this.#devices.clear();
    this.#entries.clear();
    this.#sorted.clear();
    this.#sortedBytes = 0;
  }

  #sort(rules: DeviceRules): SortedRules {
    const { parsed } = rules;
    const sorted = new SortedRules(rules.entries);
    // Counts the new rules before it releases the old ones, so that rules in both are not parsed again.
    this.#hold(rules, sorted);
    this.#letGo(parsed);
    for (const oldest of this.#sorted) {
      if (this.#sortedBytes <= limits.sortedRuleBytesMax || oldest === rules) break;
      this.#forgetSorted(oldest);
    }
    return sorted;
  }

  /** Counts the memory of a device's sorted rules. A rule that several devices have is parsed, and counted, once. */
  #hold(rules: DeviceRules, sorted: SortedRules): void {
    const bytes = sorted.bySensor.size * sortedSensorBytes + rules.entries.size * sortedEntryBytes;
    this.#sortedBytes += bytes - rules.sortedBytes;
    rules.sorted = sorted;
    rules.sortedBytes = bytes;
    rules.parsed = new Set(rules.entries);
    for (const entry of rules.parsed) {
      if (entry.sortedFor === 0) this.#sortedBytes += parsedBytesOf(entry);
      entry.sortedFor += 1;
    }
    this.#sorted.delete(rules);
    this.#sorted.add(rules);
  }

  #letGo(parsed: Iterable<RuleEntry>): void {
    for (const entry of parsed) {
      entry.sortedFor -= 1;
      if (entry.sortedFor > 0) continue;
      this.#sortedBytes -= parsedBytesOf(entry);
      entry.forgetParsed();
    }
  }

  #forgetSorted(rules: DeviceRules): void {
    const { parsed } = rules;
    this.#sortedBytes -= rules.sortedBytes;
    this.#sorted.delete(rules);
    rules.sorted = undefined;
    rules.sortedBytes = 0;
    rules.parsed = new Set();
    this.#letGo(parsed);
  }
}
