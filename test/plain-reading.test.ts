// The short way of reading a reading says what the general way says, or nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJsonText } from '../src/base/json-text.ts';
import { parsePlainReading } from '../src/domain/datapoints/plain-reading.ts';
import { parseReadings } from '../src/domain/datapoints/reading.ts';
import { properties } from './support/properties.ts';

function plain(text: string) {
  // With other bytes around it, as it stands in a packet.
  const bytes = Buffer.from(`9${text}9`);
  return parsePlainReading(bytes, 1, bytes.length - 1);
}

function general(text: string) {
  try {
    return parseReadings(parseJsonText(Buffer.from(text), 32))[0];
  } catch {
    return undefined;
  }
}

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 17 });
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.integer().map(String),
  fc
    .tuple(fc.constantFrom('', '-', '+'), digits, fc.constantFrom('', '.', '..'), digits)
    .map((parts) => parts.join('')),
  fc.constantFrom('-0', '-0.0', '0.1', '00.1', '1.', '.5', '1e3', '123456789012345.6', '"21"', 'null', ' 1', '1 '),
);
const date = fc
  .date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map((at) => at.toISOString());
const timestamp = fc.oneof(
  date,
  date.map((text) => text.replace(/\.\d{3}/, '')),
  // One character of it changed.
  fc.tuple(date, fc.nat(23), fc.constantFrom(...'0123456789-:TZ. x')).map(([text, at, other]) => {
    return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
  }),
  fc.constantFrom('', '2016-06-08', '2016-06-31T00:00:00Z', '2016-02-29T00:00:00Z', '2016-06-08T18:20:60Z'),
);
const reading = fc.oneof(
  number.map((value) => `{"value":${value}}`),
  fc.tuple(number, timestamp).map(([value, at]) => `{"value":${value},"timestamp":"${at}"}`),
  fc.tuple(number, timestamp).map(([value, at]) => `{"value":${value},"timestamp":"${at}"}}`),
  fc.tuple(number, timestamp).map(([value, at]) => `{"value":${value}, "timestamp":"${at}","x":1}`),
);

test('what the short way reads, the general way reads alike', () => {
  fc.assert(
    fc.property(reading, (text) => {
      const short = plain(text);
      if (short !== undefined) assert.deepEqual(short, general(text), text);
    }),
    properties({ factor: 10 }),
  );
});

test('the usual readings go the short way', () => {
  for (const text of [
    '{"value":21.5}',
    '{"value":-3}',
    '{"value":0}',
    '{"value":-0}',
    '{"value":21.5,"timestamp":"2016-06-08T18:20:27Z"}',
    '{"value":21.5,"timestamp":"2016-06-08T18:20:27.873Z"}',
  ]) {
    assert.notEqual(plain(text), undefined, text);
    assert.deepEqual(plain(text), general(text), text);
  }
});
