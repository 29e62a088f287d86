// The rules of a device by the sensors that they concern, and which datapoints need no evaluation: numbers at which no rule
// can fire.
import type { SensorId } from '../../devices/sensor.ts';
import type { UserKey } from '../../users/user.ts';
import type { Expression } from '../rules/expression.ts';
import { isInNoFireRange, type NoFireRange, noFireRangeOf } from '../rules/expression-evaluation.ts';
import type { RuleEntry } from './rule-entry.ts';

/** The rules that the datapoints of one sensor concern. */
export class SensorRules {
  readonly entries: RuleEntry[] = [];
  readonly #sensor: SensorId;
  /** Undefined: not computed yet. Null: a number alone does not decide. */
  #noFireRange: NoFireRange | null | undefined;

  constructor(sensor: SensorId) {
    this.#sensor = sensor;
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
