// Reads CSV (RFC 4180) record by record: commas, quotes doubled inside quotes, line breaks inside quotes, CRLF or LF.
// A record that breaks the rules is told as such, and reading goes on with the next line.

export interface CsvRecord {
  /** The line of the text on which it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** What is wrong with it. */
  readonly fault?: string;
}

/** Fields of a record that are kept; none of ours has as many. */
const fieldsMax = 100;

/** Gives the records; empty lines are passed over. */
export function* csvRecords(text: string): Generator<CsvRecord> {
  let line = 1;
  // A byte order mark, which spreadsheets write, is no part of the first field.
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    // Millions of empty lines must not take the time of millions of records.
    const code = text.charCodeAt(at);
    if (code === 0x0a || (code === 0x0d && text.charCodeAt(at + 1) === 0x0a)) {
      at += code === 0x0a ? 1 : 2;
      line += 1;
      continue;
    }
    const { fields, fault, end } = readRecord(text, at);
    yield fault === undefined ? { line, fields } : { line, fields, fault };
    line += countLines(text, at, end);
    at = end;
  }
}

interface Found {
  readonly fields: readonly string[];
  readonly fault?: string;
  /** Where the next record begins. */
  readonly end: number;
}

function readRecord(text: string, start: number): Found {
  const fields: string[] = [];
  let at = start;
  for (;;) {
    const field = text[at] === '"' ? readQuoted(text, at) : readBare(text, at);
    if (field.fault !== undefined) return { fields, fault: field.fault, end: afterLine(text, field.end) };
    if (fields.length === fieldsMax) {
      return { fields, fault: `has more than ${fieldsMax} fields`, end: afterLine(text, at) };
    }
    fields.push(field.value);
    at = field.end;
    if (text[at] !== ',') return { fields, end: afterLine(text, at) };
    at += 1;
  }
}

interface Field {
  readonly value: string;
  /** Of the comma or line break behind it. */
  readonly end: number;
  readonly fault?: string;
}

function readBare(text: string, start: number): Field {
  let end = start;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === 0x2c || code === 0x0a || (code === 0x0d && text.charCodeAt(end + 1) === 0x0a)) break;
    if (code === 0x22) return { value: '', end, fault: 'has a quote inside a field that does not begin with one' };
  }
  return { value: text.slice(start, end), end };
}

function readQuoted(text: string, start: number): Field {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return { value: '', end: text.length, fault: 'has a quoted field that does not end' };
    if (text[quote + 1] === '"') {
      at = quote + 2;
      continue;
    }
    const end = quote + 1;
    if (end < text.length && !/^(,|\r?\n)/.test(text.slice(end, end + 2))) {
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
