// The active rules in memory, by device and sensor: a datapoint of a device without rules costs one look. What a rule
// says is parsed when something first concerns it. Bounded by the rules that users may have.
import type { DeviceId } from '../devices/device.ts';
import type { SensorId } from '../sensors/sensor.ts';
import type { UserKey } from '../users/user.ts';
import { type Calm, calmOf, isCalm } from './calm.ts';
import type { Expression } from './expression.ts';
import { type Memory, newMemory, parseMemory, type Standing } from './firing.ts';
import type { JsonObject, NotificationFields, NotificationId } from './notification.ts';
import { type Rule, toRule } from './rule.ts';
import type { WatchedRule } from './watch-store.ts';

/** A rule that is watched, and where it stands. */
export class WatchedEntry {
  readonly record: WatchedRule;
  readonly standing: Standing;
  timesSent: number;
  /** Datapoints up to this seq do not concern it any more. */
  afterSeq: number;
  /** True when it is no longer in the index. */
  isGone = false;
  #rule: Rule | undefined;
  #hasMemory: boolean | undefined;
  // Most rules have neither, and there may be hundreds of thousands.
  #memories: Map<DeviceId, Memory> | undefined;
  /** When it is to look at a device again at the latest. */
  #alarmsMs: Map<DeviceId, number> | undefined;

  constructor(record: WatchedRule) {
    this.record = record;
    this.standing = { lastFiredMs: record.lastFiredMs };
    this.timesSent = record.timesSent;
    this.afterSeq = record.afterSeq;
    if (record.memories.length > 0)
      this.#memories = new Map(record.memories.map(({ device, memory }) => [device, parseMemory(memory)]));
  }

  get rule(): Rule {
    this.#rule ??= toRule(fieldsOf(this.record));
    return this.#rule;
  }

  /** True when what happened before matters for what happens next. */
  get hasMemory(): boolean {
    this.#hasMemory ??= remembers(this.rule);
    return this.#hasMemory;
  }

  /** Until when no datapoint can make it fire, whatever its value: it is throttled. */
  get asleepUntilMs(): number {
    const { lastFiredMs } = this.standing;
    const { throttlingMs } = this.rule;
    const isThrottled = !this.hasMemory && lastFiredMs !== undefined && throttlingMs > 0;
    return isThrottled ? lastFiredMs + throttlingMs : Number.NEGATIVE_INFINITY;
  }

  /** False where it looks at the device by then anyway. */
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

  memoryOf(device: DeviceId): Memory {
    if (!this.hasMemory) return newMemory();
    this.#memories ??= new Map();
    let memory = this.#memories.get(device);
    if (memory === undefined) {
      memory = newMemory();
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
  readonly entries: WatchedEntry[] = [];
  /** Until when none of them can fire, whatever comes, as far as that is known. */
  asleepUntilMs = Number.NEGATIVE_INFINITY;
  readonly #sensor: SensorId;
  /** Null where it takes more than a number to tell. */
  #calm: Calm | null | undefined;

  constructor(sensor: SensorId) {
    this.#sensor = sensor;
  }

  /** True where none of them can fire, nor has anything to remember, because of the value that came, as reads show it. */
  isCalmAt(value: number): boolean {
    if (this.#calm === undefined) this.#calm = this.#findCalm() ?? null;
    return this.#calm !== null && isCalm(value, this.#calm);
  }

  #findCalm(): Calm | undefined {
    const expressions: Expression[] = [];
    for (const { hasMemory, rule } of this.entries) {
      if (hasMemory) return undefined;
      if (rule.expression !== undefined) expressions.push(rule.expression);
    }
    return calmOf(expressions, this.#sensor);
  }
}

/** The rules of one device. */
export class DeviceRules {
  readonly rules = new Set<WatchedEntry>();
  #bySensor: ReadonlyMap<SensorId, SensorRules> | undefined;
  #authors: readonly UserKey[] | undefined;
  #hasTimes: boolean | undefined;

  /** By sensor; one whose values are needed and that makes no rule look has none. */
  get bySensor(): ReadonlyMap<SensorId, SensorRules> {
    this.#bySensor ??= this.#sort();
    return this.#bySensor;
  }

  /** True where time alone may make one of them fire. */
  get hasTimes(): boolean {
    this.#hasTimes ??= [...this.rules].some(({ record }) => record.hasTimes);
    return this.#hasTimes;
  }

  get authors(): readonly UserKey[] {
    this.#authors ??= [...new Set([...this.rules].map(({ record }) => record.author))];
    return this.#authors;
  }

  changed(): void {
    this.#authors = undefined;
    this.#hasTimes = undefined;
    this.#bySensor = undefined;
  }

  #sort(): ReadonlyMap<SensorId, SensorRules> {
    const bySensor = new Map<SensorId, SensorRules>();
    for (const entry of this.rules) {
      for (const sensor of entry.rule.values) if (!bySensor.has(sensor)) bySensor.set(sensor, new SensorRules(sensor));
      for (const sensor of entry.rule.sensors) bySensor.get(sensor)?.entries.push(entry);
    }
    return bySensor;
  }
}

export class RuleIndex {
  readonly #devices = new Map<DeviceId, DeviceRules>();
  readonly #entries = new Map<NotificationId, WatchedEntry>();

  get size(): number {
    return this.#entries.size;
  }

  of(device: DeviceId): DeviceRules | undefined {
    return this.#devices.get(device);
  }

  find(id: NotificationId): WatchedEntry | undefined {
    return this.#entries.get(id);
  }

  entries(): IterableIterator<WatchedEntry> {
    return this.#entries.values();
  }

  add(record: WatchedRule): WatchedEntry {
    this.remove(record.id);
    const entry = new WatchedEntry(record);
    this.#entries.set(record.id, entry);
    for (const device of new Set(record.devices)) {
      const rules = this.#devices.get(device) ?? new DeviceRules();
      this.#devices.set(device, rules);
      rules.rules.add(entry);
      rules.changed();
    }
    return entry;
  }

  remove(id: NotificationId): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.isGone = true;
    this.#entries.delete(id);
    for (const device of entry.record.devices) {
      const rules = this.#devices.get(device);
      rules?.rules.delete(entry);
      rules?.changed();
      if (rules?.rules.size === 0) this.#devices.delete(device);
    }
  }

  /** Empties the index. */
  clear(): void {
    this.#devices.clear();
    this.#entries.clear();
  }
}
