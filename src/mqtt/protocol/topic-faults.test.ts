// What is UTF-8, beside Node.js's own judge; what is a shared subscription's filter; integers of one to four bytes.
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { isShared, scanText, sharedFilterStart, textMarks } from './topic-faults.ts';
import {
  isPadded,
  variableIntegerAt,
  variableIntegerBytes,
  variableIntegerEnd,
  variableIntegerMax,
  writeVariableInteger,
} from './variable-integers.ts';

suite('a text', () => {
  const isWellFormed = (bytes: Uint8Array) => (scanText(bytes, 0, bytes.length) & textMarks.illFormed) === 0;

  test('is UTF-8 where Node.js says so, for each two bytes, and bytes at every edge behind them', () => {
    const edges = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
    const bytes = Buffer.alloc(4);
    for (let first = 0; first < 0x1_0000; first++) {
      bytes.writeUInt16BE(first);
      for (let length = 1; length <= 2; length++) {
        const some = bytes.subarray(0, length);
        assert.equal(isWellFormed(some), isUtf8(some), some.toString('hex'));
      }
      // Behind these a character may go on.
      if (first < 0xe080) continue;
      for (const third of edges) {
        for (const fourth of edges) {
          bytes[2] = third;
          bytes[3] = fourth;
          for (let length = 3; length <= 4; length++) {
            const some = bytes.subarray(0, length);
            if (isWellFormed(some) !== isUtf8(some)) assert.fail(some.toString('hex'));
          }
        }
      }
    }
  });

  test('is UTF-8 where Node.js says so, whatever it is, and is read within its bounds', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 4 }),
    );
    const property = fc.property(fc.array(piece, { maxLength: 4 }), (pieces) => {
      const bytes = Buffer.concat(pieces);
      assert.equal(isWellFormed(bytes), isUtf8(bytes));
      const around = Buffer.concat([Buffer.of(0x80), bytes, Buffer.of(0x80)]);
      assert.equal(scanText(around, 1, around.length - 1), scanText(bytes, 0, bytes.length));
      if (!isUtf8(bytes)) return;
      const text = bytes.toString();
      const marks = scanText(bytes, 0, bytes.length);
      assert.equal((marks & textMarks.nul) !== 0, text.includes('\0'));
      assert.equal((marks & textMarks.wildcard) !== 0, /[+#]/.test(text));
    });
    fc.assert(property, properties({ factor: 3 }));
  });
});

test('a shared subscription names a group and a filter', () => {
  const rows: readonly (readonly [filter: string, inner: string | 'broken' | 'usual'])[] = [
    ['$share/g/a', 'a'],
    ['$share/g//a', '/a'],
    ['$share/g/+/#', '+/#'],
    ['$share/gruppe ü/#', '#'],
    ['$share//a', 'broken'],
    ['$share/g', 'broken'],
    ['$share/g/', 'broken'],
    ['$share/', 'broken'],
    ['$share/+/a', 'broken'],
    ['$share/#', 'broken'],
    ['$share', 'usual'],
    ['$shared/g/a', 'usual'],
    ['/$share/g/a', 'usual'],
    ['a', 'usual'],
  ];
  for (const [filter, expected] of rows) {
    const bytes = Buffer.from(`x${filter}`);
    const isOfGroup = isShared(bytes, 1, bytes.length);
    const start = isOfGroup ? sharedFilterStart(bytes, 1, bytes.length) : 0;
    const found = !isOfGroup ? 'usual' : start < 0 ? 'broken' : bytes.toString('utf8', start);
    assert.equal(found, expected, filter);
  }
});

suite('an integer of one to four bytes', () => {
  test('is read as it was written, in as few bytes as it takes', () => {
    const edges = [0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, variableIntegerMax];
    const lengths = [1, 1, 2, 2, 3, 3, 4, 4];
    assert.deepEqual(edges.map(variableIntegerBytes), lengths);
    const value = fc.oneof(fc.constantFrom(...edges), fc.integer({ min: 0, max: variableIntegerMax }));
    const property = fc.property(value, (written) => {
      const bytes = Buffer.alloc(6, 0xff);
      const end = writeVariableInteger(bytes, 1, written);
      assert.equal(end, 1 + variableIntegerBytes(written));
      assert.equal(variableIntegerEnd(bytes, 1, bytes.length), end);
      assert.equal(variableIntegerAt(bytes, 1, end), written);
      assert.equal(isPadded(bytes, 1, end), false);
      for (let cut = 1; cut < end; cut++) assert.equal(variableIntegerEnd(bytes, 1, cut), -1);
    });
    fc.assert(property, properties());
  });

  test('is told from one that is too long, or longer than it must be', () => {
    assert.equal(variableIntegerEnd(Buffer.from([0x80, 0x80, 0x80, 0x80, 0x00]), 0, 5), -2);
    const padded = Buffer.from([0x81, 0x80, 0x00]);
    assert.equal(variableIntegerEnd(padded, 0, 3), 3);
    assert.equal(variableIntegerAt(padded, 0, 3), 1);
    assert.equal(isPadded(padded, 0, 3), true);
  });
});
