// Parses JSON text from outside into values that can be stored, for HTTP and MQTT. The text is scanned once before it
// is parsed, so that text with too many levels or parts never becomes objects; the value is checked afterwards only
// where the scan found a reason.
import { isUtf8 } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { limits } from '../../config/limits.ts';
import { Refusal } from '../refusal.ts';
import { isCarriedByDouble, mayExceedDouble, parseExactly } from './exact-number.ts';
import { assertStorable, type Json } from './json.ts';

/**
 * A number with fewer digits (and an exponent with fewer digits) is within the range of doubles, so it needs no
 * check.
 */
const digitsUnbounded = 200;
const exponentDigitsUnbounded = 3;
/** A number without exponent and with no more characters than that is a double for sure. */
const digitsPlain = 15;

/**
 * Parses JSON bytes.
 * @throws Refusal `malformed` for anything but JSON in UTF-8, more than `levelsMax` levels, a number beyond the range
 * of doubles, a NUL, a lone surrogate, or a key such as `__proto__`; `too-large` for more arrays, objects, keys or
 * texts than allowed.
 */
export function parseJsonText(bytes: Buffer, levelsMax: number): Json {
  return parseWhole(jsonTextOf(bytes), levelsMax);
}

/**
 * The same for values of datapoints: numbers that a double cannot carry keep their digits (exact-number.ts).
 * @throws Refusal as `parseJsonText`.
 */
export function parseExactJsonText(bytes: Buffer, levelsMax: number): Json {
  return parseWhole(jsonTextOf(bytes), levelsMax, { isExact: true });
}

/**
 * The text of JSON without a byte order mark, which some clients on Windows send and RFC 8259 (8.1) lets parsers ignore.
 * @throws Refusal `malformed` where the bytes are not UTF-8.
 */
export function jsonTextOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Refusal('malformed', 'The text is not UTF-8.');
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

function parseWhole(text: string, levelsMax: number, { isExact = false } = {}): Json {
  const scan = new Scan(text, levelsMax, { isExact });
  const isSuspicious = scan.run() || hasSuspiciousKeys(text);
  const value = parse(text, { isExact: scan.hasExactNumbers });
  if (isSuspicious) assertStorable(value, { pointer: '', depthMax: levelsMax });
  return value;
}

/**
 * Parses the items of a JSON array into `items`, one in each step of the generator, because a long text takes long.
 * Any other text counts as one item. Numbers that a double cannot carry keep their digits.
 * @throws Refusal as `parseJsonText`.
 */
export function* parseJsonItems(text: string, levelsMax: number, items: Json[]): Generator<undefined> {
  const start = indexBehindSpace(text, 0);
  if (text[start] !== '[') {
    items.push(parseWhole(text, levelsMax, { isExact: true }));
    return;
  }
  const ends: number[] = [];
  const scan = new Scan(text, levelsMax, { itemEnds: ends, isExact: true });
  const isSuspicious = scan.run() || hasSuspiciousKeys(text);
  const last = ends.find((end) => text[end] !== ',') ?? text.length;
  if (text[last] !== ']') throw notJson(last);
  const behind = indexBehindSpace(text, last + 1);
  if (behind < text.length) throw notJson(behind);
  yield;
  if (ends.length === 1 && indexBehindSpace(text, start + 1) === last) return;
  let from = start + 1;
  for (const end of ends) {
    const item = parse(text.slice(from, end), { at: from, isExact: scan.hasExactNumbers });
    if (isSuspicious) assertStorable(item, { pointer: `/${items.length}`, depthMax: levelsMax - 1 });
    items.push(item);
    from = end + 1;
    yield;
  }
}

/**
 * Index of the first character from `from` on that is not JSON white space; the length of the text where there is
 * none.
 */
function indexBehindSpace(text: string, from: number): number {
  const behindSpace = /[^ \t\n\r]/g;
  behindSpace.lastIndex = from;
  return behindSpace.exec(text)?.index ?? text.length;
}

function hasSuspiciousKeys(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor');
}

/** @param options `at`: where the text begins in the whole text, for the position in a refusal. */
function parse(text: string, { at = 0, isExact }: { readonly at?: number; readonly isExact: boolean }): Json {
  try {
    return isExact ? parseExactly(text) : (JSON.parse(text) as Json);
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    throw notJson(position === undefined ? undefined : at + Number(position), error);
  }
}

/** The refusal does not quote the text, which may be private where the reason is read. */
function notJson(position: number | undefined, cause?: unknown): Refusal {
  const where = position === undefined ? '' : ` (at position ${position})`;
  return new Refusal('malformed', `The text is not valid JSON${where}.`, { cause });
}

const quote = 0x22;
const backslash = 0x5c;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/**
 * Estimates the number of distinct keys in a text by a bitmap of hashes, because a new key costs the parser some 3 µs
 * and a repeated one next to nothing. The hash has a random seed, so that nobody can choose keys that collide.
 */
class KeyCounter {
  readonly #bits = new Uint32Array(2 ** 13);
  count = 0;

  clear(): void {
    this.#bits.fill(0);
    this.count = 0;
  }

