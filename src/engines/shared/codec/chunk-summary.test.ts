import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { summarize } from './chunk-summary.ts';

test('a summary says of the numbers what they themselves say, whatever texts lie between', () => {
  const value = fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }), { nil: Number.NaN });
  const datapoint = fc.tuple(fc.integer({ min: -8.64e15, max: 8.64e15 }), value);
  fc.assert(
    fc.property(fc.array(datapoint, { minLength: 1 }), (datapoints) => {
      const at = Float64Array.from(datapoints, ([time]) => time);
      const values = Float64Array.from(datapoints, ([, one]) => one);
      const texts = new Map([...values.keys()].filter((i) => Number.isNaN(values[i])).map((i) => [i, 'null']));
      const stamped = new Uint8Array(at.length);
      const numbers = [...values].filter((one) => !Number.isNaN(one));
      assert.deepEqual(summarize({ count: at.length, at, received: at, stamped, values, texts }), {
        count: datapoints.length,
        first: Math.min(...at),
        last: Math.max(...at),
        numbers: numbers.length,
        min: numbers.length > 0 ? numbers.reduce((a, b) => (b < a ? b : a)) : Number.NaN,
        max: numbers.length > 0 ? numbers.reduce((a, b) => (b > a ? b : a)) : Number.NaN,
        sum: numbers.reduce((a, b) => a + b, 0),
      });
    }),
    properties(),
  );
});
