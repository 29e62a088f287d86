// How datapoints were pushed comes back as it was, and a section that is damaged is refused, whatever it says.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SeededRandom } from '../../../../test/support/dice.ts';
import { batchOf, nowMs } from '../../../../test/support/points.ts';
import type { OriginalMessage } from '../../../domain/datapoints/feed.ts';
import type { PushedAs } from '../../../domain/ports/commit-log.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeRow, encodeBatch } from './log-row.ts';
import { encodePushes, followedPushes } from './push-section.ts';

const place = { writer: 3, seq: 17 };
const points = [1, 2, '"three"', 4].map((value) => ({ sensor: 2 ** 40, value }));
const original: OriginalMessage = {
  ...{ payload: Buffer.from([0, 255, 7]), bytes: 8, qos: 2, retain: true, user: 2 ** 40 },
  ...{ properties: Buffer.from('props'), expiresMs: nowMs + 0.5, publisherId: 'ärger' },
};
const of = { sensor: 2 ** 40, receivedMs: nowMs };
const pushed: PushedAs[] = [
  { ...of, count: 3, original: undefined, many: true },
  { ...of, count: 0, original: { payload: Buffer.alloc(0), bytes: 0, qos: 0, retain: false }, many: false },
  { ...of, count: 1, original, many: false },
];

const decode = (section: Buffer) =>
  followedPushes(decodeRow(encodeBatch(batchOf(points), place, { pushes: section }), place, points.length), 100);

suite('the section of a row that says how its datapoints were pushed', () => {
  const section = encodePushes(pushed);

  test('gives back the pushes', () => {
    const found = decode(section);
    assert.deepEqual(
      found.map(({ readings, ...push }) => ({ ...push, count: readings.length })),
      pushed.map((push, n) => ({ ...push, firstSeq: [100, 103, 103][n], skipsRules: false })),
    );
    assert.deepEqual(
      found.flatMap(({ readings }) => readings.map(({ value }) => value)),
      points.map(({ value }) => value),
    );
  });

  test('is refused where it is cut short, or has pushes for more or fewer datapoints', () => {
    for (let end = 1; end < section.length; end++)
      assert.throws(() => decode(section.subarray(0, end)), CorruptChunk, `the first ${end} bytes`);
    assert.throws(() => decode(encodePushes(pushed.slice(1))), CorruptChunk);
    assert.throws(() => decode(encodePushes([...pushed, ...pushed])), CorruptChunk);
    assert.throws(
      () => decode(encodePushes([{ ...of, count: 2 ** 52, original: undefined, many: false }])),
      CorruptChunk,
    );
  });

  test('is refused where a number in it goes on and on, or is no quality of service', () => {
    assert.throws(() => decode(Buffer.alloc(2_000, 0x80)), CorruptChunk);
    assert.throws(() => decode(Buffer.alloc(2_000, 0xff)), CorruptChunk);
    const wrong = { ...original, qos: 3 as 2 };
    assert.throws(() => decode(encodePushes([{ ...of, count: 4, original: wrong, many: false }])), CorruptChunk);
  });

  test('with any bytes is either refused or says all datapoints, each once', () => {
    const random = new SeededRandom();
    for (let n = 0; n < 3_000; n++) {
      const bytes = Buffer.from(section);
      const changes = random.between(1, 5);
      for (let change = 0; change < changes; change++) bytes[random.between(0, bytes.length)] = random.between(0, 256);
      try {
        const found = decode(bytes);
        assert.equal(found.reduce((sum, { readings }) => sum + readings.length, 0), points.length); // biome-ignore format: short
        for (const { original: message } of found) assert.ok([undefined, 0, 1, 2].includes(message?.qos));
      } catch (error) {
        assert.ok(error instanceof CorruptChunk, `DUNDUN_TEST_SEED=${random.seed}: ${error}`);
      }
    }
  });
});
