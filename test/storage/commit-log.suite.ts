// The suite of CommitLog, which every engine passes: order of commits, followers, and receipts and fingerprints that
// prevent storing twice. engines.test.ts runs it on each engine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { Caller } from '../../src/domain/callers/caller.ts';
import type { StoredValue } from '../../src/domain/datapoints/datapoint.ts';
import { BatchBuilder } from '../../src/domain/datapoints/datapoint-batch.ts';
import {
  FingerprintEncoder,
  type PublishFingerprint,
  readFingerprints,
} from '../../src/domain/datapoints/publish-fingerprint.ts';
import type { SensorKey } from '../../src/domain/devices/sensor.ts';
import { type Beside, batchOf, nowMs, type Point } from '../support/points.ts';
import { acquired, type EngineKind, type OpenedEngine } from './engines.ts';

const caller = new Caller('reader');

type Of = PublishFingerprint['session'];

/** A publish with a hash in which every bit is used. */
function publishOf(session: Of, packetId: number): PublishFingerprint {
  return { session, packetId, h0: -packetId, h1: -1, h2: 2 ** 31 - 1, h3: Math.imul(packetId, 0x9e3779b1) };
}

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

    test('says when the datapoint committed last was received, which need not be the latest', async () => {
      const sensor = nextSensor();
      for (const receivedMs of [nowMs + 1_000, nowMs - 1_000]) {
        const batch = new BatchBuilder(1);
        batch.add(sensor, Number.NaN, receivedMs, 1);
        await opened.commitLog.append(batch.build());
      }
      assert.equal(await opened.commitLog.newestReceivedMs(), nowMs - 1_000);
      await opened.seal();
      assert.equal(await opened.commitLog.newestReceivedMs(), nowMs - 1_000);
      await opened.reopen();
      assert.equal(await opened.commitLog.newestReceivedMs(), nowMs - 1_000);
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

    /** What is stored of publishes, in order. */
    const listed = async () => {
      const found: { user: number; packetId: number; h3: number }[] = [];
      let user = 0;
      for (const words of await opened.commitLog.listFingerprints()) {
        const isWhole = readFingerprints(words, {
          onSession: (key) => {
            user = key;
          },
          onPublish: (packetId, _h0, _h1, _h2, h3) => found.push({ user, packetId, h3 }),
        });
        assert.ok(isWhole);
      }
      return found;
    };

    test('how far sealing is behind is told with the commit by which it fell behind, and nothing is once all is sealed', async () => {
      assert.equal(opened.commitLog.sealingDebt, 0);
      const { sealRowsMin, sealBehindFactor, headRowsMax } = limits;
      const behind = sealRowsMin * sealBehindFactor;
      const rows = Math.round(behind + (headRowsMax - behind) / 8);
      const batch = new BatchBuilder(rows);
      const sensors = Array.from({ length: 50 }, nextSensor);
      for (let n = 0; n < rows; n++) batch.add(sensors[n % sensors.length] as SensorKey, nowMs - rows + n, nowMs, n);
      await opened.commitLog.append(batch.build());
      const { sealingDebt } = opened.commitLog;
      assert.ok(sealingDebt > 0.1 && sealingDebt < 0.15, `${sealingDebt}`);
      await opened.seal();
      assert.equal(opened.commitLog.sealingDebt, 0);
    });

    test('publishes are remembered in order, over sealing and reopening', async () => {
      const [one, two] = [1, 2].map((user) => ({ user, number: 2 ** 47 + user, goneMs: undefined })) as [Of, Of];
      const publishes = [publishOf(one, 1), publishOf(two, 65_535), publishOf(one, 3), publishOf(two, 4)];
      const expected = publishes.map(({ session, packetId, h3 }) => ({ user: session.user, packetId, h3 }));
      await append([{ sensor: nextSensor() }], { publishes: publishes.slice(0, 2) });
      await append([{ sensor: nextSensor() }], { publishes: publishes.slice(2, 3) });
      assert.deepEqual(await listed(), expected.slice(0, 3));
      await opened.reopen();
      assert.deepEqual(await listed(), expected.slice(0, 3));
      await opened.seal();
      // A batch may hold nothing but publishes.
      await append([], { publishes: publishes.slice(3) });
      for (const then of [opened.reopen, opened.seal, opened.reopen]) {
        assert.deepEqual(await listed(), expected);
        await then();
      }
    });

    test('of stored publishes those that are not needed are deleted, oldest first, beyond what they may take', async () => {
      const session = { user: 3, number: 7, goneMs: nowMs };
      const each = 5_000;
      for (let commit = 0; commit < 12; commit++) {
        const publishes = Array.from({ length: each }, (_, n) => publishOf(session, commit * each + n + 1));
        await append([{ sensor: nextSensor() }], { publishes });
        // The last stay in the log.
        if (commit % 3 === 1) await opened.seal();
      }
      const kept = new Set([1, 4_321, 50_001]);
      const asked: number[] = [];
      const retain = (records: Uint32Array) => {
        const encoder = new FingerprintEncoder();
        let hasSession = false;
        let user = 0;
        readFingerprints(records, {
          onSession: (key) => {
            user = key;
          },
          onPublish: (packetId, h0, h1, h2, h3) => {
            // Others are of the test before.
            if (user !== session.user) return;
            asked.push(packetId);
            if (!kept.has(packetId)) return;
            if (!hasSession) encoder.addSession(session);
            hasSession = true;
            encoder.addPublish(packetId, h0, h1, h2, h3);
          },
        });
        return encoder.build();
      };
      await opened.commitLog.trimFingerprints({ bytesMax: 2_000_000, retain });
      assert.deepEqual(asked, [], 'they take less');
      await opened.commitLog.trimFingerprints({ bytesMax: 600_000, retain });
      assert.ok(asked.length > 20_000 && asked.length < 55_000, 'so many that the rest takes no more');
      await opened.reopen();
      const left = (await listed()).filter(({ user }) => user === 3).map(({ packetId }) => packetId);
      assert.deepEqual(left.filter((packetId) => kept.has(packetId)).sort((a, b) => a - b), [1, 4_321, 50_001]); // biome-ignore format: short
      assert.equal(left.length, 12 * each - asked.length + 2);
      // What is in the log is not asked for.
      await opened.commitLog.trimFingerprints({ bytesMax: 0, retain });
      await opened.reopen();
      const last = (await listed()).filter(({ user }) => user === 3).map(({ packetId }) => packetId);
      assert.deepEqual(new Set(last.slice(0, -each)), new Set([1, 4_321, 50_001]));
      assert.deepEqual(
        last.slice(-each),
        Array.from({ length: each }, (_, n) => 11 * each + n + 1),
      );
    });
  });
}
