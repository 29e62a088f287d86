// Computes the range of numbers at which no rule of a sensor can fire, so that a normal datapoint costs one comparison
// for all rules of its sensor. Must agree with expression-evaluation.ts: where one number alone does not decide, there
// is no range and the expressions are evaluated.
import type { Expression } from './expression.ts';

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
