// Parsing the parts of a long JSON text. How the API answers bad JSON: test/http/server/bad-input.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../config/limits.ts';
import { parseJsonText } from './json-text.ts';

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
