// Conditions of a `q` filter on the last datapoint of a sensor: `sensors.last_value.value>20`. That datapoint may still be in
// the log, which no SQL reads, so each engine finds it in its own way (`lastValuesMeet` of its dialect) and asks the tests
// made here. They compare as comparison.ts does for columns, and see the value as reads show it, calibrated.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { doubleOf, doubleOfText, parseExactly } from '../../../../base/text/exact-number.ts';
import type { Json } from '../../../../base/text/json.ts';
import { type Calibration, calibrate } from '../../../../domain/devices/calibration.ts';
import type { Condition, Filter } from '../../../../domain/devices/filter.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import { numbersOf, refuseField, toMilliseconds } from './comparison.ts';

const names = ['last_value', 'value'];
const times = ['timestamp', 'date_received'];

/** The last datapoint of a sensor as tests see it; times in milliseconds since 1970 UTC. */
export class LastDatapoint {
  readonly timestampMs: number | undefined;
  readonly receivedMs: number;
  /** The double of a value that is a number, or nearest to one; NaN for other values. */
  readonly number: number;
  #json: string | undefined;
  #value: Json | undefined;

  /** @param value undefined where it has more than `filterValueBytesMax` bytes: then it is equal to nothing. */
  constructor(point: {
    readonly value: number | string | undefined;
    readonly timestampMs: number | undefined;
    readonly receivedMs: number;
  }) {
    const { value } = point;
    this.timestampMs = point.timestampMs;
    this.receivedMs = point.receivedMs;
    this.number = typeof value === 'number' ? value : doubleOfText(value);
    this.#json = typeof value === 'string' ? value : undefined;
  }

  /** A value that is no number, parsed once for all tests. */
  get value(): Json | undefined {
    if (this.#json !== undefined) {
      this.#value = parseExactly(this.#json);
      this.#json = undefined;
    }
    return this.#value;
  }
}

export interface LastValueTest {
  /** True for `!=`: then no sensor of the device may meet the test, else one of them must. */
  readonly isNegated: boolean;
  /** True where it is about the whole value, which calibration changes where it is a number. */
  readonly isOfWhole: boolean;
  meets(point: LastDatapoint): boolean;
  meetsNumber(number: number, calibration: Calibration | undefined): boolean;
}

/** Whether the condition is one on the last value of sensors. */
export function isOnLastValue({ path: [field, name = ''] }: Condition): boolean {
  return field === 'sensors' && names.includes(name);
}

/**
 * All conditions on last values as one, so that the log is read once: for each, one of the sensors of the device (or
 * none, for `!=`) has such a last value.
 * @param isReadable whether the values of the device may be known; others are as if there were none.
 * @throws Refusal `malformed` for fields that a datapoint does not have, and for invalid times.
 */
export function lastValueCondition(
  asked: Filter,
  using: { readonly dialect: SqlDialect; readonly fields: string; readonly isReadable: RawBuilder<SqlBool> },
): RawBuilder<SqlBool> {
  for (const condition of asked) assertField(condition, using.fields);
  const isMet = using.dialect.lastValuesMeet(sql`device.key`, JSON.stringify(asked));
  // A device without values meets `!=` alone.
  return asked.every(({ operator }) => operator === '!=')
    ? sql<SqlBool>`(NOT ${using.isReadable} OR ${isMet})`
    : sql<SqlBool>`(${using.isReadable} AND ${isMet})`;
}

/** @param asked as `lastValueCondition` hands it to the dialect. */
export function parseLastValueTests(asked: string): readonly LastValueTest[] {
  return (JSON.parse(asked) as Filter).map((condition) => {
    const [, , field = '', ...deeper] = condition.path;
    return times.includes(field) ? timeTest(field, condition) : valueTest(deeper, condition);
  });
}

/** Which tests the datapoint meets, bit n for test n, but for those of a number, which may be calibrated. */
export function metBy(tests: readonly LastValueTest[], point: LastDatapoint): number {
  const isNumber = !Number.isNaN(point.number);
  let met = 0;
  for (const [index, test] of tests.entries())
    if (!(isNumber && test.isOfWhole) && test.meets(point)) met |= 1 << index;
  return met;
}

/** Which tests of whole values the number meets. */
export function metByNumber(
  tests: readonly LastValueTest[],
  number: number,
  calibration: Calibration | undefined,
): number {
  let met = 0;
  for (const [index, test] of tests.entries())
    if (test.isOfWhole && test.meetsNumber(number, calibration)) met |= 1 << index;
  return met;
}

/** @param met the tests that any of the device's sensors meets. */
export function areMet(tests: readonly LastValueTest[], met: number): boolean {
  return tests.every(({ isNegated }, index) => ((met & (1 << index)) !== 0) !== isNegated);
}

function assertField(condition: Condition, fields: string): void {
  const [, , field = '', ...deeper] = condition.path;
  if (times.includes(field) && deeper.length === 0) condition.values.forEach(toMilliseconds);
  else if (field !== 'value') refuseField(condition, fields);
}

function timeTest(field: string, { operator, values }: Condition): LastValueTest {
  const wanted = values.map(toMilliseconds);
  return {
    isNegated: operator === '!=',
    isOfWhole: false,
    meets: ({ timestampMs, receivedMs }) => {
      const ms = field === 'timestamp' ? timestampMs : receivedMs;
      return ms !== undefined && wanted.some((one) => isMet(operator, ms - one));
    },
    meetsNumber: () => false,
  };
}

function valueTest(path: readonly string[], { operator, values }: Condition): LastValueTest {
  const numbers = numbersOf(values);
  const bytes = values.map((value) => Buffer.from(value));
  const isNumberMet = (number: number) => numbers.some((one) => isMet(operator, number - one));
  const isTextMet = (text: string) => {
    const found = Buffer.from(text);
    return bytes.some((one) => isMet(operator, Buffer.compare(found, one)));
  };
  return {
    isNegated: operator === '!=',
    isOfWhole: path.length === 0,
    meets: (point) => {
      const found = valueAt(point.value, path);
      if (found === undefined || found === null) return false;
      const number = doubleOf(found);
      if (number !== undefined) return isNumberMet(number);
      return isTextMet(typeof found === 'string' ? found : JSON.stringify(found));
    },
    meetsNumber: (number, calibration) => path.length === 0 && isNumberMet(calibrate(number, calibration)),
  };
}

/** @param order below 0 where what was found comes before what is wanted, above 0 where behind it. */
function isMet(operator: Condition['operator'], order: number): boolean {
  // Of `!=` it is asked which sensors are equal.
  if (operator === '==' || operator === '!=') return order === 0;
  if (operator === '>') return order > 0;
  if (operator === '<') return order < 0;
  return operator === '>=' ? order >= 0 : order <= 0;
}

/** The value of nested fields of objects. */
function valueAt(json: Json | undefined, path: readonly string[]): Json | undefined {
  let found = json;
  for (const step of path) {
    if (!isFieldOf(found, step)) return undefined;
    found = (found as { readonly [key: string]: Json })[step];
  }
  return found;
}

/** Lists have no fields, and neither has a number that is kept digit for digit, which is an object here. */
function isFieldOf(json: Json | undefined, name: string): boolean {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false;
  return doubleOf(json) === undefined && Object.hasOwn(json, name);
}
