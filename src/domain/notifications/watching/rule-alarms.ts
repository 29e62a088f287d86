// The open alarms of rules: the devices on which a rule's condition holds. The evaluator asks after each evaluation whether
// that has changed; only then a row changes, in one unit with the firings of the step. In memory because each datapoint asks.
import type { Ids } from '../../../base/ids.ts';
import { limits } from '../../../config/limits.ts';
import { type AlarmChange, subjectOf } from '../../alarms/alarm.ts';
import type { DeviceKey } from '../../device-key.ts';
import { namedSensorOf } from '../../devices/former-ids/sensors-with-former.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Actor, UserKey } from '../../users/user.ts';
import { type Expression, printExpression } from '../rules/expression.ts';
import { holds, type Lookup } from '../rules/expression-evaluation.ts';
import type { RuleDeviceState } from '../rules/firing.ts';
import type { Rule } from '../rules/rule.ts';
import type { WatchedDevice } from './evaluation-step.ts';
import type { RuleEntry } from './rule-entry.ts';
import type { OpenRuleAlarm, RuleKey, WatchStore } from './watch-store.ts';

/** A rule that was evaluated for a device. */
export interface RuleAlarmTurn {
  readonly entry: RuleEntry;
  readonly watched: Pick<WatchedDevice, 'device' | 'lookup'>;
  /** Undefined where the author was removed. */
  readonly author: Actor | undefined;
  /** Whether the rule may say anything about the device now. */
  readonly mayNotify: () => boolean;
  readonly atMs: number;
  /** The sensor by the name that the rule has for it. */
  readonly sensor: string | undefined;
}

export class RuleAlarms {
  readonly #ids: Ids;
  readonly #permissions: Permissions;
  readonly #store: Pick<WatchStore, 'listOpenAlarms'>;
  readonly #byDevice = new Map<DeviceKey, Set<RuleKey>>();
  readonly #byRule = new Map<RuleKey, { readonly author: UserKey; readonly devices: Set<DeviceKey> }>();
  readonly #byAuthor = new Map<UserKey, number>();
  #count = 0;

  constructor(parts: {
    readonly ids: Ids;
    readonly permissions: Permissions;
    readonly watchStore: Pick<WatchStore, 'listOpenAlarms'>;
  }) {
    this.#ids = parts.ids;
    this.#permissions = parts.permissions;
    this.#store = parts.watchStore;
  }

  /** Loads which alarms are open; without keys, of all rules, and forgets what is not stored. */
  async load(rules?: readonly RuleKey[]): Promise<void> {
    if (rules === undefined) this.#clear();
    const limit = limits.watchLoadStep;
    for (let after = 0; ; ) {
      const step = await this.#store.listOpenAlarms({ after, limit, ...(rules === undefined ? {} : { rules }) });
      for (const open of step) this.#add(open);
      const last = step.at(-1);
      if (last === undefined || step.length < limit) return;
      after = last.key;
    }
  }

  /** Whether any rule holds for the device. */
  hasAny(device: DeviceKey): boolean {
    return this.#byDevice.has(device);
  }

