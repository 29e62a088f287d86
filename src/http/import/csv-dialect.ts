// Detects the dialect of a CSV file from its first lines: delimiter, lines before the table, header line, decimal point
// or comma. Called by import-plan.ts; the caller's settings take precedence.
import { limits } from '../../config/limits.ts';
import { isNameOfTimes } from './columns.ts';
import { type CsvRecord, csvRecords } from './csv-records.ts';
import { isClock, recogniseTimes } from './time-format.ts';
import { type Decimal, isNumber } from './value-texts.ts';

export const delimiters = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const;
export type Delimiter = keyof typeof delimiters;

export interface CsvDialect {
  readonly delimiter: Delimiter;
  readonly decimal: Decimal;
  /** Lines before the table. */
  readonly skip: number;
  readonly hasHeader: boolean;
}

export interface Sample extends CsvDialect {
  readonly names: readonly (string | undefined)[];
  /** The records after the header. */
  readonly records: readonly CsvRecord[];
}

/** @param text the first lines; the last one may be incomplete unless `isWhole`. */
export function sampleCsv(
  text: string,
  given: { readonly [F in keyof CsvDialect]?: CsvDialect[F] | undefined },
  { isWhole }: { readonly isWhole: boolean },
): Sample {
  const rest = skipLines(text, given.skip ?? 0);
  const delimiter = given.delimiter ?? bestDelimiter(rest, isWhole);
  const all = recordsOf(rest, delimiter, isWhole);
  const width = usualWidth(all);
  const first = given.skip === undefined && width > 1 ? beginningOf(all, width) : 0;
  const table = all.slice(Math.max(0, first));
  const skip = given.skip ?? (first > 0 ? (table[0]?.line ?? 1) - 1 : 0);
  const head = table[0]?.fields ?? [];
  const hasHeader = given.hasHeader ?? looksLikeHeader(head);
  const records = hasHeader ? table.slice(1) : table;
  const names = hasHeader ? head : Array.from({ length: Math.max(width, head.length) }, () => undefined);
  return { delimiter, skip, hasHeader, names, records, decimal: given.decimal ?? decimalOf(records, delimiter) };
}

/** The text without its first `count` lines. */
export function skipLines(text: string, count: number): string {
  let at = 0;
  for (let n = 0; n < count; n++) {
    const end = text.indexOf('\n', at);
    if (end < 0) return '';
    at = end + 1;
  }
  return text.slice(at);
}

function recordsOf(text: string, delimiter: Delimiter, isWhole: boolean): CsvRecord[] {
  const records: CsvRecord[] = [];
  const form = { delimiter: delimiters[delimiter], fieldsMax: limits.importColumnsMax };
  for (const record of csvRecords(text, form)) {
    if (records.push(record) > limits.importSampleLines) break;
  }
  if (records.length > limits.importSampleLines || (!isWhole && records.length > 1)) records.pop();
  return records.filter(({ fault }) => fault === undefined);
}

/** The delimiter with which most lines have the same number of fields; among those, the one with the most fields. */
function bestDelimiter(text: string, isWhole: boolean): Delimiter {
  let best: { readonly delimiter: Delimiter; readonly score: number } = { delimiter: 'comma', score: 0 };
  for (const delimiter of Object.keys(delimiters) as Delimiter[]) {
    const records = recordsOf(text, delimiter, isWhole);
    const width = usualWidth(records);
    const alike = records.filter(({ fields }) => fields.length === width).length / Math.max(1, records.length);
    // Decimal commas look like a delimiter, but rarely give all lines the same number of fields.
    const score = width < 2 ? 0 : alike * 100 + Math.min(width, 50) / 50 + (delimiter === 'comma' ? 0 : 5);
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** The number of fields that most records have. */
function usualWidth(records: readonly CsvRecord[]): number {
  const counts = Map.groupBy(records, ({ fields }) => fields.length);
  let usual = { width: 0, count: 0 };
  for (const [width, { length: count }] of counts) {
    if (count > usual.count || (count === usual.count && width > usual.width)) usual = { width, count };
  }
  return usual.width;
}

/**
 * Where the table begins: at the first line that is as wide as most. Loggers and spreadsheets fill up the lines before it, so
 * a later one counts if it names a column of times, and no line before it has a time.
 */
function beginningOf(records: readonly CsvRecord[], width: number): number {
  const first = records.findIndex(({ fields }) => fields.length >= width);
  const isWide = ({ fields }: CsvRecord) => fields.length >= width;
  const firstTime = records.findIndex((record, n) => n >= first && isWide(record) && record.fields.some(isTime));
  const named = records.findIndex(
    (record, n) => n >= first && n < firstTime && isWide(record) && record.fields.some(isNameOfTimes),
  );
  return named < 0 ? first : named;
}

function isTime(field: string): boolean {
  const text = field.trim();
  return isClock(text) || (!isNumber(text, 'point') && recogniseTimes([text]) !== undefined);
}

/** A header has words, but no values or times. */
function looksLikeHeader(fields: readonly string[]): boolean {
  const texts = fields.map((field) => field.trim()).filter((field) => field !== '');
  if (texts.length === 0) return false;
  return !texts.some(
    (text) =>
      isNumber(text, 'point') || isNumber(text, 'comma') || isClock(text) || recogniseTimes([text]) !== undefined,
  );
}

function decimalOf(records: readonly CsvRecord[], delimiter: Delimiter): Decimal {
  const texts = records.flatMap(({ fields }) => fields.map((field) => field.trim()));
  // With comma as delimiter, 1,234 in quotes is more likely a thousand.
  const withComma = delimiter === 'comma' ? /^[+-]?\d+,(\d{1,2}|\d{4,})$/ : /^[+-]?\d+,\d+([eE][+-]?\d+)?$/;
  const hasCommas = texts.some((text) => withComma.test(text));
  return hasCommas && !texts.some((text) => /^[+-]?\d+\.\d+$/.test(text)) ? 'comma' : 'point';
}
