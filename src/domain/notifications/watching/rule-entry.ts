// An active rule in memory: its record, parsed when it is first needed, and the state that evaluations change.
import type { DeviceId } from '../../devices/device.ts';
import { newDeviceState, parseDeviceState, type RuleDeviceState, type RuleState } from '../rules/firing.ts';
import type { JsonObject, NotificationFields } from '../rules/notification.ts';
import { type Rule, toRule } from '../rules/rule.ts';
import { weightOf } from './rule-weight.ts';
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
  /** By device: the time of its timer. */
  #timersMs: Map<DeviceId, number> | undefined;

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

  /** Plans a timer; false where one is planned for that time or earlier. */
  planTimer(device: DeviceId, atMs: number): boolean {
    const planned = this.#timersMs?.get(device);
    if (planned !== undefined && planned <= atMs) return false;
    this.#timersMs ??= new Map();
    this.#timersMs.set(device, atMs);
    return true;
  }

  timerTaken(device: DeviceId): void {
    this.#timersMs?.delete(device);
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
