import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { encodeChunk, encodeInDoubles } from '../codec/chunk-codec.ts';
import { columnsOf, samples } from '../codec/columns.suite.ts';
import { differenceOf, writeChunk } from './written-chunk.ts';

suite('a written chunk', () => {
  for (const [name, datapoints] of Object.entries(samples)) {
    test(`of ${name} reads back as its datapoints, and as no others`, () => {
      const columns = columnsOf(datapoints);
      const chunk = writeChunk(columns);
      assert.equal(differenceOf(chunk, columns), undefined);
      const last = columns.count - 1;
      const other = (change: Partial<typeof columns>) => differenceOf(chunk, { ...columns, ...change });
      const with1More = (column: Float64Array) => column.map((one, i) => (i === last ? one + 1 : one));
      assert.equal(other({ at: with1More(columns.at) }), 'at');
      assert.equal(other({ received: with1More(columns.received) }), 'received');
      assert.equal(other({ stamped: columns.stamped.map((one, i) => (i === last ? 1 - one : one)) }), 'stamped');
      assert.equal(other({ values: columns.values.map((one, i) => (i === 0 ? 4_711.5 : one)) }), 'values');
      assert.equal(other({ texts: new Map([...(columns.texts ?? []), [last + 1, '"more"']]) }), 'texts');
      assert.equal(other({ count: columns.count + 1 }), 'count');
      const { summary } = chunk;
      assert.match(
        differenceOf({ ...chunk, summary: { ...summary, first: summary.last + 1 } }, columns) ?? '',
        /first/,
      );
    });
  }

  test('is encoded anew where it does not read back, and refused where it never does', () => {
    const columns = columnsOf([1, 2, 3].map((at) => ({ at, late: 0, value: at })));
    const other = columnsOf([1, 2, 3].map((at) => ({ at, late: 0, value: 0 })));
    const whole = encodeChunk(columns);
    for (const wrong of [encodeChunk(other), whole.slice(0, -1)]) {
      let attempts = 0;
      const once = () => (attempts++ === 0 ? wrong : whole);
      assert.deepEqual(writeChunk(columns, { tried: [once, once] }).bytes, whole);
      assert.equal(attempts, 2);
      assert.throws(
        () => writeChunk(columns, { tried: [() => wrong] }),
        /^Error: A chunk of 3 datapoints reads back with another /,
      );
    }
  });

  for (const [name, datapoints] of Object.entries(samples)) {
    test(`of ${name} is written as doubles where the shorter form does not read back`, () => {
      const columns = columnsOf(datapoints);
      const chunk = writeChunk(columns, { tried: [() => new Uint8Array(9), encodeInDoubles] });
      assert.equal(differenceOf(chunk, columns), undefined);
      assert.notDeepEqual(chunk.bytes, encodeChunk(columns));
    });
  }

  test('takes a time of minus zero for one of zero', () => {
    const columns = columnsOf([-1, -0].map((at) => ({ at, late: 0, value: 1 })));
    assert.equal(differenceOf(writeChunk(columns), columns), undefined);
  });

  test('tells a zero from a negative one', () => {
    const [positive, negative] = [0, -0].map((value) => columnsOf([{ at: 1, late: 0, value }, { at: 2, late: 0, value: 1 }])); // biome-ignore format: one line
    assert.ok(positive !== undefined && negative !== undefined);
    assert.match(differenceOf(writeChunk(positive), negative) ?? '', /values/);
  });
});
