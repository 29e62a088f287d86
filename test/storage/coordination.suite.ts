// The suite of Coordination, which every engine passes: how processes agree on who does which work. engines.test.ts
// runs it on each engine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { EngineKind, OpenedEngine } from './engines.ts';

export function coordinationSuite({ name, open }: EngineKind): void {
  suite(`coordination on ${name}`, () => {
    let opened: OpenedEngine;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('a lease has one holder, and each later one a greater epoch', async () => {
      const { coordination } = opened;
      const [first, second] = await Promise.all([coordination.acquire('outbox'), coordination.acquire('outbox')]);
      const holders = [first, second].filter((lease) => lease !== undefined);
      assert.equal(holders.length, 1);
      const [holder] = holders;
      assert.equal(holder?.isHeld, true);
      await holder?.release();
      assert.equal(holder?.isHeld, false);
      const next = await coordination.acquire('outbox');
      assert.ok((next?.epoch ?? 0) > (holder?.epoch ?? Number.POSITIVE_INFINITY));
      // What was released already takes nothing from the next holder.
      await holder?.release();
      assert.equal(next?.isHeld, true);
      assert.equal(await coordination.acquire('outbox'), undefined);
      await next?.release();
    });

    test('leases of different work do not stand in each other’s way', async () => {
      const leases = [await opened.coordination.acquire('outbox'), await opened.coordination.acquire('retention')];
      assert.deepEqual(
        leases.map((lease) => lease?.isHeld),
        [true, true],
      );
      for (const lease of leases) await lease?.release();
    });

    test('a holder that has ended holds nothing', async () => {
      assert.ok(await opened.coordination.acquire('retention'));
      await opened.reopen();
      const lease = await opened.coordination.acquire('retention');
      assert.equal(lease?.isHeld, true);
      await lease?.release();
    });
  });
}
