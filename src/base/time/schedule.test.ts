import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { Schedule } from './schedule.ts';

test('a timetable gives what is due, earliest first, and nothing that is not', () => {
  const property = fc.property(
    fc.array(fc.integer({ min: 0, max: 50 })),
    fc.integer({ min: 0, max: 50 }),
    (times, now) => {
      const timetable = new Schedule<number>();
      for (const time of times) timetable.add(time, time);
      const taken: number[] = [];
      for (let next = timetable.take(now); next !== undefined; next = timetable.take(now)) taken.push(next);
      const sorted = times.toSorted((a, b) => a - b);
      assert.deepEqual(
        taken,
        sorted.filter((time) => time <= now),
      );
      assert.equal(
        timetable.nextMs,
        sorted.find((time) => time > now),
      );
    },
  );
  fc.assert(property, properties());
});
