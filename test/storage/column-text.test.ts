// Datapoints encoded from columns give the same bytes as datapoints encoded one by one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { columnsOf, datapointsOf, type Slice } from '../../src/domain/datapoints/columns.ts';
import { columnText } from '../../src/http/lists/column-text.ts';
import { datapointRows } from '../../src/http/lists/datapoint-rows.ts';
import { properties } from '../support/properties.ts';

const edges = [0, 999, 1000, 59_999, 3_599_999, 3_600_000, 86_399_999].flatMap((ms) => [
  ms,
  -ms,
  Date.UTC(2024, 1, 29) + ms,
]);
const time = fc.oneof(
  fc
    .integer({ min: Date.UTC(0, 0) - 1_900 * 366 * 86_400_000, max: Date.UTC(9999, 11, 31) })
    .map((ms) => Math.max(ms, -62_135_596_800_000)),
  fc.constantFrom(...edges),
);
const value = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.integer({ min: -999, max: 999 }).map((tenths) => tenths / 10),
  fc.constantFrom(-0, 5e-324, 1.7976931348623157e308, -1.25e-300),
  fc
    .jsonValue()
    .filter((json) => typeof json !== 'number')
    .map((json) => JSON.stringify(json)),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
);
const point = fc.record({
  timestampMs: fc.option(time, { nil: undefined }),
  receivedMs: time,
  value,
});

/** Without the byte of room on either side. */
const textOf = (slice: Slice, format: 'json' | 'ndjson') =>
  Buffer.from(columnText.encode(slice, format).subarray(1, -1)).toString();

test('columns are written as their datapoints are', () => {
  const rows = datapointRows({ isLocated: false, isExact: false, isForSpreadsheet: false });
  fc.assert(
    fc.property(fc.array(point, { minLength: 1, maxLength: 20 }), fc.nat(20), fc.nat(20), (points, a, b) => {
      const [from, to] = [Math.min(a, b, points.length), Math.min(Math.max(a, b), points.length)];
      const columns = columnsOf(points);
      const json = datapointsOf(columns).slice(from, to).map((row) => rows.json({ device: 'd', sensor: 's', row })); // biome-ignore format: one line
      const slice = { columns, from, to };
      assert.equal(textOf(slice, 'json'), json.join(','));
      assert.equal(textOf(slice, 'ndjson'), json.map((line) => `${line}\n`).join(''));
      const few = columnText.firstOf(slice, 2);
      assert.equal(columnText.rowsIn(few), Math.min(2, to - from));
      assert.equal(textOf(few, 'json'), json.slice(0, 2).join(','));
    }),
    properties({ factor: 10 }),
  );
});
