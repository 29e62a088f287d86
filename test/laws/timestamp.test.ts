// Timestamps (contract 1): everything RFC 3339 allows is read, and ISO 8601 without seconds, basic, and a date alone; what is written is read back alike.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { formatTimestamp, parseTimestamp } from '../../src/base/time/timestamp.ts';
import { properties } from '../support/properties.ts';

const firstMs = Date.parse('0000-01-01T00:00:00Z');
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
const times = fc.integer({ min: firstMs, max: lastMs });

suite('a timestamp', () => {
  const good: readonly (readonly [text: string, iso: string])[] = [
    ['2016-06-08T18:20:27Z', '2016-06-08T18:20:27.000Z'],
    ['2016-06-08T18:20:27.873Z', '2016-06-08T18:20:27.873Z'],
    ['2016-06-08T18:20:27.8Z', '2016-06-08T18:20:27.800Z'],
    ['2016-06-08T18:20:27.873999999Z', '2016-06-08T18:20:27.873Z'],
    ['2016-06-08T18:20:27', '2016-06-08T18:20:27.000Z'],
    ['2016-06-08 18:20:27Z', '2016-06-08T18:20:27.000Z'],
    ['2016-06-08t18:20:27z', '2016-06-08T18:20:27.000Z'],
    ['2016-06-08T18:20:27+02:00', '2016-06-08T16:20:27.000Z'],
    ['2016-06-08T18:20:27-02:30', '2016-06-08T20:50:27.000Z'],
    ['2016-06-08T18:20:27+0200', '2016-06-08T16:20:27.000Z'],
    ['2016-06-08T18:20:27-00:00', '2016-06-08T18:20:27.000Z'],
    ['2016-06-08T18:20Z', '2016-06-08T18:20:00.000Z'],
    ['2016-06-08T18:20', '2016-06-08T18:20:00.000Z'],
    ['2016-06-08 18:20+02:00', '2016-06-08T16:20:00.000Z'],
    ['2016-06-08T18:20:27+02', '2016-06-08T16:20:27.000Z'],
    ['2016-06-08', '2016-06-08T00:00:00.000Z'],
    ['20160608T182027Z', '2016-06-08T18:20:27.000Z'],
    ['20160608T182027', '2016-06-08T18:20:27.000Z'],
    ['20160608T182027.873+0200', '2016-06-08T16:20:27.873Z'],
    ['20160608T1820Z', '2016-06-08T18:20:00.000Z'],
    ['20160608', '2016-06-08T00:00:00.000Z'],
    ['2016-02-29T00:00:00Z', '2016-02-29T00:00:00.000Z'],
    ['2000-02-29T23:59:59.999Z', '2000-02-29T23:59:59.999Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ];
  for (const [text, iso] of good) {
    test(`${text} is ${iso}`, () => {
      assert.equal(new Date(parseTimestamp(text) ?? Number.NaN).toISOString(), iso);
    });
  }

  const bad = [
    ...['', ' ', 'now', '0', '1465410027', '2016', '2016-06', '201606', '18:20:27', '2016-06-08T', 'NaN', 'null'],
    ...['2016-06-08T18', '2016-06-08Z', '20160608Z', '20160608T18', '20160608T18:20:27Z', '2016-06-08T182027Z'],
    ...['2015-02-29', '20150229', '2016-06-31', '2016-6-8', '2016-160', '2016-W23-3', '20160608 182027Z'],
    ...['2016-06-08T18:20:27.Z', '2016-06-08T18:20:27.1234567890Z', '2016-06-08T18:20:27ZZ'],
    ...['2016-13-08T18:20:27Z', '2016-00-08T18:20:27Z', '2016-06-31T18:20:27Z', '2016-06-00T18:20:27Z'],
    ...['2015-02-29T00:00:00Z', '1900-02-29T00:00:00Z', '2016-06-08T24:00:00Z', '2016-06-08T18:60:27Z'],
    ...['2016-06-08T18:20:61Z', '2016-06-08T18:20:27+24:00', '2016-06-08T18:20:27+00:60', '2016-06-08T18:20:27+2:00'],
    ...['10000-01-01T00:00:00Z', '+10000-01-01T00:00:00Z', '-0001-01-01T00:00:00Z', '99999-01-01T00:00:00Z'],
    ...['9999-12-31T23:59:60Z', '9999-12-31T23:59:60', '9999-12-31T23:59:59-00:01', '0000-01-01T00:00:00+00:01'],
    ...[' 2016-06-08T18:20:27Z', '2016-06-08T18:20:27Z ', '2016-06-08T18:20:27Z\n', '2016-06-08  18:20:27Z'],
    ...['2016-6-8T18:20:27Z', '2016/06/08T18:20:27Z', '٢٠١٦-06-08T18:20:27Z', '2016-06-08T18:20:27 +02:00'],
    ...['2016-06-08T18:20:2xZ', '2x16-06-08T18:20:27Z', '2016-06-08T18:20:27.8x3Z', '2016-06-08T18-20-27Z'],
  ];
  for (const text of bad) {
    test(`${JSON.stringify(text)} is none`, () => {
      assert.equal(parseTimestamp(text), undefined);
    });
  }

  test('reads back as it was written, with a fraction only where there is one', () => {
    const property = fc.property(times, (ms) => {
      const text = formatTimestamp(ms);
      assert.equal(parseTimestamp(text), ms);
      assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
      assert.equal(text.includes('.'), ms % 1000 !== 0);
      assert.equal(formatTimestamp(parseTimestamp(text) ?? Number.NaN), text);
    });
    fc.assert(property, properties());
  });

  test('is the same instant in any zone and with any fraction', () => {
    const offset = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 });
    const fraction = fc.stringMatching(/^\d{0,6}$/);
    const property = fc.property(times, offset, fraction, (ms, minutes, more) => {
      const local = ms + minutes * 60_000;
      fc.pre(local >= firstMs && local <= lastMs);
      const iso = new Date(local).toISOString();
      const sign = minutes < 0 ? '-' : '+';
      const [hour, minute] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
      const zone = `${sign}${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
      assert.equal(parseTimestamp(iso.replace('Z', `${more}${zone}`)), ms);
      if (minutes === 0) assert.equal(parseTimestamp(iso.replace('Z', more)), ms);
    });
    fc.assert(property, properties());
  });

  test('that a Date refuses is refused, and one of RFC 3339 that it takes is taken alike', () => {
    const digits = (count: number) => fc.stringMatching(new RegExp(`^\\d{${count}}$`));
    const parts = fc.tuple(digits(4), digits(2), digits(2), digits(2), digits(2), digits(2), digits(3));
    const property = fc.property(parts, ([year, month, day, hour, minute, second, ms]) => {
      const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
      const date = new Date(text);
      // A Date knows 24:00 and no leap second, and takes February 30 for March 1.
      const real = !Number.isNaN(date.getTime()) && hour !== '24' && date.toISOString() === text;
      if (second !== '60') assert.equal(parseTimestamp(text), real ? date.getTime() : undefined);
    });
    fc.assert(property, properties({ factor: 10 }));
  });
});
