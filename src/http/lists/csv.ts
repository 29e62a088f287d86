// Fields of CSV (RFC 4180): CRLF, compound values as JSON.
import type { StoredValue } from '../../domain/datapoints/datapoint.ts';

/** Puts an apostrophe before a text that a spreadsheet would take for a formula. Numbers stay numbers. */
export function spreadsheetCell(text: string): string {
  return /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !isPlainNumber(text) ? `'${text}` : text;
}

function isPlainNumber(text: string): boolean {
  return /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text);
}

/** The fields as a line with its CRLF; fields are quoted where needed. */
export function csvLineOf(fields: readonly string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** Numbers, booleans and strings bare; anything compound as JSON; null as the empty field. */
export function valueText(value: StoredValue): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value === 'null') return '';
  return value.startsWith('"') ? (JSON.parse(value) as string) : value;
}

/** As JSON, so that an import restores the same value: texts in quotes, null as `null`. */
export function exactValueText(value: StoredValue): string {
  return typeof value === 'number' ? valueText(value) : value;
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
