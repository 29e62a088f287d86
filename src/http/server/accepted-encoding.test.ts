// Parsing of Accept-Encoding (RFC 9110 section 12.5.3).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { takesEncoding } from './accepted-encoding.ts';

suite('gzip is taken', () => {
  const rows: readonly (readonly [header: string | undefined, expected: boolean])[] = [
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['br, GZIP ; q=0.5', true],
    ['deflate,*', true],
    ['*;q=0', false],
    ['gzip;q=0', false],
    ['gzip ; q=0.000, br', false],
    ['gzip;q=0, *', false],
    ['*;q=0, gzip', true],
    ['gzip;q=', true],
    ['xgzip, gzipx', false],
  ];
  for (const [header, expected] of rows) {
    test(`${expected ? 'by' : 'not by'} ${JSON.stringify(header)}`, () => {
      assert.equal(takesEncoding(header, 'gzip'), expected);
    });
  }
});
