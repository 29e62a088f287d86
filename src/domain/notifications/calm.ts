// Numbers at which a rule that looks at one sensor cannot fire, so that a usual datapoint is done with one comparison for
// all rules of its sensor. Says the same as evaluation.ts; what it cannot tell from one number it leaves to that.
import type { Expression } from './expression.ts';

/** The expression holds beyond these bounds at most: all that lies between is calm. */
export interface Calm {
  readonly above: number;
  readonly atLeast: number;
  readonly below: number;
  readonly atMost: number;
}

const everywhere: Calm = {
  above: Number.POSITIVE_INFINITY,
  atLeast: Number.POSITIVE_INFINITY,
  below: Number.NEGATIVE_INFINITY,
  atMost: Number.NEGATIVE_INFINITY,
};

export function isCalm(value: number, { above, atLeast, below, atMost }: Calm): boolean {
  return !(value > above || value >= atLeast || value < below || value <= atMost);
}

/** Where none of the expressions holds when this sensor has such a value; undefined where that is not told by it alone. */
export function calmOf(expressions: readonly Expression[], sensor: string): Calm | undefined {
  let calm: Calm | undefined = everywhere;
  for (const expression of expressions) calm = both(calm, calmOfOne(expression, sensor));
  return calm;
}

function calmOfOne(expression: Expression, sensor: string): Calm | undefined {
  if (expression.kind === 'or') return calmOf(expression.terms, sensor);
  if (expression.kind === 'and') {
    // Where one term does not hold, all do not.
    for (const term of expression.terms) {
      const calm = calmOfOne(term, sensor);
      if (calm !== undefined) return calm;
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

function both(one: Calm | undefined, other: Calm | undefined): Calm | undefined {
  if (one === undefined || other === undefined) return undefined;
  return {
    above: Math.min(one.above, other.above),
    atLeast: Math.min(one.atLeast, other.atLeast),
    below: Math.max(one.below, other.below),
    atMost: Math.max(one.atMost, other.atMost),
  };
}
