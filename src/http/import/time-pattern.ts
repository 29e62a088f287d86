// Parses a pattern of times such as `D.M.YYYY[ H:mm]` and matches texts against it. Called by time-format.ts. Patterns
// come from callers, so they are not converted to regular expressions: each piece is tried at most once at each
// position of a text, and ambiguous patterns are refused.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';

/** The fields of a text; undefined where missing. */
export type TimeFields = { [F in TimeField]?: string };

export interface TimePattern {
  /** Undefined for a text that does not match. */
  match(text: string): TimeFields | undefined;
}

/** The rule for time formats, as the end of a sentence. */
export const timeFormatRule =
  'is iso, s or ms (since 1970), or a pattern of YYYY YY MM M MMM DD D HH H hh h mm m ss s SSS A Z, each field once, with [] around what may be missing, such as D.M.YYYY[ H:mm[:ss]]';

type TimeField = 'year' | 'month' | 'monthName' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'half' | 'offset';

interface Token {
  readonly field: TimeField;
  /** Lowest and highest number of digits; undefined for a field that is not a number. */
  readonly digits?: readonly [number, number];
}

const tokens: Readonly<Record<string, Token>> = {
  YYYY: { field: 'year', digits: [4, 4] },
  YY: { field: 'year', digits: [2, 2] },
  MMM: { field: 'monthName' },
  MM: { field: 'month', digits: [2, 2] },
  M: { field: 'month', digits: [1, 2] },
  DD: { field: 'day', digits: [2, 2] },
  D: { field: 'day', digits: [1, 2] },
  HH: { field: 'hour', digits: [2, 2] },
  H: { field: 'hour', digits: [1, 2] },
  hh: { field: 'hour', digits: [2, 2] },
  h: { field: 'hour', digits: [1, 2] },
  mm: { field: 'minute', digits: [2, 2] },
  m: { field: 'minute', digits: [1, 2] },
  ss: { field: 'second', digits: [2, 2] },
  s: { field: 'second', digits: [1, 2] },
  SSS: { field: 'fraction', digits: [1, 9] },
  A: { field: 'half' },
  Z: { field: 'offset' },
};

const pieceOfPattern = /YYYY|YY|MMM|MM|M|DD|D|HH|H|hh|h|mm|m|ss|s|SSS|A|Z|\[|\]|[^A-Za-z[\]]|T/gy;

/** A piece of a pattern: returns the positions where it may end, the furthest first. */
interface PatternPiece {
  readonly kind: 'piece';
  readonly field: TimeField | undefined;
  readonly ends: (text: string, at: number) => readonly number[];
}

/** An optional part in brackets; matching continues after `end` where it is missing. */
interface Optional {
  readonly kind: 'optional';
  readonly end: number;
}

/** @throws Refusal `malformed` for an invalid or ambiguous pattern. */
export function parseTimePattern(name: string): TimePattern {
  if (name.length > limits.timeFormatCharsMax) refuse(timeFormatRule);
  // A blank matches several, so several blanks mean no more than one.
  const plain = name.replace(/ +/g, ' ');
  const pieces = plain.match(pieceOfPattern) ?? [];
  if (pieces.join('') !== plain) refuse(timeFormatRule);
  assertUnambiguous(pieces);
  const steps = toSteps(pieces);
  return { match: (text) => (text.length > limits.timeCharsMax ? undefined : new Match(steps, text).fields()) };
}

function refuse(detail: string): never {
  throw new Refusal('malformed', `time_format ${detail}.`, {
    faults: [{ pointer: '/time_format', detail }],
  });
}

/** Requires year, month and day, no field twice, and an unambiguous end of each field. */
function assertUnambiguous(pieces: readonly string[]): void {
  const seen = new Map<string, string>();
  /** The last field of variable width without a delimiter after it. */
  let variable: string | undefined;
  /** For each open bracket: `variable` as it was before the bracket, whose content may be missing. */
  const before: (string | undefined)[] = [];
  for (const piece of pieces) {
    const token = tokenOf(piece);
    if (token !== undefined) noteField(seen, token, piece);
    if (piece === '[') before.push(variable);
    else if (piece === ']') {
      if (before.length === 0) refuse(timeFormatRule);
      const without = before.pop();
      variable ??= without;
    } else variable = variableBehind(variable, piece);
  }
  if (before.length > 0 || !seen.has('year') || !seen.has('month') || !seen.has('day')) refuse(timeFormatRule);
}

/** The field of variable width after `piece` was added behind `variable`. */
function variableBehind(variable: string | undefined, piece: string): string | undefined {
  const digits = tokenOf(piece)?.digits;
  const isVariable = piece === ' ' || (digits !== undefined && digits[0] !== digits[1]);
  const isAlike = variable === ' ' ? blankChars.includes(piece) : digits !== undefined;
  if (variable !== undefined && isAlike && (isVariable || variable === ' ')) {
    const [one, other] = [variable, piece].map((word) => (word === ' ' ? 'a blank' : word));
    refuse(`does not say where ${one} ends and ${other} begins: put something else between them, or use a field of fixed width such as MM`); // biome-ignore format: one line
  }
  return isVariable ? piece : isAlike ? variable : undefined;
}

function noteField(seen: Map<string, string>, { field }: Token, piece: string): void {
  const key = field === 'monthName' ? 'month' : field;
  const other = seen.get(key);
  if (other !== undefined) refuse(`has a field for the ${key} twice (${other} and ${piece}); it ${timeFormatRule}`);
  seen.set(key, piece);
}

function tokenOf(piece: string): Token | undefined {
  return Object.hasOwn(tokens, piece) ? tokens[piece] : undefined;
}

