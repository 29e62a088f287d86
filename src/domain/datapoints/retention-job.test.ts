// The order in which datapoints are removed when they are too old, and that a failing device does not stop the others.
// Which datapoints are removed: test/http/datapoints/retention.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../base/refusal.ts';
import { TurnedClock } from '../../base/time/clock.ts';
import { trusted } from '../../base/time/clock-watch.ts';
import { LocalCoordination } from '../../engines/embedded/coordination/local-coordination.ts';
import { RetentionJob } from './retention-job.ts';

const dayMs = 24 * 3_600_000;
const bounds = {
  retentionRoundMs: 3_600_000,
  retentionRetryMs: 60_000,
  retentionSensorsStep: 2,
  retentionStepsInTurn: 2,
};

/** Keeps sensors for a day that have so many datapoints, one an hour, two removed in a step. */
function makeKeeper(datapoints: ReadonlyMap<number, number>, failures: ReadonlyMap<number, Error> = new Map()) {
  const clock = new TurnedClock(Date.UTC(2026, 0, 15));
  const oldest = new Map([...datapoints].map(([sensor, count]) => [sensor, clock.now() - dayMs - count * 3_600_000]));
  const removals: number[] = [];
  const errors: string[] = [];
  const keeper = new RetentionJob({
    series: {
      oldest: async (sensors) => new Map(sensors.map((sensor) => [sensor, oldest.get(sensor) as number])),
      removeBefore: async (sensor, beforeMs) => {
        const error = failures.get(sensor);
        if (error !== undefined) throw error;
        const first = oldest.get(sensor) as number;
        const count = Math.min(2, (beforeMs - first) / 3_600_000);
        oldest.set(sensor, first + count * 3_600_000);
        removals.push(sensor);
        return count;
      },
    },
    coordination: new LocalCoordination({ clock, countEpoch: async () => 1 }),
    retentionStore: {
      listSensors: async ({ after, limit }) =>
        [...datapoints.keys()]
          .filter((sensor) => sensor > after)
          .slice(0, limit)
          .map((sensor) => ({ sensor, days: 1 })),
    },
    defaultDays: undefined,
    bounds,
    clock: trusted(clock),
    log: { error: (_: object, text: string) => errors.push(text), warn() {}, info() {}, debug() {} } as never,
  });
  const round = async (waitMs: number) => {
    clock.advance(waitMs);
    // Time does not make more of them too old.
    for (const [sensor, at] of oldest) oldest.set(sensor, at + waitMs);
    await keeper.idle();
  };
  return { round, keeper, removals, errors };
}

test('who is most overdue comes first, in turns', async () => {
  const { round, removals, keeper } = makeKeeper(
    new Map([
      [1, 3],
      [2, 9],
      [3, 6],
    ]),
  );
  await round(bounds.retentionRetryMs);
  // Each turn is two steps of two; the last step of each sensor finds nothing.
  assert.deepEqual(removals.slice(0, 6), [2, 2, 3, 3, 2, 2]);
  assert.equal(keeper.removedDatapoints, 18);
});

test('a sensor whose datapoints cannot be removed does not keep the others from it', async () => {
  const { round, keeper, errors } = makeKeeper(
    new Map([
      [1, 3],
      [2, 9],
    ]),
    new Map([[2, new Error('damaged')]]),
  );
  await round(bounds.retentionRetryMs);
  assert.equal(keeper.removedDatapoints, 3);
  assert.deepEqual(errors, ['expired datapoints of a sensor could not be removed']);
});

test('a store that is busy is asked again in a minute, not in an hour', async () => {
  const failures = new Map<number, Error>([[2, new Refusal('busy', 'Later.')]]);
  const { round, keeper, errors } = makeKeeper(
    new Map([
      [1, 3],
      [2, 9],
    ]),
    failures,
  );
  await round(bounds.retentionRetryMs);
  assert.equal(keeper.removedDatapoints, 0);
  failures.clear();
  await round(bounds.retentionRetryMs);
  assert.equal(keeper.removedDatapoints, 12);
  assert.deepEqual(errors, []);
});
