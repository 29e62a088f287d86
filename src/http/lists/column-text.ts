// Encodes some datapoints of one sensor as JSON, from columns. Long lists come from the store as text.

import type { Slice } from '../../domain/datapoints/columns.ts';
import { jsonBytesMax, type RowEncoding, RowWriter } from '../../domain/datapoints/history/row-encoding.ts';
import type { StepText } from './json-pieces.ts';

export const columnText: StepText<Slice> = {
  rowsIn: ({ from, to }) => to - from,
  firstOf: ({ columns, from, to }, count) => ({ columns, from, to: Math.min(to, from + count) }),
  encode,
};

function encode(slice: Slice, encoding: RowEncoding): Buffer {
  const bytes = Buffer.allocUnsafe(jsonBytesMax(slice) + 2);
  const writer = new RowWriter(bytes, { at: 1, encoding });
  writer.add(slice, false);
  const text = bytes.subarray(0, writer.at + 1);
  // The answer keeps this buffer until its reader has taken it, so a buffer of more than twice the text's size is
  // replaced by a copy.
  return text.length * 2 < bytes.length ? Buffer.from(text) : text;
}
