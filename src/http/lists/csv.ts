// Fields of CSV (RFC 4180): CRLF, compound values as JSON.
import type { StoredValue } from '../../domain/datapoints/datapoint.ts';

/**
 * A cell that a spreadsheet shows as it is: a text that it would take for a formula gets an apostrophe in front, as people
 * write it there themselves. Numbers stay numbers.
 */
export function spreadsheetCell(text: string): string {
  return /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !isPlainNumber(text) ? `'${text}` : text;
}

function isPlainNumber(text: string): boolean {
  return /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text);
}

export function csvLineOf(fields: readonly string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** Numbers, booleans and strings bare; anything compound as JSON; null as the empty field. */
export function valueText(value: StoredValue): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value === 'null') return '';
  return value.startsWith('"') ? (JSON.parse(value) as string) : value;
}

/** As JSON, so that an import reads the same value again: a text between quotes, null as `null`. */
export function exactValueText(value: StoredValue): string {
  return typeof value === 'number' ? valueText(value) : value;
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
