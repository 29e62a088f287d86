import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { csvRecords } from './csv-records.ts';

const read = (text: string) => [...csvRecords(text)];

test('fields, quotes, line breaks and lines are read as RFC 4180 writes them', () => {
  const rows: readonly (readonly [text: string, expected: readonly unknown[]])[] = [
    ['', []],
    ['\r\n\n', []],
    ['a', [{ line: 1, fields: ['a'] }]],
    ['a,b\r\nc,d\r\n', [{ line: 1, fields: ['a', 'b'] }, { line: 2, fields: ['c', 'd'] }]], // biome-ignore format: a table
    ['a,\n,b', [{ line: 1, fields: ['a', ''] }, { line: 2, fields: ['', 'b'] }]], // biome-ignore format: a table
    ['\uFEFFa\n\n\nb', [{ line: 1, fields: ['a'] }, { line: 4, fields: ['b'] }]], // biome-ignore format: a table
    ['"a,""b""\r\nc",d\ne', [{ line: 1, fields: ['a,"b"\r\nc', 'd'] }, { line: 3, fields: ['e'] }]], // biome-ignore format: a table
    ['"",""', [{ line: 1, fields: ['', ''] }]],
    ['""\n \n', [{ line: 1, fields: [''] }, { line: 2, fields: [' '] }]], // biome-ignore format: a table
    ['a\rb', [{ line: 1, fields: ['a\rb'] }]],
  ];
  for (const [text, expected] of rows) assert.deepEqual(read(text), expected, JSON.stringify(text));
});

test('millions of empty lines are passed over in no time', () => {
  const begun = performance.now();
  assert.deepEqual(read(`${'\n'.repeat(8_000_000)}${'\r\n'.repeat(4_000_000)}a`), [
    { line: 12_000_001, fields: ['a'] },
  ]);
  assert.ok(performance.now() - begun < 5_000);
});

test('a record that breaks the rules spoils no other', () => {
  for (const bad of ['x,a"b', '"a"b,c', 'a,"b" ']) {
    const [first, broken, last, ...more] = read(`1,2\n${bad}\n3,4\n`);
    assert.deepEqual(first, { line: 1, fields: ['1', '2'] });
    assert.equal(broken?.line, 2);
    assert.ok(broken?.fault !== undefined, bad);
    assert.deepEqual(last, { line: 3, fields: ['3', '4'] });
    assert.deepEqual(more, []);
  }
  assert.match(read('a\n"b\nc')[1]?.fault ?? '', /does not end/);
  assert.match(read(`${','.repeat(200)}\nb`)[0]?.fault ?? '', /more than 100/);
  assert.deepEqual(read(`${','.repeat(200)}\nb`)[1], { line: 2, fields: ['b'] });
});

test('what is written is read back, whatever it is', () => {
  const field = fc.oneof(fc.string(), fc.constantFrom('"', ',', '\r\n', '""', 'a"b', '\n', ' '));
  fc.assert(
    fc.property(fc.array(fc.array(field, { minLength: 2, maxLength: 5 }), { maxLength: 8 }), (records) => {
      const text = records.map((fields) => fields.map((f) => `"${f.replaceAll('"', '""')}"`).join(',')).join('\r\n');
      assert.deepEqual(
        read(text).map(({ fields }) => fields),
        records,
      );
    }),
    properties(),
  );
});
