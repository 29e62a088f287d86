// Parses CSV (RFC 4180): doubled quotes and line breaks inside quotes, CRLF or LF, commas or another delimiter. A
// malformed record is reported, and parsing continues with the next line. csvRecords parses a complete text, CsvReader
// one that comes in pieces.
import { limits } from '../../config/limits.ts';

export interface CsvRecord {
  /** The line of the text on which it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** Why the record is refused; undefined where it is sound. */
  readonly fault?: string;
}

export interface CsvForm {
  /** One character. */
  readonly delimiter: string;
  /** Fields of a record, at most. Beyond: it is faulty. */
  readonly fieldsMax: number;
  /**
   * Characters of a quoted field, and of a record of a text in pieces, at most. Beyond: the record is faulty, and ends
   * with the line where this was found.
   */
  readonly charsMax: number;
}

const plain: CsvForm = { delimiter: ',', fieldsMax: 100, charsMax: limits.importLineCharsMax };

/** The records; empty lines are skipped. */
export function* csvRecords(text: string, form: Partial<CsvForm> = {}): Generator<CsvRecord> {
  for (const record of csvSteps(text, form)) if (record !== undefined) yield record;
}

/** The records, and undefined each time that some `blankCharsPerStep` characters of empty lines were skipped. */
export function csvSteps(text: string, form: Partial<CsvForm> = {}): Generator<CsvRecord | undefined> {
  return new CsvReader({ ...plain, ...form }).read(text, { isEnd: true });
}

export class CsvReader {
  readonly #form: CsvForm;
  /** The beginning of an incomplete record. */
  #rest = '';
  #line: number;
  #isFirst = true;
  /** True while the rest of a line that was too long is skipped. */
  #isSkipping = false;

  /** @param options `line`: the number of the first line. */
  constructor(form: CsvForm, options: { readonly line: number } = { line: 1 }) {
    this.#form = form;
    this.#line = options.line;
  }

  /** The line on which the next record begins. */
  get nextLine(): number {
    return this.#line;
  }

  /**
   * The complete records so far, and at the end the remaining one; undefined each time that some `blankCharsPerStep`
   * characters of empty lines were skipped.
   */
  *read(piece: string, { isEnd }: { readonly isEnd: boolean }): Generator<CsvRecord | undefined> {
    const text = this.#rest + piece;
    // Skips a byte order mark, which spreadsheets write.
    let at = this.#isFirst && text.startsWith('\uFEFF') ? 1 : 0;
    if (text !== '') this.#isFirst = false;
    if (this.#isSkipping) at = this.#skipLine(text, at);
    let skipped = 0;
    while (at < text.length) {
      // Fast path for empty lines, of which there may be millions.
      const blank = blankAt(text, at);
      if (blank > 0) {
        at += blank;
        this.#line += 1;
        skipped += blank;
        if (skipped >= limits.blankCharsPerStep) {
          skipped = 0;
          yield undefined;
        }
        continue;
      }
      const { fields, fault, end } = readRecord(text, at, this.#form);
      const isOpen = !isEnd && end === text.length && (isUnended(fault) || text[end - 1] !== '\n');
      if (isOpen && text.length - at <= this.#form.charsMax) break;
      const line = this.#line;
      if (isOpen) {
        yield {
          line,
          fields: [],
          fault: `is longer than ${this.#form.charsMax} characters, or a quote in it does not end`,
        };
        at = this.#skipLine(text, at);
        continue;
      }
      this.#line += countLines(text, at, end);
      at = end;
      yield fault === undefined ? { line, fields } : { line, fields, fault };
    }
    this.#rest = text.slice(at);
  }

  #skipLine(text: string, from: number): number {
    const found = text.indexOf('\n', from);
    this.#isSkipping = found < 0;
    if (found < 0) return text.length;
    this.#line += 1;
    return found + 1;
  }
}

/** Length of the empty line at this position; 0 where there is none. */
function blankAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 0x0a) return 1;
  return code === 0x0d && text.charCodeAt(at + 1) === 0x0a ? 2 : 0;
}

interface ParsedRecord {
  readonly fields: readonly string[];
  readonly fault?: string;
  /** Start of the next record. */
  readonly end: number;
}

const unended = 'has a quoted field that does not end';

function isUnended(fault: string | undefined): boolean {
  return fault === unended;
}

function readRecord(text: string, start: number, form: CsvForm): ParsedRecord {
  const { delimiter, fieldsMax } = form;
  const fields: string[] = [];
  let at = start;
  for (;;) {
    const field = text[at] === '"' ? readQuoted(text, at, form) : readBare(text, at, delimiter);
    if (field.fault !== undefined) return { fields, fault: field.fault, end: afterLine(text, field.end) };
    if (fields.length === fieldsMax) {
      return { fields, fault: `has more than ${fieldsMax} fields`, end: afterLine(text, at) };
    }
    fields.push(field.value);
    at = field.end;
    if (text[at] !== delimiter) return { fields, end: afterLine(text, at) };
    at += 1;
  }
}

interface ParsedField {
  readonly value: string;
  /** Index of the delimiter or line break after it. */
  readonly end: number;
  readonly fault?: string;
}

function readBare(text: string, start: number, delimiter: string): ParsedField {
  const stop = delimiter.charCodeAt(0);
  let end = start;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === stop || code === 0x0a || (code === 0x0d && text.charCodeAt(end + 1) === 0x0a)) break;
    if (code === 0x22) return { value: '', end, fault: 'has a quote inside a field that does not begin with one' };
  }
  return { value: text.slice(start, end), end };
}

function readQuoted(text: string, start: number, { delimiter, charsMax }: CsvForm): ParsedField {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return { value: '', end: text.length, fault: unended };
    // Checked before doubled quotes are replaced, which takes seconds for megabytes of them.
    if (quote - start > charsMax) {
      return { value: '', end: quote, fault: `has a quoted field of more than ${charsMax} characters` };
    }
    if (text[quote + 1] === '"') {
      at = quote + 2;
      continue;
    }
    const end = quote + 1;
    if (end < text.length && text[end] !== delimiter && !/^\r?\n/.test(text.slice(end, end + 2))) {
      return { value: '', end, fault: 'has something behind the closing quote of a field' };
    }
    return { value: text.slice(start + 1, quote).replaceAll('""', '"'), end };
  }
}

function afterLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end + 1;
}

function countLines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
