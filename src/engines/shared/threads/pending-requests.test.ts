import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { PendingRequests } from './pending-requests.ts';

suite('pending requests', () => {
  test('is had by its number once, whatever came and went before', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 200 }), (steps) => {
        const pendingRequests = new PendingRequests<string>();
        const known = new Map<number, string>();
        const gone: number[] = [];
        for (const [n, step] of steps.entries()) {
          const number = [...known.keys()][step];
          if (number === undefined) {
            const added = pendingRequests.add(`value ${n}`);
            assert.ok(added > 0 && Number.isSafeInteger(added) && !known.has(added) && !gone.includes(added));
            known.set(added, `value ${n}`);
          } else {
            assert.equal(pendingRequests.take(number), known.get(number));
            known.delete(number);
            gone.push(number);
          }
          assert.equal(pendingRequests.size, known.size);
        }
        for (const number of [0, ...gone]) assert.equal(pendingRequests.take(number), undefined);
        assert.deepEqual(pendingRequests.takeAll().sort(), [...known.values()].sort());
        assert.equal(pendingRequests.size, 0);
      }),
      properties(),
    );
  });
});
