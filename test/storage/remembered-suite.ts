// What every engine that keeps datapoints must remember beside them, in their own commits, so that nothing is stored twice:
// receipts of pushes and marks of MQTT publishes.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { type Beside, batchOf, nowMs, type Point } from '../support/points.ts';
import type { OpenedStore } from './datapoint-store-suite.ts';

export function rememberedSuite(engine: string, open: () => Promise<OpenedStore>): void {
  suite(`what is remembered beside datapoints on ${engine}`, () => {
    let opened: OpenedStore;
    let sensor = 0;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const nextSensor = () => {
      sensor += 1;
      return sensor;
    };
    const append = (points: readonly Point[], rest?: Beside) => opened.store.append(batchOf(points, rest));

    test('a receipt is kept in the commit of its batch, and the newest of an id counts', async () => {
      const receipt = { id: 'awa\nPOST /x\nkey', caller: 'awa', bodyHash: 'abc', answer: '[1]', atMs: nowMs };
      assert.equal(await opened.store.findReceipt(receipt.id), undefined);
      await append([{ sensor: nextSensor() }], { receipts: [receipt] });
      assert.deepEqual({ ...(await opened.store.findReceipt(receipt.id)) }, receipt);
      // A batch may hold nothing but a receipt.
      const again = { ...receipt, bodyHash: 'def', atMs: nowMs + 1 };
      await append([], { receipts: [again, { ...receipt, id: 'other' }] });
      await opened.reopen();
      assert.deepEqual({ ...(await opened.store.findReceipt(receipt.id)) }, again);
      assert.equal((await opened.store.findReceipt('other'))?.bodyHash, 'abc');
      assert.equal(await opened.store.findReceipt('none'), undefined);
    });

    const listed = async () =>
      [...(await opened.store.listPublishes())].map(({ slot, content }) => ({ slot, content }));

    test('publishes are remembered in order, over sealing and reopening', async () => {
      const marks = [
        { slot: 2 ** 52 + 1, content: 0.5 },
        { slot: -1, content: 2 ** 53 - 1 },
        { slot: 3, content: 4 },
        { slot: 5, content: 6 },
      ];
      await append([{ sensor: nextSensor() }], { publishes: marks.slice(0, 2) });
      await append([{ sensor: nextSensor() }], { publishes: marks.slice(2, 3) });
      assert.deepEqual(await listed(), marks.slice(0, 3));
      await opened.reopen();
      assert.deepEqual(await listed(), marks.slice(0, 3));
      await opened.seal();
      // A batch may hold nothing but marks.
      await append([], { publishes: marks.slice(3) });
      assert.deepEqual(await listed(), marks);
      await opened.reopen();
      assert.deepEqual(await listed(), marks);
      await opened.seal();
      await opened.reopen();
      assert.deepEqual(await listed(), marks);
    });

    test('publishes are remembered by their own times, whatever the datapoints say, and for so long', async () => {
      const start = nowMs + 10 * limits.duplicateWindowMs;
      const minutes = (count: number) => count * 60_000;
      const day = limits.duplicateWindowMs;
      const publish = async (slot: number, publishedMs: number, received: number) => {
        await append([{ sensor: nextSensor(), received }], { publishes: [{ slot, content: 1 }], publishedMs });
      };
      const remembered = async () =>
        new Map([...(await opened.store.listPublishes())].map(({ slot, atMs }) => [slot, atMs] as const));
      // All of them lie in the log and leave it in one step.
      await publish(9_001, start, 5);
      await publish(9_002, start + day / 2, start);
      await publish(9_003, start + day + minutes(1), 5);
      await publish(9_004, start + day + minutes(3), start + 40 * day);
      await opened.seal();
      await opened.reopen();
      const times = await remembered();
      assert.equal(times.has(9_001), false);
      assert.equal(times.get(9_002), start + day / 2);
      assert.equal(times.get(9_003), start + day + minutes(1));
      const last = times.get(9_004) as number;
      assert.ok(last <= start + day + minutes(3) && last >= start + day - minutes(10));
      // What is in the table is forgotten in its turn.
      await publish(9_005, start + 2 * day, 5);
      await opened.seal();
      assert.deepEqual([9_002, 9_003, 9_005].map((slot) => times.has(slot)), [true, true, false]); // biome-ignore format: short
      const later = await remembered();
      assert.deepEqual([9_002, 9_003, 9_005].map((slot) => later.has(slot)), [false, true, true]); // biome-ignore format: short
    });

    test('of publishes the newest are remembered, as many as there is room for, sealed or not', async () => {
      const max = limits.duplicateMemoryMax;
      const each = 20_000;
      const commits = Math.ceil(max / each) + 3;
      for (let commit = 0; commit < commits; commit++) {
        const publishes = Array.from({ length: each }, (_, n) => ({ slot: commit * each + n, content: commit }));
        await append([{ sensor: nextSensor() }], { publishes, publishedMs: nowMs + 20 * limits.duplicateWindowMs });
        // Some lie in the log, some behind it, wherever the bound falls.
        if (commit % 6 === 4) await opened.seal();
      }
      for (const then of [opened.reopen, opened.seal, opened.reopen]) {
        const slots = (await listed()).map(({ slot }) => slot);
        assert.equal(slots.length, max);
        assert.ok(slots.every((slot, n) => slot === commits * each - max + n));
        await then();
      }
    });
  });
}
