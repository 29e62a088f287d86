// Decides whether an expression holds (contract 7), given the last value of each sensor. Pure; its cost is bounded by
// the bounds of the expression. A sensor's value can be read in two ways:
//
//   as a number   a number; true as 1, false as 0; a text that is wholly a decimal number (devices without JSON send it)
//   as a text     a text; a number or a boolean as JSON writes it
//
// An item that is a number is compared with the value as a number, an item that is a text with the value as a text (<
// and > then compare characters). A value that cannot be read that way differs from the item: only != holds. So null,
// arrays and objects are unequal to everything. A sensor that never had a value makes every comparison false, != too,
// because nothing is known of it.
//
// The no-fire range gives the values at which none of a sensor's rules can fire, where a number alone decides. With
// it a normal datapoint takes one comparison for all rules.
import { doubleOf } from '../../../base/text/exact-number.ts';
import type { Json } from '../../../base/text/json.ts';
import type { ComparedValue, ComparisonOperator, Expression } from './expression.ts';

/** The last value of a sensor; undefined where it never had one. */
export type Lookup = (sensor: string) => Json | undefined;

/** Whether the expression holds for the values that `lookup` returns. */
export function holds(expression: Expression, lookup: Lookup): boolean {
  switch (expression.kind) {
    case 'always':
      return true;
    case 'present':
      return lookup(expression.sensor) !== undefined;
    case 'and':
      return expression.terms.every((term) => holds(term, lookup));
    case 'or':
      return expression.terms.some((term) => holds(term, lookup));
    case 'compare': {
      const { operator, items } = expression;
      const value = lookup(expression.sensor);
      if (value === undefined) return false;
      if (operator === '!=') return !items.some((item) => isMet(value, '==', item));
      return items.some((item) => isMet(value, operator, item));
    }
  }
}

function isMet(value: Json, operator: Exclude<ComparisonOperator, '!='>, item: ComparedValue): boolean {
  if (typeof item === 'string') {
    const text = asText(value);
    return text !== undefined && compare(text, operator, item);
  }
  const number = asNumber(value);
  if (number === undefined) return false;
  return typeof item === 'number' ? compare(number, operator, item) : item.from <= number && number <= item.to;
}

function compare<T extends number | string>(value: T, operator: Exclude<ComparisonOperator, '!='>, item: T): boolean {
  switch (operator) {
    case '<':
      return value < item;
    case '<=':
      return value <= item;
    case '>':
      return value > item;
    case '>=':
      return value >= item;
    case '==':
      return value === item;
  }
}

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function asNumber(value: Json): number | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0;
  const double = doubleOf(value);
  if (double !== undefined) return double;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return decimal.test(text) ? Number(text) : undefined;
}

function asText(value: Json): string | undefined {
  if (typeof value === 'string') return value;
  return doubleOf(value) !== undefined || typeof value === 'boolean' ? JSON.stringify(value) : undefined;
}

/** Bounds of values: no value inside them makes the expression true. */
export interface NoFireRange {
  readonly above: number;
  readonly atLeast: number;
  readonly below: number;
  readonly atMost: number;
}

const everywhere: NoFireRange = {
  above: Number.POSITIVE_INFINITY,
  atLeast: Number.POSITIVE_INFINITY,
  below: Number.NEGATIVE_INFINITY,
  atMost: Number.NEGATIVE_INFINITY,
};

/** Whether the value is inside the range, so that no rule can fire because of it. */
export function isInNoFireRange(value: number, { above, atLeast, below, atMost }: NoFireRange): boolean {
  return !(value > above || value >= atLeast || value < below || value <= atMost);
}

/**
 * The range in which none of the expressions holds; undefined where other sensors, or values that are not numbers,
 * decide too.
 */
export function noFireRangeOf(expressions: readonly Expression[], sensor: string): NoFireRange | undefined {
  let noFireRange: NoFireRange | undefined = everywhere;
  for (const expression of expressions) noFireRange = both(noFireRange, noFireRangeOfOne(expression, sensor));
  return noFireRange;
}

function noFireRangeOfOne(expression: Expression, sensor: string): NoFireRange | undefined {
  if (expression.kind === 'or') return noFireRangeOf(expression.terms, sensor);
  if (expression.kind === 'and') {
    // One false term makes the conjunction false.
    for (const term of expression.terms) {
      const noFireRange = noFireRangeOfOne(term, sensor);
      if (noFireRange !== undefined) return noFireRange;
    }
    return undefined;
  }
  if (expression.kind !== 'compare' || expression.sensor !== sensor) return undefined;
  const [item] = expression.items;
  if (typeof item !== 'number') return undefined;
  switch (expression.operator) {
    case '>':
      return { ...everywhere, above: item };
    case '>=':
      return { ...everywhere, atLeast: item };
    case '<':
      return { ...everywhere, below: item };
    case '<=':
      return { ...everywhere, atMost: item };
    default:
      return undefined;
  }
}

function both(one: NoFireRange | undefined, other: NoFireRange | undefined): NoFireRange | undefined {
  if (one === undefined || other === undefined) return undefined;
  return {
    above: Math.min(one.above, other.above),
    atLeast: Math.min(one.atLeast, other.atLeast),
    below: Math.max(one.below, other.below),
    atMost: Math.max(one.atMost, other.atMost),
  };
}
