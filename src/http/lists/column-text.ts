// Some datapoints of one sensor as JSON, from their columns. Long lists come from the store as text already.

import type { Slice } from '../../domain/datapoints/columns.ts';
import { jsonBytesMax, RowWriter, type Separator } from '../../domain/datapoints/history/column-json.ts';
import type { StepText } from './row-streams.ts';

export const columnText: StepText<Slice> = {
  rowsIn: ({ from, to }) => to - from,
  firstOf: ({ columns, from, to }, count) => ({ columns, from, to: Math.min(to, from + count) }),
  json: (slice) => write(slice, ','),
  ndjson: (slice) => write(slice, '\n'),
};

function write(slice: Slice, separator: Separator): Buffer {
  const bytes = Buffer.allocUnsafe(jsonBytesMax(slice));
  const writer = new RowWriter(bytes, { at: 0, separator });
  writer.add(slice, false);
  return bytes.subarray(0, writer.at);
}
