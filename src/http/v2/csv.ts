// Datapoints as CSV (RFC 4180): header line, CRLF, compound values as JSON.
import { formatTimestamp } from '../../base/timestamp.ts';
import type { Datapoint, StoredValue } from '../../domain/datapoints/datapoint.ts';

export const csvHeader = 'timestamp,date_received,value\r\n';

export function csvLine(point: Datapoint): string {
  const timestamp = point.timestampMs === undefined ? '' : formatTimestamp(point.timestampMs);
  return `${timestamp},${formatTimestamp(point.receivedMs)},${csvField(valueText(point.value))}\r\n`;
}

/** Numbers, booleans and strings bare; anything compound as JSON; null as the empty field. */
function valueText(value: StoredValue): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value === 'null') return '';
  return value.startsWith('"') ? (JSON.parse(value) as string) : value;
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
