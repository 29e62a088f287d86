// Numbers at which a rule that looks at one sensor cannot fire, so that a usual datapoint is done with one comparison for
// all rules of its sensor. Says the same as expression-evaluation.ts; what it cannot tell from one number it leaves to that.
import type { Expression } from './expression.ts';

/** The expression can hold only beyond these bounds: no value between them fires a rule. */
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

/** Where none of the expressions holds when this sensor has such a value; undefined where that is not told by it alone. */
export function noFireRangeOf(expressions: readonly Expression[], sensor: string): NoFireRange | undefined {
  let noFireRange: NoFireRange | undefined = everywhere;
  for (const expression of expressions) noFireRange = both(noFireRange, calmOfOne(expression, sensor));
  return noFireRange;
}

function calmOfOne(expression: Expression, sensor: string): NoFireRange | undefined {
  if (expression.kind === 'or') return noFireRangeOf(expression.terms, sensor);
  if (expression.kind === 'and') {
    // Where one term does not hold, all do not.
    for (const term of expression.terms) {
      const noFireRange = calmOfOne(term, sensor);
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
