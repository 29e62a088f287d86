// Parsing the parts of a long JSON text. How the API answers bad JSON: test/http/server/bad-input.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { limits } from '../../config/limits.ts';
import { Refusal } from '../refusal.ts';
import type { Json } from './json.ts';
import { parseJsonItems, parseJsonText } from './json-text.ts';

const levels = 32;
const objectOf = (keys: number) => `{${Array.from({ length: keys }, (_, n) => `"key number ${n}":1`).join(',')}}`;

test('different keys are bounded, repeated ones are not', () => {
  assert.equal(
    Object.keys(parseJsonText(Buffer.from(objectOf(limits.jsonKeysMax / 2)), levels) as object).length,
    10_000,
  );
  assert.throws(() => parseJsonText(Buffer.from(objectOf(limits.jsonKeysMax * 2)), levels), { code: 'too-large' });
  const repeated = `[${'{"a key":1,"another key":"a text: not a key"},'.repeat(limits.jsonKeysMax * 2)}1]`;
  assert.equal((parseJsonText(Buffer.from(repeated), levels) as unknown[]).length, limits.jsonKeysMax * 2 + 1);
});

test('texts are no keys, however many differ', () => {
  const texts = `[${Array.from({ length: limits.jsonKeysMax * 2 }, (_, n) => `"text number ${n}"`).join(',')}]`;
  assert.equal((parseJsonText(Buffer.from(texts), levels) as unknown[]).length, limits.jsonKeysMax * 2);
});

test('the bounds let through what gateways send: 30 000 datapoints with times and positions', () => {
  const reading = (n: number) => ({
    device_id: `d${n % 100}`,
    sensor_id: `s${n % 7}`,
    timestamp: new Date(n * 1000).toISOString(),
    value: { latitude: n / 1000, longitude: [n, n] },
  });
  const text = JSON.stringify(Array.from({ length: limits.pushDatapointsMax }, (_, n) => reading(n)));
  assert.equal((parseJsonText(Buffer.from(text), levels) as unknown[]).length, limits.pushDatapointsMax);
});

test('items of an array, parsed one by one, are those of the array parsed as a whole; and what is no JSON is neither', () => {
  const texts = fc.oneof(
    fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 6 }).map((items) => JSON.stringify(items)),
    fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 6 }).map((items) => JSON.stringify(items, null, 1)),
    fc.jsonValue().map((value) => ` ${JSON.stringify(value)}`),
    fc.array(fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '"a"', '1', ' ', '\n', '\\', 'null', '\u00a0'), { maxLength: 12 }).map((parts) => parts.join('')), // biome-ignore format: one line
    fc.array(fc.constantFrom('[', ']', '{}', ',', '1', '"],["', ' '), { maxLength: 10 }).map((parts) => `[${parts.join('')}]`), // biome-ignore format: one line
  );
  const outcomeOf = (read: () => unknown) => {
    try {
      return JSON.stringify(read());
    } catch (error) {
      assert.ok(error instanceof Refusal, String(error));
      return error.code;
    }
  };
  fc.assert(
    fc.property(texts, (text) => {
      const whole = outcomeOf(() => {
        const value = parseJsonText(Buffer.from(text), 10);
        return Array.isArray(value) ? value : [value];
      });
      const inItems = outcomeOf(() => {
        const items: Json[] = [];
        for (const _ of parseJsonItems(text, 10, items));
        return items;
      });
      assert.equal(inItems, whole, text);
    }),
    properties({ factor: 4 }),
  );
});
