// Some datapoints of one sensor as JSON, from their columns. Long lists come from the store as text already.

import type { Slice } from '../../domain/datapoints/columns.ts';
import { jsonBytesMax, type RowEncoding, RowWriter } from '../../domain/datapoints/history/row-encoding.ts';
import type { StepText } from './row-streams.ts';

export const columnText: StepText<Slice> = {
  rowsIn: ({ from, to }) => to - from,
  firstOf: ({ columns, from, to }, count) => ({ columns, from, to: Math.min(to, from + count) }),
  json: (slice) => write(slice, 'json'),
  ndjson: (slice) => write(slice, 'ndjson'),
};

function write(slice: Slice, encoding: RowEncoding): Buffer {
  const bytes = Buffer.allocUnsafe(jsonBytesMax(slice));
  const writer = new RowWriter(bytes, { at: 0, encoding });
  writer.add(slice, false);
  return bytes.subarray(0, writer.at);
}
