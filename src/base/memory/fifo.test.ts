// What is added is taken in its order.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { Fifo } from './fifo.ts';

suite('a queue', () => {
  test('gives what an array gives from its beginning, whatever is added and taken between', () => {
    const runs = fc.array(fc.record({ adds: fc.nat(2_500), takes: fc.nat(2_500) }), { maxLength: 8 });
    fc.assert(
      fc.property(runs, (some) => {
        const [fifo, model] = [new Fifo<number>(), [] as number[]];
        let n = 0;
        for (const { adds, takes } of some) {
          for (let i = 0; i < adds; i += 1) {
            fifo.add(n);
            model.push(n);
            n += 1;
          }
          const taken = Array.from({ length: takes }, () => fifo.take());
          assert.deepEqual(taken, [...model.splice(0, takes), ...Array(takes).fill(undefined)].slice(0, takes));
          assert.equal(fifo.isEmpty, model.length === 0);
        }
      }),
      { numRuns: 30 },
    );
  });
});
