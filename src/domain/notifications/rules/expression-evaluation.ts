// Whether an expression holds (contract 7), given the last value of each sensor. Pure; bounded by the bounds of the
// expression. A value is seen in two ways:
//
//   as a number   a number; true is 1 and false 0; a text that is wholly a decimal number, as devices without JSON send
//   as a text     a text; a number or a boolean as JSON writes it
//
// A number is compared with the first, a text with the second (< and > then go by the order of characters). What a value
// cannot be seen as it differs from: only != holds. So null, arrays and objects are unequal to everything. A sensor
// without a value, one that nothing was ever pushed to, makes every comparison false, != too: nothing is known of it.
//
// The no-fire range says the same of all rules of one sensor at once, where a number decides alone, so that a normal
// datapoint takes one comparison.
import type { Json } from '../../../base/text/json.ts';
import type { ComparedValue, ComparisonOperator, Expression } from './expression.ts';

/** The last value of a sensor; undefined where it never had one. */
export type Lookup = (sensor: string) => Json | undefined;

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
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return decimal.test(text) ? Number(text) : undefined;
}

function asText(value: Json): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : undefined;
}

/** No value between these bounds makes the expression true. */
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

export function isInNoFireRange(value: number, { above, atLeast, below, atMost }: NoFireRange): boolean {
  return !(value > above || value >= atLeast || value < below || value <= atMost);
}

/** The range in which none of the expressions holds; undefined where other sensors or values decide too. */
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
