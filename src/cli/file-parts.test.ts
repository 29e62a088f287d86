import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstLines } from './file-parts.ts';

test('the first lines of a text are all of it where it has no more', () => {
  for (const [text, count, expected] of [
    ['a\nb\nc\n', 0, ''],
    ['a\nb\nc\n', 2, 'a\nb\n'],
    ['a\nb\n', 2, 'a\nb\n'],
    ['a\nb', 2, 'a\nb'],
    ['a\nb', 3, 'a\nb'],
    ['a\nb\n', 4, 'a\nb\n'],
    ['a', 1, 'a'],
    ['', 1, ''],
  ] as const) {
    assert.equal(String(firstLines(Buffer.from(text), count)), expected, JSON.stringify([text, count]));
  }
});
