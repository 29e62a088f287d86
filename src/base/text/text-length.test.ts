import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasBytesMax, hasCharsMax } from './text-length.ts';

test('characters are code points: an emoji counts one, whatever it takes in memory', () => {
  assert.equal(hasCharsMax('🥁'.repeat(64), 64), true);
  assert.equal(hasCharsMax('🥁'.repeat(65), 64), false);
  assert.equal(hasCharsMax('é'.repeat(64), 64), true);
  assert.equal(hasCharsMax('a'.repeat(65), 64), false);
  assert.equal(hasCharsMax('', 0), true);
});

test('bytes are those of UTF-8', () => {
  assert.equal(hasBytesMax('é'.repeat(8), 16), true);
  assert.equal(hasBytesMax('é'.repeat(9), 16), false);
  assert.equal(hasBytesMax('🥁'.repeat(4), 16), true);
  assert.equal(hasBytesMax('a'.repeat(17), 16), false);
});
