// Parses the expression of a rule's condition, in the grammar of expression.ts. Called when a rule is created or
// changed, and before it is first evaluated. Takes linear time; length, number of comparisons and depth are bounded.

import { Refusal } from '../../../base/refusal.ts';
import { isStorableText, textFault } from '../../../base/text/json.ts';
import { limits } from '../../../config/limits.ts';
import type { ComparedValue, ComparisonOperator, Expression } from './expression.ts';

/** JSON pointer of the expression in a rule. */
const usualPointer = '/condition/expression';

/**
 * Parses an expression into a tree.
 * @throws Refusal `malformed`, which says at which column (from 1) what would be right.
 */
export function parseExpression(text: string, pointer = usualPointer): Expression {
  if (text.length > limits.expressionCharsMax) {
    refuse(`has ${text.length} characters; an expression has at most ${limits.expressionCharsMax}`, pointer);
  }
  if (!isStorableText(text)) refuse(textFault(text), pointer);
  return new Parser(text, pointer).parse();
}

// Sticky: each matches only at the parser's position. Ids have the characters of contract 1.
const idCharacter = String.raw`[$%*,\-.0-9:@A-Z\[\\\]^_\x60a-z{}~]`;
const patterns = {
  space: /[ \t\r\n]*/y,
  sensor: new RegExp(String.raw`(?:${idCharacter}|!(?!=(?!=))|\|(?!\|))+`, 'y'),
  operator: /[<>]=?|[=!]=/y,
  and: /;|&&/y,
  or: /\|\|/y,
  number: /[+-]?(?:\d+(?:\.\d+|\.(?!\.))?|\.\d+)(?:[eE][+-]?\d+)?(?!\w)/y,
  range: /\.\./y,
  comma: /,/y,
  open: /\(/y,
  close: /\)/y,
  quote: /["']/y,
} as const;

const isId = new RegExp(`^(?:${idCharacter}|[!|])+$`);

class Parser {
  readonly #text: string;
  readonly #pointer: string;
  #at = 0;
  #comparisons = 0;

  constructor(text: string, pointer: string) {
    this.#text = text;
    this.#pointer = pointer;
  }

  parse(): Expression {
    this.#take('space');
    if (this.#isAtEnd) return { kind: 'always' };
    const expression = this.#any(0);
    if (!this.#isAtEnd) this.#refuse('expected ; or && or || here, or the end');
    return expression;
  }

  get #isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** @param depth number of enclosing parentheses, which bounds the recursion. */
  #any(depth: number): Expression {
    return this.#joined('or', () => this.#joined('and', () => this.#term(depth)));
  }

  #joined(kind: 'and' | 'or', parse: () => Expression): Expression {
    const terms = [parse()];
    while (this.#take(kind) !== undefined) terms.push(parse());
    return terms.length === 1 ? (terms[0] as Expression) : { kind, terms };
  }

  #term(depth: number): Expression {
    const start = this.#at;
    if (this.#take('open') === undefined) return this.#comparison();
    if (depth >= limits.expressionDepthMax) {
      this.#refuse(`there are more than ${limits.expressionDepthMax} parentheses within each other`, start);
    }
    const inner = this.#any(depth + 1);
    if (this.#take('close') === undefined) this.#refuse('expected ) here, or ; or && or ||');
    return inner;
  }

  #comparison(): Expression {
    const start = this.#at;
    const sensor = this.#sensor();
    this.#comparisons += 1;
    if (this.#comparisons > limits.expressionComparisonsMax) {
      this.#refuse(`there are more than ${limits.expressionComparisonsMax} comparisons`, start);
    }
    const operator = this.#take('operator') as ComparisonOperator | undefined;
    if (operator === undefined) return { kind: 'present', sensor };
    return { kind: 'compare', sensor, operator, items: this.#items(operator) };
  }

  #sensor(): string {
    const start = this.#at;
    const quoted = this.#quoted();
    const sensor = quoted ?? this.#take('sensor');
    if (sensor === undefined) this.#refuse('expected a sensor id such as TC, or (');
    if (sensor.length > limits.idCharsMax || !isId.test(sensor) || sensor === '.' || sensor === '..') {
      this.#refuse(`${shorten(sensor)} is no sensor id`, start);
    }
    return sensor;
  }

  #items(operator: ComparisonOperator): ComparedValue[] {
    const takesSeveral = operator === '==' || operator === '!=';
    const items: ComparedValue[] = [];
    do {
      const start = this.#at;
      const item = this.#item();
      if (typeof item === 'object' && !takesSeveral) this.#refuse('a range goes with == or != alone', start);
      items.push(item);
      if (items.length > limits.expressionItemsMax) {
        this.#refuse(`there are more than ${limits.expressionItemsMax} values in this list`, start);
      }
      if (!takesSeveral && this.#peek('comma')) this.#refuse('a list goes with == or != alone');
    } while (this.#take('comma') !== undefined);
    return items;
  }

  #item(): ComparedValue {
    const start = this.#at;
    const text = this.#quoted();
    if (text !== undefined) return text;
    const from = this.#number();
    if (this.#take('range') === undefined) return from;
    const to = this.#number();
    if (from > to) this.#refuse('the first end of a range must not be above the second', start);
    return { from, to };
  }

  #number(): number {
    const start = this.#at;
    const text = this.#take('number');
    if (text === undefined) this.#refuse('expected a number such as 40, or a text in quotes such as "open"');
    const number = Number(text);
    if (!Number.isFinite(number)) this.#refuse('the number is too large', start);
    return number;
  }

  /** The text in quotes at this position, if there is one. */
  #quoted(): string | undefined {
    const start = this.#at;
    if (!this.#peek('quote')) return undefined;
    const quote = this.#text[start];
    let text = '';
    for (let at = start + 1; at < this.#text.length; at++) {
      const next = this.#text[at + 1];
      if (this.#text[at] === quote) {
        this.#at = at + 1;
        this.#take('space');
        return text;
      }
      if (this.#text[at] === '\\' && (next === '"' || next === "'" || next === '\\')) at += 1;
      text += this.#text[at];
    }
    return this.#refuse('this quote is never closed', start);
  }

  #peek(name: keyof typeof patterns): boolean {
    const pattern = patterns[name];
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text);
  }

  /** Consumes a match at this position and the space after it. */
  #take(name: keyof typeof patterns): string | undefined {
    const pattern = patterns[name];
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return undefined;
    this.#at += found.length;
    if (name !== 'space') this.#take('space');
    return found;
  }

  #refuse(detail: string, at = this.#at): never {
    refuse(`cannot be read at column ${at + 1}: ${detail}`, this.#pointer);
  }
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function refuse(detail: string, pointer: string): never {
  throw new Refusal('malformed', `The expression ${detail}.`, { faults: [{ pointer, detail }] });
}