function toSteps(pieces: readonly string[]): (PatternPiece | Optional)[] {
  const steps: (PatternPiece | Optional)[] = [];
  const open: number[] = [];
  for (const [place, piece] of pieces.entries()) {
    if (piece === '[') {
      open.push(steps.length);
      steps.push({ kind: 'optional', end: 0 });
    } else if (piece === ']') steps[open.pop() ?? 0] = { kind: 'optional', end: steps.length };
    else steps.push(toStep(piece, pieces[place + 1]));
  }
  return steps;
}

function toStep(piece: string, next: string | undefined): PatternPiece {
  const token = tokenOf(piece);
  if (token !== undefined) return { kind: 'piece', field: token.field, ends: endsOfField(token) };
  // Some countries write fractions of seconds with a comma.
  const chars = piece === '.' && next === 'SSS' ? '.,' : piece;
  const ends = piece === ' ' ? endsOfBlank : (text: string, at: number) => (isAmong(text, at, chars) ? [at + 1] : none);
  return { kind: 'piece', field: undefined, ends };
}

const none: readonly number[] = [];
/** A blank of a pattern matches up to three of these. */
const blankChars = ' T,';

function isAmong(text: string, at: number, chars: string): boolean {
  return at < text.length && chars.includes(text[at] as string);
}

/** The number of characters from `at` for which `isSuch` is true, `max` at most. */
function countWhile(text: string, at: number, max: number, isSuch: (char: string) => boolean): number {
  let count = 0;
  while (count < max && at + count < text.length && isSuch(text[at + count] as string)) count += 1;
  return count;
}

/** From `at + most` down to `at + least`. */
function downTo(at: number, least: number, most: number): readonly number[] {
  if (most < least) return none;
  if (most === least) return [at + most];
  return Array.from({ length: most - least + 1 }, (_, n) => at + most - n);
}

const isDigit = (char: string) => char >= '0' && char <= '9';
const isLetter = (char: string) => /[\p{L}\p{M}]/u.test(char);

function endsOfBlank(text: string, at: number): readonly number[] {
  return downTo(
    at,
    1,
    countWhile(text, at, 3, (char) => blankChars.includes(char)),
  );
}

function endsOfField({ field, digits }: Token): PatternPiece['ends'] {
  if (field === 'monthName') return endsOfMonthName;
  if (field === 'half') return endsOfHalf;
  if (digits === undefined) return endsOfOffset;
  const [least, most] = digits;
  return (text, at) => downTo(at, least, countWhile(text, at, most, isDigit));
}

/** Such as septiembre. */
const monthCharsMax = 10;

/** Letters, optionally with a dot for an abbreviation. */
function endsOfMonthName(text: string, at: number): readonly number[] {
  const letters = countWhile(text, at, monthCharsMax, isLetter);
  return downTo(at, 3, letters >= 3 && text[at + letters] === '.' ? letters + 1 : letters);
}

/** am, PM, a.m. */
function endsOfHalf(text: string, at: number): readonly number[] {
  if (!isAmong(text, at, 'AaPp')) return none;
  const m = text[at + 1] === '.' ? at + 2 : at + 1;
  if (!isAmong(text, m, 'Mm')) return none;
  return text[m + 1] === '.' ? [m + 2, m + 1] : [m + 1];
}

/** Z, +02, +0200 or +02:00, optionally after a blank. */
function endsOfOffset(text: string, start: number): readonly number[] {
  const at = text[start] === ' ' ? start + 1 : start;
  if (isAmong(text, at, 'Zz')) return [at + 1];
  if (!isAmong(text, at, '+-') || countWhile(text, at + 1, 2, isDigit) < 2) return none;
  const minutes = text[at + 3] === ':' ? at + 4 : at + 3;
  return countWhile(text, minutes, 2, isDigit) < 2 ? [at + 3] : [minutes + 2, at + 3];
}

/** Matches one text against a pattern. */
class Match {
  readonly #steps: readonly (PatternPiece | Optional)[];
  readonly #text: string;
  readonly #fields: TimeFields = {};
  /** Pairs of step and position that failed, so that none is tried twice. */
  #lost: Set<number> | undefined;

  constructor(steps: readonly (PatternPiece | Optional)[], text: string) {
    this.#steps = steps;
    this.#text = text;
  }

  fields(): TimeFields | undefined {
    return this.#matches(0, 0) ? this.#fields : undefined;
  }

  #matches(index: number, at: number): boolean {
    const step = this.#steps[index];
    if (step === undefined) return at === this.#text.length;
    if (step.kind === 'piece') {
      const ends = step.ends(this.#text, at);
      const [end] = ends;
      if (end === undefined) return false;
      if (ends.length === 1) return this.#goesOn(step, index, { at, end });
      return this.#once(index, at, () => ends.some((one) => this.#goesOn(step, index, { at, end: one })));
    }
    return this.#once(index, at, () => this.#matches(index + 1, at) || this.#matches(step.end, at));
  }

  #goesOn({ field }: PatternPiece, index: number, { at, end }: { readonly at: number; readonly end: number }): boolean {
    if (!this.#matches(index + 1, end)) return false;
    if (field !== undefined) this.#fields[field] = this.#text.slice(at, end);
    return true;
  }

  #once(index: number, at: number, matches: () => boolean): boolean {
    const key = index * (limits.timeCharsMax + 1) + at;
    if (this.#lost?.has(key)) return false;
    if (matches()) return true;
    this.#lost ??= new Set();
    this.#lost.add(key);
    return false;
  }
}
