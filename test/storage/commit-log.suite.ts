// The suite of CommitLog, which every engine passes: order of commits, followers, and receipts and fingerprints that
// prevent storing twice. engines.test.ts runs it on each engine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { Caller } from '../../src/domain/callers/caller.ts';
import type { StoredValue } from '../../src/domain/datapoints/datapoint.ts';
import { BatchBuilder } from '../../src/domain/datapoints/datapoint-batch.ts';
import { type Beside, batchOf, nowMs, type Point } from '../support/points.ts';
import { acquired, type EngineKind, type OpenedEngine } from './engines.ts';

const caller = new Caller('reader');

export function commitLogSuite({ name, open }: EngineKind): void {
  suite(`the commit log on ${name}`, () => {
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

    test('seqs go on one by one, over batches, sealing and reopening', async () => {
      const of = nextSensor();
      const first = await append([{ sensor: of }, { sensor: of }, { sensor: of }]);
      assert.equal(await append([{ sensor: of }]), first + 3);
      await opened.seal();
      assert.equal(await append([{ sensor: of }]), first + 4);
      await opened.seal();
      await opened.reopen();
      const later = await append([{ sensor: of }]);
      assert.ok(later > first + 4);
      const { columns } = await opened.series.range({ sensor: of, descending: false, limit: 100 }, { caller });
      assert.equal(columns.count, 6);
      // Of what is sealed the order of arrival among all is not kept.
      assert.deepEqual([...(columns.seqs ?? [])], [0, 0, 0, 0, 0, later]);
    });

    test('appends at once are stored in the order they were made in', async () => {
      const of = nextSensor();
      const seqs = await Promise.all(Array.from({ length: 200 }, (_, value) => append([{ sensor: of, value }])));
      assert.deepEqual(
        seqs,
        [...seqs].sort((a, b) => a - b),
      );
      const { columns } = await opened.series.range({ sensor: of, descending: false, limit: 1000 }, { caller });
      assert.deepEqual([...columns.values], [...seqs.keys()]);
    });

    test('who follows reads all that came behind a seq, in order of arrival, however much is sealed', async () => {
      const [one, other] = [nextSensor(), nextSensor()];
      const from = opened.commitLog.lastPosition;
      let lease = await acquired(opened, 'rules/0');
      opened.commitLog.confirm(from, lease);
      const expected: [number, number, StoredValue, boolean][] = [];
      for (let n = 0; n < 12; n++) {
        const skipsRules = n % 5 === 1;
        const points = [0, 1, 2].map((k) => ({ sensor: k === 1 ? other : one, timestamp: -n, value: n * 3 + k }));
        const batch = new BatchBuilder(points.length);
        for (const { sensor: of, timestamp, value } of points) batch.add(of, timestamp, nowMs, value);
        if (skipsRules) batch.addRulesSkipped(2);
        const first = await opened.commitLog.append(batch.build());
        for (const [k, { sensor: of, value }] of points.entries())
          expected.push([first + k, of, value, skipsRules && k > 0]);
        if (n === 3 || n === 9) await opened.seal();
        if (n !== 6) continue;
        await opened.reopen();
        lease = await acquired(opened, 'rules/0');
        opened.commitLog.confirm(from + 4, lease);
      }
      assert.equal(opened.commitLog.lastPosition, expected.at(-1)?.[0]);
      const readFrom = async (seq: number) => {
        const points: [number, number, StoredValue, boolean][] = [];
        for (let at = seq; ; ) {
          const step = await opened.commitLog.readAfter(at);
          if (step.length === 0) return points;
          for (const point of step) points.push([point.seq, point.sensor, point.value, point.skipsRules]);
          at = step.at(-1)?.seq ?? at;
        }
      };
      assert.deepEqual(await readFrom(from + 4), expected.slice(4));
      await opened.reopen();
      assert.ok(((await opened.commitLog.confirmedPosition()) ?? 0) >= from);
      assert.deepEqual(await readFrom(from + 20), expected.slice(20));
      for (const upTo of [from + 36, from + 34, from + 20]) {
        const last = expected.filter(([seq, of]) => seq <= upTo && of === one).at(-1);
        assert.equal((await opened.series.latestUpTo(one, upTo))?.value, last?.[2]);
      }
      lease = await acquired(opened, 'rules/0');
      opened.commitLog.confirm(undefined, lease);
      await lease.release();
      await opened.seal();
    });

    test('a receipt is kept in the commit of its batch, and the newest of an id counts', async () => {
      const receipt = { id: 'awa\nPOST /x\nkey', caller: 'awa', bodyHash: 'abc', answer: '[1]', atMs: nowMs };
      const claim = (id: string, sinceMs = 0) => opened.commitLog.claimReceipt(id, { sinceMs });
      assert.equal(await claim(receipt.id), undefined);
      await opened.commitLog.releaseClaim(receipt.id);
      assert.equal(await claim(receipt.id), undefined);
      await append([{ sensor: nextSensor() }], { receipts: [receipt] });
      assert.deepEqual({ ...(await claim(receipt.id)) }, receipt);
      // A batch may hold nothing but a receipt.
      const again = { ...receipt, bodyHash: 'def', atMs: nowMs + 1 };
      await append([], { receipts: [again, { ...receipt, id: 'other' }] });
      await opened.reopen();
      assert.deepEqual({ ...(await claim(receipt.id)) }, again);
      assert.equal((await claim('other'))?.bodyHash, 'abc');
      assert.equal(await claim('none'), undefined);
      // One that is too old is none.
      assert.equal((await claim(receipt.id, nowMs))?.bodyHash, 'def');
      assert.equal(await claim(receipt.id, nowMs + 1), undefined);
    });

    const listed = async () =>
      [...(await opened.commitLog.listFingerprints())].map(({ slot, content }) => ({ slot, content }));

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
        new Map([...(await opened.commitLog.listFingerprints())].map(({ slot, atMs }) => [slot, atMs] as const));
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
