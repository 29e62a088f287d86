// The active rules in memory, by device and sensor: a datapoint of a device without rules costs one look-up. Only the
// evaluator parses rules, when they are first needed and in pieces, because a commit may have datapoints of hundreds
// of devices with rules. Bounded in bytes (I4): unparsed rules by `ruleBytesMax`, shared among authors; parsed rules
// and their order by sensor by `sortedRuleBytesMax`, beyond which the oldest are dropped and computed again when
// needed.
import { FairBudget } from '../../../base/memory/fair-budget.ts';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId } from '../../devices/sensor.ts';
import { remembered } from '../../remembered.ts';
import type { UserKey } from '../../users/user.ts';
import type { NotificationId } from '../rules/notification.ts';
import type { Rule } from '../rules/rule.ts';
import type { RuleWeight } from '../rules/rule-changes.ts';
import { RuleEntry } from './rule-entry.ts';
import { parsedBytesOf, weightOf } from './rule-weight.ts';
import { SortedRules } from './sorted-rules.ts';
import type { WatchedRule } from './watch-store.ts';

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

/** Measured bytes of memory for each sensor in `SortedRules`. */
const sortedSensorBytes = 300;
/** Bytes of a rule in `SortedRules`, with its place in the set of parsed rules. */
const sortedEntryBytes = 64;

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

  /**
   * Whether a datapoint may concern a rule, without parsing any: true while the rules of its device are not sorted, and where
   * they may name the sensor by another id.
   */
  mayConcern(device: DeviceId, sensor: SensorId, { hasOtherNames = false } = {}): boolean {
    const rules = this.#devices.get(device);
    return rules !== undefined && (hasOtherNames || rules.sorted?.bySensor.has(sensor) !== false);
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

  /** The rules that watch the device. */
  listWatching(device: DeviceId): NotificationId[] {
    return Array.from(this.#devices.get(device)?.entries ?? [], ({ record }) => record.id);
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
      if (entry.sortedFor === 0) this.#sortedBytes += parsedBytesOf(entry.record);
      entry.sortedFor += 1;
    }
    this.#sorted.delete(rules);
    this.#sorted.add(rules);
  }

  #letGo(parsed: Iterable<RuleEntry>): void {
    for (const entry of parsed) {
      entry.sortedFor -= 1;
      if (entry.sortedFor > 0) continue;
      this.#sortedBytes -= parsedBytesOf(entry.record);
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