  #has(rule: RuleKey, device: DeviceKey): boolean {
    return this.#byDevice.get(device)?.has(rule) === true;
  }

  /**
   * Whether the author's rules may have one more open alarm. Beside the bound, an author has no more than a fixed multiple of
   * what is free (as in callers/fair-share.ts), so that some accounts cannot take all there are.
   */
  #mayOpen(author: UserKey): boolean {
    const { alarmsOpenMax, ruleAlarmsOpenAllMax } = limits;
    const more = (this.#byAuthor.get(author) ?? 0) + 1;
    const free = ruleAlarmsOpenAllMax - this.#count;
    return more <= alarmsOpenMax && more * (ruleAlarmsOpenAllMax - alarmsOpenMax) <= free * alarmsOpenMax;
  }

  #add({ rule, author, device }: Omit<OpenRuleAlarm, 'key'>): void {
    if (this.#has(rule, device)) return;
    const rules = this.#byDevice.get(device) ?? new Set();
    this.#byDevice.set(device, rules.add(rule));
    const of = this.#byRule.get(rule) ?? { author, devices: new Set() };
    of.devices.add(device);
    this.#byRule.set(rule, of);
    this.#byAuthor.set(author, (this.#byAuthor.get(author) ?? 0) + 1);
    this.#count += 1;
  }

  #delete(rule: RuleKey, device: DeviceKey): void {
    const of = this.#byRule.get(rule);
    if (of?.devices.delete(device) !== true) return;
    if (of.devices.size === 0) this.#byRule.delete(rule);
    const rules = this.#byDevice.get(device);
    rules?.delete(rule);
    if (rules?.size === 0) this.#byDevice.delete(device);
    const left = (this.#byAuthor.get(of.author) ?? 0) - 1;
    if (left > 0) this.#byAuthor.set(of.author, left);
    else this.#byAuthor.delete(of.author);
    this.#count -= 1;
  }

  /** Forgets what is known of a rule that was changed or removed. */
  forgetRule(rule: RuleKey): void {
    for (const device of [...(this.#byRule.get(rule)?.devices ?? [])]) this.#delete(rule, device);
  }

  #clear(): void {
    this.#byDevice.clear();
    this.#byRule.clear();
    this.#byAuthor.clear();
    this.#count = 0;
  }

  /** Begins or ends the alarm where the condition has come to hold or holds no longer; of a step one row changes once. */
  look(turn: RuleAlarmTurn, changes: Map<string, AlarmChange>): void {
    const { entry, author, atMs } = turn;
    const { device, lookup } = turn.watched;
    const { key, watchedSinceMs } = entry.record;
    const isOpen = isHolding(entry.rule, entry.hasMemory ? entry.memoryOf(device.id) : undefined, lookup);
    if (isOpen === this.#has(key, device.key)) return;
    if (isOpen && !(this.#mayOpen(entry.record.author) && turn.mayNotify())) return;
    if (isOpen) this.#add({ rule: key, author: entry.record.author, device: device.key });
    else this.#delete(key, device.key);
    const sensor = turn.sensor ?? entry.rule.sensors[0] ?? '';
    const isPersonal = author === undefined || !this.#permissions.speaksForDevice(author, device);
    const subject = subjectOf.rule(key, device.key);
    const base: AlarmChange = changes.get(subject) ?? {
      ...{ kind: 'rule', subject, id: this.#ids.uuid(), begins: 0, atMs, sinceMs: atMs, clearedMs: undefined },
      ...{ rule: { key, watchedSinceMs }, device: device.key, sensor: namedSensorOf(device, sensor)?.key },
      keeper: isPersonal ? entry.record.author : device.ownerKey,
      author: isPersonal ? entry.record.author : undefined,
    };
    const begun = isOpen ? { begins: base.begins + 1, ...factsOf(entry.rule, sensor, lookup) } : {};
    changes.set(subject, { ...base, ...begun, clearedMs: isOpen ? undefined : atMs });
  }
}

/** Whether the rule's condition holds for the device now: with `for` it has lasted, with hysteresis it has not gone back. */
function isHolding(rule: Rule, memory: RuleDeviceState | undefined, lookup: Lookup): boolean {
  if (memory !== undefined) return memory.counts === true || memory.isDisarmed === true || memory.silent.size > 0;
  return rule.expression !== undefined && holds(rule.expression, lookup);
}

function factsOf(
  rule: Rule,
  sensor: string,
  lookup: Lookup,
): Pick<AlarmChange, 'valueJson' | 'condition' | 'threshold'> {
  const { expression, silenceMs } = rule;
  const value = JSON.stringify(lookup(sensor));
  const condition = expression === undefined ? '' : printExpression(expression).slice(0, limits.alarmConditionCharsMax);
  const threshold = expression === undefined ? undefined : thresholdOf(expression, sensor);
  return {
    ...(value === undefined || value.length > limits.alarmValueCharsMax ? {} : { valueJson: value }),
    ...(condition === '' ? {} : { condition }),
    threshold: threshold ?? (expression === undefined && silenceMs !== undefined ? silenceMs / 1000 : undefined),
  };
}

/** The first number with which the expression compares the sensor. */
function thresholdOf(expression: Expression, sensor: string): number | undefined {
  if (expression.kind === 'compare' && expression.sensor === sensor)
    return expression.items.find((item) => typeof item === 'number');
  if (expression.kind !== 'and' && expression.kind !== 'or') return undefined;
  for (const term of expression.terms) {
    const threshold = thresholdOf(term, sensor);
    if (threshold !== undefined) return threshold;
  }
  return undefined;
}
