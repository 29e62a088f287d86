// The simple half of expressions: comparisons joined by `and`, or by `or`, as the sentence of the editor shows them. What
// is not simple (lists, parentheses, both joints) has no clauses and is shown as it is written. Whether an expression is
// right is for the server to say; here it is only known or not.

export const operators = ['<', '<=', '>', '>=', '==', '!=', 'between', 'outside', 'present'] as const;
export type Operator = (typeof operators)[number];

export interface Clause {
  readonly sensor: string;
  readonly operator: Operator;
  /** As typed: a number or a text. */
  readonly value: string;
  /** The other end of `between` and `outside`. */
  readonly upper: string;
}

export interface Clauses {
  readonly join: 'and' | 'or';
  readonly list: readonly Clause[];
}

const number = String.raw`[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`;
const isNumber = new RegExp(`^${number}$`);
// A part of the characters that ids may have: what could be taken for an operator is left to the server.
const plainId = String.raw`[$%*\-.0-9:@A-Z_a-z]+`;
const isPlainId = new RegExp(`^${plainId}$`);
const text = String.raw`"(?:[^"\\]|\\.)*"`;
const clausePattern = new RegExp(
  String.raw`\s*(?<sensor>${text}|${plainId})\s*(?:(?<operator><=|>=|==|!=|<|>)\s*(?:(?<value>${number}|${text})(?:\s*\.\.\s*(?<upper>${number}))?))?\s*(?<joint>;|&&|\|\||$)`,
  'y',
);

/** The clauses of an expression that has no more than these; an empty one has none. */
export function parseClauses(expression: string): Clauses | undefined {
  if (expression.trim() === '') return { join: 'and', list: [] };
  const list: Clause[] = [];
  const joints = new Set<'and' | 'or'>();
  clausePattern.lastIndex = 0;
  for (;;) {
    const found = clausePattern.exec(expression)?.groups;
    const clause = found === undefined ? undefined : toClause(found);
    if (found === undefined || clause === undefined) return undefined;
    list.push(clause);
    if (found['joint'] === '') break;
    joints.add(found['joint'] === '||' ? 'or' : 'and');
  }
  return joints.size > 1 ? undefined : { join: joints.has('or') ? 'or' : 'and', list };
}

function toClause(found: Record<string, string | undefined>): Clause | undefined {
  const sensor = unquote(found['sensor'] ?? '');
  const { operator, upper } = found;
  if (operator === undefined) return { sensor, operator: 'present', value: '', upper: '' };
  const raw = found['value'] ?? '';
  const value = unquote(raw);
  // A text that looks like a number, or is empty, would come back as something else.
  if (raw.startsWith('"') && (isNumber.test(value) || value === '' || upper !== undefined)) return undefined;
  if (upper === undefined) return { sensor, operator: operator as Operator, value, upper: '' };
  if (operator !== '==' && operator !== '!=') return undefined;
  return { sensor, operator: operator === '==' ? 'between' : 'outside', value, upper };
}

export function printClauses({ join, list }: Clauses): string {
  return list.map(printClause).join(join === 'and' ? ';' : '||');
}

function printClause({ sensor, operator, value, upper }: Clause): string {
  const id = isPlainId.test(sensor) ? sensor : quote(sensor);
  if (operator === 'present') return id;
  if (operator === 'between') return `${id}==${printValue(value)}..${printValue(upper)}`;
  if (operator === 'outside') return `${id}!=${printValue(value)}..${printValue(upper)}`;
  return `${id}${operator}${printValue(value)}`;
}

/** A number as it is, with a comma for a point where people write so; a text in quotes; nothing as nothing. */
function printValue(value: string): string {
  const trimmed = value.trim();
  const dotted = trimmed.replace(/^([+-]?\d+),(\d+)$/, '$1.$2');
  if (trimmed === '' || isNumber.test(dotted)) return dotted;
  return quote(trimmed);
}

/** Whether everything that the sentence asks for is filled in. */
export function isFilled({ list }: Clauses): boolean {
  return list.every(({ sensor, operator, value, upper }) => {
    if (sensor === '') return false;
    if (operator === 'present') return true;
    return value.trim() !== '' && ((operator !== 'between' && operator !== 'outside') || upper.trim() !== '');
  });
}

function quote(plain: string): string {
  return `"${plain.replace(/["\\]/g, '\\$&')}"`;
}

function unquote(written: string): string {
  return written.startsWith('"') ? written.slice(1, -1).replace(/\\(.)/g, '$1') : written;
}
