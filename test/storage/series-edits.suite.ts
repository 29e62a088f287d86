// The suite of removing and correcting datapoints by Series, which every engine passes. engines.test.ts runs it on each.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Caller } from '../../src/domain/callers/caller.ts';
import { datapointsOf } from '../../src/domain/datapoints/columns.ts';
import { repeatIdPrefix } from '../../src/domain/datapoints/datapoint-batch.ts';
import type { SeriesRemoval } from '../../src/domain/ports/series.ts';
import { type Beside, batchOf, nowMs, type Point } from '../support/points.ts';
import { acquired, type EngineKind, type OpenedEngine } from './engines.ts';

const caller = new Caller('editor');

export function seriesEditsSuite({ name, open }: EngineKind): void {
  suite(`changes of series on ${name}`, () => {
    let opened: OpenedEngine;
    let sensor = 0;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const nextSensor = () => {
      sensor += 1;
      return sensor;
    };
    const append = (points: readonly Point[], rest?: Beside) => opened.commitLog.append(batchOf(points, rest));
    const values = async (of: number) => {
      const query = { sensor: of, descending: false, limit: 100_000 };
      return datapointsOf((await opened.series.range(query, { caller })).columns).map(({ value }) => value);
    };
    const latest = async (of: number) => (await opened.series.latest([of])).get(of)?.value;
    const remove = (of: number, range: Partial<SeriesRemoval>) =>
      opened.series.remove({ sensor: of, fromMs: 0, toMs: nowMs, ...range }, { caller });
    const correct = (of: number, atMs: number, value: number | string, receivedMs?: number) =>
      opened.series.correct({ sensor: of, atMs, receivedMs, value }, { caller });
    /** The same before and after it was sealed, and each after reopening. */
    const everywhere = async (run: (place: string, arrange: () => Promise<void>) => Promise<void>) => {
      await run('in the log', async () => {});
      await run('sealed', () => opened.seal());
      await run('reopened', () => opened.reopen());
      await run('sealed and reopened', async () => {
        await opened.seal();
        await opened.reopen();
      });
    };

    test('a range is removed with both bounds, and nothing else, wherever it is', async () => {
      await everywhere(async (place, arrange) => {
        const [of, other] = [nextSensor(), nextSensor()];
        const points = [5, 1, 3, 2, 4].map((timestamp) => ({ sensor: of, timestamp, value: timestamp }));
        await append([...points, { sensor: other, timestamp: 3, value: 33 }, { sensor: of, value: '"no clock"' }]);
        await arrange();
        assert.equal(await remove(of, { fromMs: 2, toMs: 4 }), 3, place);
        assert.deepEqual(await values(of), [1, 5, '"no clock"'], place);
        assert.deepEqual(await values(other), [33], place);
        assert.equal(await remove(of, { fromMs: 2, toMs: 4 }), 0, place);
        await opened.reopen();
        assert.deepEqual(await values(of), [1, 5, '"no clock"'], place);
        await opened.seal();
        assert.deepEqual(await values(of), [1, 5, '"no clock"'], place);
        assert.equal(await remove(of, { fromMs: nowMs, toMs: nowMs }), 1, place);
        assert.deepEqual(await values(of), [1, 5], place);
      });
    });

    test('of one value alone, a number, a text or a number of many digits', async () => {
      await everywhere(async (place, arrange) => {
        const of = nextSensor();
        const all = [1, -0, '"a"', 'null', 1, '12345678901234567890', '"1"'];
        await append(all.map((value, n) => ({ sensor: of, timestamp: n, value })));
        await arrange();
        assert.equal(await remove(of, { value: 1 }), 2, place);
        assert.equal(await remove(of, { value: '12345678901234567890' }), 1, place);
        assert.equal(await remove(of, { value: '"b"' }), 0, place);
        assert.equal(await remove(of, { value: 0 }), 1, place);
        assert.deepEqual(await values(of), ['"a"', 'null', '"1"'], place);
      });
    });

    test('the last datapoint is one that is left, or none', async () => {
      await everywhere(async (place, arrange) => {
        const of = nextSensor();
        await append([1, 2, 3].map((n) => ({ sensor: of, timestamp: n, received: nowMs + n, value: n })));
        await arrange();
        assert.equal(await remove(of, { fromMs: 3, toMs: 3 }), 1);
        assert.equal(await latest(of), 2, place);
        assert.equal(await remove(of, { fromMs: 1, toMs: 1 }), 1);
        assert.equal(await latest(of), 2, place);
        assert.equal(await remove(of, {}), 1);
        assert.equal(await latest(of), undefined, place);
        await opened.reopen();
        assert.equal(await latest(of), undefined, place);
        await append([{ sensor: of, timestamp: 1, value: 4 }]);
        assert.deepEqual([await latest(of), await values(of)], [4, [4]], place);
      });
    });

    test('a datapoint is corrected where it is, to a value of any kind', async () => {
      await everywhere(async (place, arrange) => {
        const of = nextSensor();
        await append([1, 2, 3].map((timestamp) => ({ sensor: of, timestamp, value: timestamp * 10 })));
        await arrange();
        const long = JSON.stringify('x'.repeat(60_000));
        assert.equal(await correct(of, 2, '"twenty"'), 1, place);
        assert.equal(await correct(of, 3, long), 1, place);
        assert.equal(await correct(of, 4, 0), 0, place);
        assert.deepEqual(await values(of), [10, '"twenty"', long], place);
        assert.equal(await latest(of), long, place);
        assert.equal(await correct(of, 3, -1.5), 1, place);
        assert.equal(await latest(of), -1.5, place);
        await opened.reopen();
        assert.deepEqual([await values(of), await latest(of)], [[10, '"twenty"', -1.5], -1.5], place);
        await opened.seal();
        assert.deepEqual([await values(of), await latest(of)], [[10, '"twenty"', -1.5], -1.5], place);
      });
    });

    test('of several datapoints of one time none is corrected, unless the time of receiving names one', async () => {
      await everywhere(async (place, arrange) => {
        const of = nextSensor();
        await append([1, 2, 2].map((received, n) => ({ sensor: of, timestamp: 7, received, value: n })));
        await arrange();
        assert.ok((await correct(of, 7, 9)) > 1, place);
        assert.ok((await correct(of, 7, 9, 2)) > 1, place);
        assert.deepEqual(await values(of), [0, 1, 2], place);
        assert.equal(await correct(of, 7, 9, 1), 1, place);
        assert.equal(await correct(of, 7, 9, 3), 0, place);
        assert.deepEqual(await values(of), [9, 1, 2], place);
      });
      // One in a chunk, one in the log.
      const of = nextSensor();
      await append([{ sensor: of, timestamp: 7, received: 1, value: 1 }]);
      await opened.seal();
      await append([{ sensor: of, timestamp: 7, received: 2, value: 2 }]);
      assert.equal(await correct(of, 7, 9), 2);
      assert.equal(await correct(of, 7, 9, 1), 1);
      assert.equal(await correct(of, 7, 8, 2), 1);
      assert.deepEqual(await values(of), [9, 8]);
    });

    test('a removal and a correction end what is remembered of pushes to that sensor, and of no other', async () => {
      const change = [(of: number) => remove(of, { fromMs: 1, toMs: 1 }), (of: number) => correct(of, 1, 2)];
      for (const run of change) {
        const [of, other] = [nextSensor(), nextSensor()];
        const receipt = { caller: 'c', bodyHash: '', answer: '', atMs: nowMs };
        const ids = [`${repeatIdPrefix(of)}c`, `${repeatIdPrefix(other)}c`, `key of ${of}`];
        const points = [of, other].map((sensor) => ({ sensor, timestamp: 1 }));
        await append(points, { receipts: ids.map((id) => ({ ...receipt, id })) });
        await run(of);
        const known: boolean[] = [];
        for (const id of ids) {
          known.push((await opened.commitLog.claimReceipt(id, { sinceMs: 0 })) !== undefined);
          await opened.commitLog.releaseClaim(id);
        }
        assert.deepEqual(known, [false, true, true]);
      }
    });

    test('who follows the log is told nothing of what was removed, and the corrected value', async () => {
      const of = nextSensor();
      const lease = await acquired(opened, 'rules/0');
      opened.commitLog.confirm(opened.commitLog.lastPosition, lease);
      const position = opened.commitLog.lastPosition;
      await append([1, 2, 3].map((timestamp) => ({ sensor: of, timestamp, value: `"${timestamp}"` })));
      await remove(of, { fromMs: 2, toMs: 2 });
      await correct(of, 3, 4);
      const entries = await opened.commitLog.readAfter(position);
      assert.deepEqual(
        entries.map(({ seq, value, removedBefore }) => [seq, value, removedBefore]),
        [
          [position + 1, '"1"', undefined],
          [position + 3, 4, 1],
        ],
      );
      opened.commitLog.confirm(undefined, lease);
      await lease.release();
    });

    test('very many are removed while others are stored, sealed and read', async () => {
      const [of, other] = [nextSensor(), nextSensor()];
      const count = 60_000;
      for (let part = 0; part < 4; part++) {
        const points = Array.from({ length: count / 4 }, (_, i) => part * (count / 4) + i);
        await append(points.map((n) => ({ sensor: of, timestamp: n, value: n % 10 })));
        if (part < 3) await opened.seal();
      }
      let isDone = false;
      const removing = remove(of, { fromMs: 1, toMs: count - 2, value: 3 }).finally(() => {
        isDone = true;
      });
      let pushed = 0;
      for (; !isDone || pushed < 20; pushed++) {
        await append([{ sensor: other, timestamp: pushed, value: pushed }]);
        if (pushed % 10 === 0) await opened.seal();
      }
      assert.equal(await removing, count / 10);
      const left = await values(of);
      assert.deepEqual([left.length, left.includes(3)], [count - count / 10, false]);
      assert.equal((await values(other)).length, pushed);
      assert.equal(await remove(of, { fromMs: 1, toMs: count - 2 }), left.length - 2);
      await opened.reopen();
      assert.deepEqual(await values(of), [0, 9]);
    });

    test('what is damaged and reaches into the range is told, and the others go', async () => {
      const [of, whole] = [nextSensor(), nextSensor()];
      for (const sensor of [of, whole]) await append([1, 2].map((timestamp) => ({ sensor, timestamp })));
      await opened.seal();
      for (const sensor of [of, whole]) await opened.damage(sensor);
      await append([{ sensor: of, timestamp: 3 }]);
      await assert.rejects(remove(of, { fromMs: 2, toMs: 3 }), { code: 'damaged' });
      assert.equal(await remove(of, { fromMs: 3, toMs: 3 }), 0);
      await assert.rejects(correct(of, 2, 5), { code: 'damaged' });
      // A chunk that goes as a whole is not read.
      assert.equal(await remove(whole, { fromMs: 1, toMs: 2 }), 2);
      assert.deepEqual(await values(whole), []);
    });
  });
}