  add(hash: number): void {
    const index = (hash >>> 5) & 0x1fff;
    const bit = 1 << (hash & 31);
    if (((this.#bits[index] as number) & bit) !== 0) return;
    this.#bits[index] = (this.#bits[index] as number) | bit;
    this.count += 1;
  }
}

const keyCounter = new KeyCounter();
const hashSeed = randomInt(2 ** 31);
/** A key is hashed only up to so many characters. */
const keyCharsHashed = 1024;
/** A shorter text cannot have more distinct keys than allowed, so its keys are not counted. */
const censusCharsMin = 5 * limits.jsonKeysMax;

/** Scans a text that may be JSON, character by character. */
class Scan {
  readonly #text: string;
  readonly #levelsMax: number;
  /** Counts distinct keys; only for long texts. */
  readonly #keyCounter: KeyCounter | undefined;
  #hash = 0;
  #nextEscape = -1;
  #isSuspicious = false;
  /** Filled with the index of the comma or bracket that ends each outermost item. */
  readonly #itemEnds: number[] | undefined;

  /** Whether numbers are looked at that a double may not carry. */
  readonly #isExact: boolean;
  #hasExactNumbers = false;

  constructor(
    text: string,
    levelsMax: number,
    { itemEnds, isExact }: { readonly itemEnds?: number[]; readonly isExact: boolean },
  ) {
    this.#text = text;
    this.#levelsMax = levelsMax;
    this.#itemEnds = itemEnds;
    this.#isExact = isExact;
    if (text.length < censusCharsMin) return;
    keyCounter.clear();
    this.#keyCounter = keyCounter;
  }

  /** After a run: whether the text has a number that a double cannot carry. */
  get hasExactNumbers(): boolean {
    return this.#hasExactNumbers;
  }

  /**
   * Returns true where a parsed value may contain something that cannot be stored: only an escape can produce a NUL, a
   * lone surrogate or a hidden `__proto__`, and only many digits or a long exponent an infinite number.
   * @throws Refusal `malformed`, `too-large`
   */
  run(): boolean {
    const text = this.#text;
    let level = 0;
    let containers = 0;
    let strings = 0;
    let entries = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === quote) {
        strings += 1;
        if (strings > limits.jsonStringsMax) refuseMore(limits.jsonStringsMax, 'keys and texts');
        i = this.#keyCounter === undefined ? this.#endOfString(i) : this.#hashString(i);
      } else if (isDigit(code)) i = this.#endOfNumber(i);
      else if (code === 0x2c) {
        entries += 1;
        if (level === 1) this.#itemEnds?.push(i);
        if (entries > limits.jsonEntriesMax) refuseMore(limits.jsonEntriesMax, 'entries');
      } else if (code === 0x3a) this.#countKey();
      else if (code === 0x7b || code === 0x5b) {
        level += 1;
        containers += 1;
        if (containers > limits.jsonContainersMax) refuseMore(limits.jsonContainersMax, 'arrays and objects');
        if (level > this.#levelsMax) {
          throw new Refusal('malformed', `The JSON is nested deeper than ${this.#levelsMax} levels.`);
        }
      } else if (code === 0x7d || code === 0x5d) {
        level -= 1;
        if (level === 0) this.#itemEnds?.push(i);
      }
    }
    return this.#isSuspicious;
  }

  /** A string before a colon is a key. */
  #countKey(): void {
    if (this.#keyCounter === undefined) return;
    this.#keyCounter.add(this.#hash);
    if (this.#keyCounter.count > limits.jsonKeysMax) refuseMore(limits.jsonKeysMax, 'different keys');
  }

  /** Index of the closing quote of the string that begins here. Computes its hash, because it may be a key. */
  #hashString(start: number): number {
    const end = this.#endOfString(start);
    const text = this.#text;
    if (end - start > keyCharsHashed) {
      // A longer string counts as a new key; a body cannot have many of them.
      this.#hash = Math.imul(hashSeed ^ start, 0x9e3779b1);
      return end;
    }
    let hash = hashSeed;
    for (let i = start + 1; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x9e3779b1);
    this.#hash = hash ^ (hash >>> 15);
    return end;
  }

  /** Index of the closing quote of the string that begins here. */
  #endOfString(start: number): number {
    const text = this.#text;
    // Most texts have no escape, and `indexOf` is faster than any loop here. Each escape is searched once.
    if (this.#nextEscape < start) {
      const next = text.indexOf('\\', start);
      this.#nextEscape = next < 0 ? text.length : next;
    }
    const end = text.indexOf('"', start + 1);
    if (end < 0) return text.length;
    if (end < this.#nextEscape) return end;
    let i = this.#nextEscape;
    for (; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === quote) return i;
      if (code !== backslash) continue;
      i += 1;
      if (text.charCodeAt(i) === 0x75) this.#isSuspicious = true;
    }
    return i;
  }

  /** Index of the last character of the number that begins here. */
  #endOfNumber(start: number): number {
    const text = this.#text;
    let end = this.#endOfDigits(start);
    if (end - start >= digitsUnbounded) this.#isSuspicious = true;
    if (text.charCodeAt(end) === 0x2e) end = this.#endOfDigits(end + 1);
    const digits = end - start;
    if ((text.charCodeAt(end) | 0x20) !== 0x65) {
      if (digits > digitsPlain) this.#noteExactNumber(text.slice(start, end), 0);
      return end - 1;
    }
    const sign = text.charCodeAt(end + 1);
    const from = sign === 0x2b || sign === 0x2d ? end + 2 : end + 1;
    end = this.#endOfDigits(from);
    if (sign !== 0x2d && end - from >= exponentDigitsUnbounded) this.#isSuspicious = true;
    this.#noteExactNumber(text.slice(start, end), end - from);
    return end - 1;
  }

  #noteExactNumber(literal: string, exponentDigits: number): void {
    if (!this.#isExact || this.#hasExactNumbers || !mayExceedDouble(literal.length, exponentDigits)) return;
    this.#hasExactNumbers = !isCarriedByDouble(literal);
  }

  #endOfDigits(from: number): number {
    let end = from;
    while (isDigit(this.#text.charCodeAt(end))) end += 1;
    return end;
  }
}

function refuseMore(max: number, what: string): never {
  throw new Refusal('too-large', `The JSON has more than ${max} ${what}. Send it in parts.`);
}
