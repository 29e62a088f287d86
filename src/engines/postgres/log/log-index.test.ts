import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { LogIndex } from './log-index.ts';

suite('the index of the log', () => {
  test('knows the row of each datapoint, whatever was added and dropped', () => {
    const step = fc.oneof(
      fc.record({ add: fc.nat({ max: 3 }), skip: fc.nat({ max: 2 }) }),
      fc.record({ dropped: fc.nat({ max: 4 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 3_000 }), (steps) => {
        const index = new LogIndex();
        index.startBehind(10);
        let model: { seq: number; number: number; firstSeq: number; count: number }[] = [];
        let [seq, nextSeq] = [1, 11];
        for (const one of steps) {
          if ('add' in one) {
            const firstSeq = nextSeq + one.skip;
            assert.equal(index.add({ writer: 1, seq, number: seq + 7 }, one.add, firstSeq), firstSeq);
            model.push({ seq, number: seq + 7, firstSeq, count: one.add });
            seq += 1;
            nextSeq = firstSeq + one.add;
          } else {
            const count = Math.min(one.dropped, model.length);
            index.drop(count);
            model = model.slice(count);
          }
        }
        assert.deepEqual([index.size, index.nextSeq], [model.length, nextSeq]);
        for (const [at, row] of model.entries()) assert.deepEqual(index.at(at), { writer: 1, ...row });
        for (const behind of [9, 10, 15, nextSeq - 2, nextSeq - 1, nextSeq]) {
          const first = model.findIndex(({ firstSeq, count }) => firstSeq + count - 1 > behind);
          assert.equal(index.firstBehind(behind), first < 0 ? model.length : first);
          const end = index.endUpTo(behind);
          assert.ok(model.slice(0, end).every(({ firstSeq, count }) => firstSeq + count - 1 <= behind));
        }
      }),
      properties(),
    );
  });
});
