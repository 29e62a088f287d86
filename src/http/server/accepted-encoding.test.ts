// Parsing of Accept-Encoding (RFC 9110 section 12.5.3).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Encoding, encodingOf } from './accepted-encoding.ts';

suite('of brotli and gzip is chosen', () => {
  const rows: readonly (readonly [header: string | undefined, expected: Encoding])[] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['br, GZIP ; q=0.5', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0.5, gzip;q=0.501', 'gzip'],
    ['deflate,*', 'br'],
    ['*;q=0', 'identity'],
    ['gzip;q=0', 'identity'],
    ['gzip ; q=0.000, br', 'br'],
    ['br;q=0, *', 'gzip'],
    ['gzip;q=0, br;q=0, *', 'identity'],
    ['*;q=0, gzip', 'gzip'],
    ['gzip;q=', 'gzip'],
    ['gzip;q=nonsense', 'gzip'],
    ['gzip, gzip;q=0', 'gzip'],
    ['identity, gzip', 'gzip'],
    ['identity;q=1, gzip;q=0.5', 'identity'],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    ['identity;q=0', 'identity'],
    ['xgzip, gzipx, brotli', 'identity'],
  ];
  for (const [header, expected] of rows) {
    test(`${expected} by ${JSON.stringify(header)}`, () => {
      assert.equal(encodingOf(header, ['br', 'gzip']), expected);
    });
  }
});

test('what is not offered is not chosen', () => {
  assert.equal(encodingOf('br, gzip;q=0.1', ['gzip']), 'gzip');
  assert.equal(encodingOf('br', ['gzip']), 'identity');
});
