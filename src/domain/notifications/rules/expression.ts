// The expression of a rule's condition (contract 7) as a tree: its types and grammar, how it is printed, and which
// sensors it names. Parsed by expression-parser.ts, evaluated by expression-evaluation.ts. Printing what was parsed
// gives an expression that parses to the same tree.
//
//   expression = [ all { "||" all } ]              nothing at all is always true
//   all        = term { ( ";" | "&&" ) term }      binds tighter than ||
//   term       = "(" expression ")" | sensor [ operator items ]
//   items      = item { "," item }                 several, or a range, with == and != alone
//   item       = number [ ".." number ] | text
//   sensor     = the bare id, or the id in quotes
//   text       = characters in "…" or '…'; a backslash keeps the quote or backslash after it
//
// Ids may contain ! and |. So a bare id ends before "||", and before "!=" unless that "!" belongs to an id before
// "==". To mean something else, put spaces around the operator, or the id in quotes.

/** The operators of comparisons. */
export type ComparisonOperator = '<' | '<=' | '>' | '>=' | '==' | '!=';

/** The value of a comparison: a number, a text, or a range with both ends. */
export type ComparedValue = number | string | { readonly from: number; readonly to: number };

export type Expression =
  | { readonly kind: 'always' }
  /** The sensor has a value. */
  | { readonly kind: 'present'; readonly sensor: string }
  /** One item, or with `==` and `!=` several: equal to any of them, or to none of them. */
  | {
      readonly kind: 'compare';
      readonly sensor: string;
      readonly operator: ComparisonOperator;
      readonly items: readonly ComparedValue[];
    }
  /** Two terms or more. */
  | { readonly kind: 'and'; readonly terms: readonly Expression[] }
  | { readonly kind: 'or'; readonly terms: readonly Expression[] };

/** Prints the expression so that it parses to the same tree. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case 'always':
      return '';
    case 'present':
      return printSensor(expression.sensor);
    case 'compare':
      return `${printSensor(expression.sensor)}${expression.operator}${expression.items.map(printItem).join(',')}`;
    case 'and':
      return expression.terms.map((term) => printTerm(term, 'and')).join(';');
    case 'or':
      return expression.terms.map((term) => printTerm(term, 'or')).join('||');
  }
}

/** The sensors that the expression names, each once, in the order in which they occur. */
export function sensorsOf(expression: Expression): string[] {
  const sensors = new Set<string>();
  const visit = (node: Expression): void => {
    if (node.kind === 'and' || node.kind === 'or') node.terms.forEach(visit);
    else if (node.kind !== 'always') sensors.add(node.sensor);
  };
  visit(expression);
  return [...sensors];
}

function printTerm(term: Expression, within: 'and' | 'or'): string {
  const needsParentheses = term.kind === 'or' || (term.kind === 'and' && within === 'and');
  return needsParentheses ? `(${printExpression(term)})` : printExpression(term);
}

/** The id without quotes, where no character of it could be read as an operator. */
function printSensor(id: string): string {
  return /[!|]/.test(id) ? printText(id) : id;
}

function printItem(item: ComparedValue): string {
  if (typeof item === 'string') return printText(item);
  return typeof item === 'number' ? printNumber(item) : `${printNumber(item.from)}..${printNumber(item.to)}`;
}

function printNumber(number: number): string {
  return Object.is(number, -0) ? '-0' : String(number);
}

function printText(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
