// Datapoints of one sensor as JSON, written from their columns straight into bytes: a list has many thousands, and an object
// and some texts for each would take several times as long to make, and to clear away. Says what datapoint-rows.ts says.
import { noteSpent } from '../base/spent-buffers.ts';
import { type Columns, valueAt } from '../domain/datapoints/columns.ts';
import type { ColumnSlice } from '../domain/datapoints/history.ts';
import type { StepText } from './row-streams.ts';

export const columnText: StepText<ColumnSlice> = {
  rowsIn: ({ from, to }) => to - from,
  firstOf: ({ columns, from, to }, count) => ({ columns, from, to: Math.min(to, from + count) }),
  json: (slice) => write(slice, ','),
  ndjson: (slice) => write(slice, '\n'),
};

const beforeValue = Buffer.from('{"value":');
const beforeTimestamp = Buffer.from(',"timestamp":"');
const beforeReceived = Buffer.from('"date_received":"');
const end = Buffer.from('"}');
const comma = 0x2c;
const quote = 0x22;
const zero = 0x30;
/** All of the above, two times of 24 and a number of 24 characters. */
const rowBytes = 140;

/** The rows, with commas between them, or each in a line of its own. */
function write({ columns, from, to }: ColumnSlice, separator: ',' | '\n'): Buffer {
  const bytes = Buffer.allocUnsafeSlow((to - from) * rowBytes + textBytes(columns, from, to));
  let at = 0;
  for (let index = from; index < to; index++) {
    if (separator === ',' && index > from) bytes[at++] = comma;
    at = putValue(bytes, put(bytes, at, beforeValue), valueAt(columns, index));
    if (columns.stamped[index] === 1) {
      at = putTime(bytes, put(bytes, at, beforeTimestamp), columns.at[index] as number);
      bytes[at++] = quote;
    }
    bytes[at++] = comma;
    at = putTime(bytes, put(bytes, at, beforeReceived), columns.received[index] as number);
    at = put(bytes, at, end);
    if (separator === '\n') bytes[at++] = 0x0a;
  }
  noteSpent(bytes.length);
  return bytes.subarray(0, at);
}

function textBytes({ texts }: Columns, from: number, to: number): number {
  let bytes = 0;
  if (texts !== undefined)
    for (const [index, text] of texts) if (index >= from && index < to) bytes += Buffer.byteLength(text);
  return bytes;
}

/** A number as JSON has it; what is none is kept as its JSON text. */
function putValue(bytes: Buffer, at: number, value: number | string): number {
  if (typeof value === 'string') return at + bytes.write(value, at);
  const text = Object.is(value, -0) ? '-0' : String(value);
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** As `formatTimestamp` writes it. */
function putTime(bytes: Buffer, start: number, ms: number): number {
  const hour = Math.floor(ms / hourMs);
  const inHour = ms - hour * hourMs;
  const second = Math.floor(inHour / 1000);
  const fraction = inHour - second * 1000;
  let at = put(bytes, start, startOfHour(hour));
  at = putTwo(bytes, at, Math.floor(second / 60));
  bytes[at++] = 0x3a;
  at = putTwo(bytes, at, second % 60);
  if (fraction > 0) {
    bytes[at++] = 0x2e;
    bytes[at++] = zero + Math.floor(fraction / 100);
    at = putTwo(bytes, at, fraction % 100);
  }
  bytes[at++] = 0x5a;
  return at;
}

function putTwo(bytes: Buffer, at: number, number: number): number {
  bytes[at] = zero + Math.floor(number / 10);
  bytes[at + 1] = zero + (number % 10);
  return at + 2;
}

function put(bytes: Buffer, at: number, some: Buffer): number {
  for (let i = 0; i < some.length; i++) bytes[at + i] = some[i] as number;
  return at + some.length;
}

const hourMs = 3_600_000;
/** The hours written last, of the two times of a datapoint: each goes on slowly. */
const hours = [0, 1].map(() => ({ hour: Number.NaN, text: Buffer.alloc(0) }));
let older = 0;

/** `2016-06-08T18:` */
function startOfHour(hour: number): Buffer {
  for (const known of hours) if (known.hour === hour) return known.text;
  const text = Buffer.from(new Date(hour * hourMs).toISOString().slice(0, -10));
  hours[older] = { hour, text };
  older = 1 - older;
  return text;
}
