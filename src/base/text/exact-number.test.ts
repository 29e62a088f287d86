// Which numbers a double carries, and that those it does not carry keep their digits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { doubleOf, exactNumber, isCarriedByDouble, parseExactly } from './exact-number.ts';
import { parseExactJsonText, parseJsonText } from './json-text.ts';

test('a double carries whatever a double was written as', () => {
  const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
  const texts = fc.tuple(doubles, fc.integer({ min: 16, max: 17 })).chain(([double, digits]) =>
    // As JavaScript and Python write it, and as C's `%.17g` does.
    fc.constantFrom(
      String(double),
      JSON.stringify(double),
      double.toPrecision(17),
      double.toExponential(16),
      ...(digits === 16 && Number(double.toPrecision(16)) === double ? [double.toPrecision(16)] : []),
    ),
  );
  fc.assert(
    fc.property(texts, (text) => isCarriedByDouble(text)),
    properties(),
  );
});

test('a double carries numbers of fifteen digits, however they are written', () => {
  for (const text of ['21.50', '1E5', '1.0e+5', '100e-2', '-0.0', '0e999', '0.000000000000001', '999999999999999']) {
    assert.equal(isCarriedByDouble(text), true, text);
    assert.equal(JSON.stringify(exactNumber(text)), JSON.stringify(Number(text)), text);
  }
});

test('what a double does not carry comes back digit for digit, at any depth', () => {
  const lost = [
    ...['9007199254740993', '-9007199254740993', '12345678901234567890', '18446744073709551615'],
    ...[
      '3.14159265358979323846',
      '0.1234567890123456789',
      '123456789.123456789012',
      '1e-400',
      '1.00000000000000000001',
    ],
  ];
  for (const text of lost) {
    assert.equal(isCarriedByDouble(text), false, text);
    assert.equal(JSON.stringify(exactNumber(text)), text);
    assert.equal(doubleOf(exactNumber(text)), Number(text));
    for (const whole of [text, `[${text},1]`, `{"a":{"b":[0,${text}]},"c":"${text}"}`]) {
      assert.equal(JSON.stringify(parseExactly(whole)), whole);
      assert.equal(JSON.stringify(parseExactJsonText(Buffer.from(whole), 5)), whole);
      assert.equal(JSON.stringify(parseJsonText(Buffer.from(whole), 5)), JSON.stringify(JSON.parse(whole)));
    }
  }
});

test('numbers beyond the range of doubles are refused, with whatever digits', () => {
  for (const text of ['1e400', `1${'0'.repeat(400)}`, '12345678901234567890e300']) {
    assert.throws(() => parseExactJsonText(Buffer.from(`{"value":${text}}`), 5), { code: 'malformed' }, text);
  }
});
