// The fast parser of a reading returns what the general parser returns, or nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJsonText } from '../../src/base/text/json-text.ts';
import { parsePlainReading, parsePlainReadings } from '../../src/domain/datapoints/ingest/plain-reading.ts';
import { parseReadings } from '../../src/domain/datapoints/ingest/reading.ts';
import { properties } from '../support/properties.ts';

function plain(text: string) {
  // With other bytes around it, as it stands in a packet.
  const bytes = Buffer.from(`9${text}9`);
  const reading = parsePlainReading(bytes, 1, bytes.length - 1);
  if (reading === undefined) return undefined;
  // It is its own list.
  assert.deepEqual([reading.length, [...reading], reading.at(0), reading.at(1)], [1, [reading], reading, undefined]);
  assert.deepEqual(reading.map((each, index) => [each, index]), [[reading, 0]]); // biome-ignore format: one line
  return { value: reading.value, timestampMs: reading.timestampMs };
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
  fc.tuple(number, fc.constantFrom(' ', '\n', '\r\n\t')).map(([value, s]) => `${s}{${s}"value":${s}${value}${s}}${s}`),
  number.map((value) => `{"value":${value}}`),
  fc.tuple(number, timestamp).map(([value, at]) => `{"value":${value},"timestamp":"${at}"}`),
  fc.tuple(number, timestamp).map(([value, at]) => `{"value":${value},"timestamp":"${at}"}}`),
  fc.tuple(number, timestamp).map(([value, at]) => `{"value":${value}, "timestamp":"${at}","x":1}`),
);

const space = fc.constantFrom('', ' ', '  ', '\n', '\r\n\t', '\u00a0', '\v');
const spaced = fc.tuple(number, timestamp, fc.array(space, { minLength: 5, maxLength: 5 }));
const free = fc.oneof(
  reading,
  spaced.map(([value, at, [a, b, c, d, e]]) => `{${e}"value":${a}${value},${b}"timestamp":${c}"${at}"${d}}`),
  spaced.map(([value, at, [a, b, c, d]]) => `{"timestamp":${a}"${at}",${b}"value":${c}${value}${d}}`),
  fc.tuple(number, number).map(([value, other]) => `{"value":${value},"value":${other}}`),
  timestamp.map((at) => `{"timestamp":"${at}"}`),
);
const separator = fc.constantFrom(',', ',', ',', ', ', ',  ', ',\n', '\r\n,\t', ' ,', ',,', '');
const list = fc
  .tuple(fc.array(fc.tuple(free, separator), { maxLength: 4 }), fc.array(space, { minLength: 4, maxLength: 4 }))
  .map(([parts, [a, b, c, d]]) => {
    return `${a}[${b}${parts.map(([text, after], n) => (n === parts.length - 1 ? text : text + after)).join('')}${c}]${d}`;
  });

test('what the short way reads of an array, the general way reads alike', () => {
  fc.assert(
    fc.property(fc.oneof(list, free, fc.string()), (text) => {
      const short = parsePlainReadings(Buffer.from(text));
      if (short !== undefined)
        assert.deepEqual([...(short ?? [])], parseReadings(parseJsonText(Buffer.from(text), 32)), text);
    }),
    properties({ factor: 10 }),
  );
});

test('arrays of the usual readings go the short way, whatever the order of the names, and with spaces', () => {
  for (const text of [
    '[{"value":21.5}]',
    '[{"value":21.5,"timestamp":"2016-02-29T18:20:27Z"},{"value":-1,"timestamp":"2016-01-31T18:20:27.873Z"}]',
    '[{"value": 21.5, "timestamp": "2016-06-08T18:20:27Z"}, {"timestamp": "2016-06-08T18:20:27Z", "value": 3}]',
    '[{"value":21.5},\n{"value":-1}]\n',
    JSON.stringify([{ value: 21.5, timestamp: '2016-06-08T18:20:27Z' }, { value: 3 }], undefined, 2),
  ]) {
    const short = parsePlainReadings(Buffer.from(text));
    assert.notEqual(short, undefined, text);
    assert.deepEqual([...(short ?? [])], parseReadings(parseJsonText(Buffer.from(text), 32)), text);
  }
  const many = Buffer.from(`[${Array(30_001).fill('{"value":1}').join(',')}]`);
  assert.equal(parsePlainReadings(many), undefined);
});

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
    '{ "value": 21.5 }',
    '{"value":21.5}\r\n',
  ]) {
    assert.notEqual(plain(text), undefined, text);
    assert.deepEqual(plain(text), general(text), text);
  }
});
