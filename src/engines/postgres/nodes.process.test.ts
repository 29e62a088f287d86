// Several servers on one database: here engines in one process, each with its own connections and its own row of `node`.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { setLimits } from '../../../test/support/limits.ts';
import { batchOf, nowMs, type Point } from '../../../test/support/points.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../test/support/postgres.ts';
import { until } from '../../../test/support/until.ts';
import { systemClock } from '../../base/time/clock.ts';
import { Caller } from '../../domain/callers/caller.ts';
import type { OriginalMessage } from '../../domain/datapoints/feed.ts';
import type { FollowedPush, PushedAs } from '../../domain/ports/commit-log.ts';
import { PostgresDatabase } from './database/postgres-database.ts';
import { encodeBatch } from './log/log-row.ts';
import { LogWriter } from './log/log-writer.ts';
import { openPostgresEngine } from './open.ts';
import type { PostgresEngine } from './postgres-engine.ts';

const asker = { caller: new Caller('reader') };

class Server {
  readonly engine: PostgresEngine;
  readonly followed: FollowedPush[] = [];

  private constructor(engine: PostgresEngine) {
    this.engine = engine;
    engine.commitLog.onFollowed = async (pushes) => void this.followed.push(...pushes);
  }

  static async open(url: string): Promise<Server> {
    return new Server(await openPostgresEngine(url, { clock: systemClock }));
  }

  append(points: readonly Point[], pushesOf?: () => readonly PushedAs[]): Promise<number> {
    return this.engine.commitLog.append(batchOf(points), pushesOf);
  }

  async values(sensor: number): Promise<(number | string)[]> {
    const { columns } = await this.engine.series.range({ sensor, descending: false, limit: 100_000 }, asker);
    return [...columns.values];
  }

  followedOf(sensor: number): unknown[] {
    const ofSensor = this.followed.filter((push) => push.sensor === sensor);
    return ofSensor.flatMap(({ readings }) => readings.map(({ value }) => value));
  }
}

suite('several servers on one database', { skip: withoutPostgres }, () => {
  setLimits({ logRingBytes: 1, nodeRenewMs: 100 });
  let url: string;
  let database: PostgresDatabase;
  let one: Server;
  let two: Server;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    one = await Server.open(url);
    two = await Server.open(url);
  });
  after(async () => {
    await one?.engine.close();
    await two?.engine.close();
    await database?.close();
    await dropDatabase(url);
  });

  /** That one read all there is. */
  const caughtUp = () => until(() => one.engine.commitLog.lastPosition === two.engine.commitLog.lastPosition);

  test('each has all in one order: numbers of datapoints are the same everywhere, and what is appended is there at once', async () => {
    const sensor = 1;
    const seqs = new Map<number, number>();
    const pushing = [one, two].map(async (server, n) => {
      for (let value = n; value < 100; value += 2) {
        const seq = await server.append([{ sensor, timestamp: value, value }]);
        seqs.set(seq, value);
        assert.ok((await server.values(sensor)).includes(value));
      }
    });
    await Promise.all(pushing);
    await caughtUp();
    const inOrder = [...seqs].sort(([a], [b]) => a - b);
    assert.deepEqual(inOrder.map(([seq]) => seq), Array.from({ length: 100 }, (_, n) => (inOrder[0]?.[0] ?? 0) + n)); // biome-ignore format: short
    for (const server of [one, two]) {
      assert.deepEqual(await server.values(sensor), [...Array(100).keys()]);
      const read: [number, unknown][] = [];
      for (let at = (inOrder[0]?.[0] ?? 0) - 1; ; at = read.at(-1)?.[0] ?? at) {
        const step = await server.engine.commitLog.readAfter(at);
        if (step.length === 0) break;
        read.push(...step.map(({ seq, value }) => [seq, value] as [number, unknown]));
      }
      assert.deepEqual(read, inOrder);
    }
    // Each hears what the other has pushed, once, in its order.
    assert.deepEqual(
      one.followedOf(sensor),
      Array.from({ length: 50 }, (_, n) => 2 * n + 1),
    );
    assert.deepEqual(
      two.followedOf(sensor),
      Array.from({ length: 50 }, (_, n) => 2 * n),
    );
  });

  test('a push is heard as it was pushed, message and all, before an append that comes later ends', async () => {
    const sensor = 2;
    const original: OriginalMessage = {
      ...{ payload: Buffer.from([0, 255, 7]), bytes: 8, qos: 1, retain: true, user: 2 ** 40 },
      ...{ properties: Buffer.from('props'), expiresMs: nowMs + 1, publisherId: 'ärger' },
    };
    const received = nowMs;
    const points = [1, 2, '"three"', 4].map((value) => ({ sensor, received, value }));
    const pushed: PushedAs[] = [
      { sensor, count: 2, receivedMs: received, original: undefined, many: true },
      {
        sensor,
        count: 0,
        receivedMs: received + 5,
        original: { payload: Buffer.alloc(0), bytes: 0, qos: 0, retain: true },
        many: false,
      },
      { sensor, count: 1, receivedMs: received, original, many: false },
      { sensor, count: 1, receivedMs: received, original: undefined, many: false },
    ];
    const first = await one.append(points, () => pushed);
    await two.append([{ sensor: 3 }]);
    const heard = two.followed.filter((push) => push.sensor === sensor);
    assert.deepEqual(
      heard.map(({ readings, ...push }) => ({ ...push, values: readings.map(({ value }) => value) })),
      [
        {
          ...{ sensor, receivedMs: received, firstSeq: first, original: undefined, many: true, skipsRules: false },
          values: [1, 2],
        },
        { ...pushedAs(pushed[1]), firstSeq: first + 2, skipsRules: false, values: [] },
        { ...pushedAs(pushed[2]), firstSeq: first + 2, skipsRules: false, values: ['"three"'] },
        { ...pushedAs(pushed[3]), firstSeq: first + 3, skipsRules: false, values: [4] },
      ],
    );
  });

  test('one seals for both, and tables of the log go when both have read them', async () => {
    const sensor = 4;
    for (let n = 0; n < 20; n++) {
      await (n % 2 === 0 ? one : two).append([{ sensor, timestamp: n, value: n }]);
      await one.engine.seal();
      await two.engine.seal();
      for (const server of [one, two]) {
        const found = await server.values(sensor);
        assert.equal(new Set(found).size, found.length);
      }
      await caughtUp();
      assert.deepEqual(await two.values(sensor), [...Array(n + 1).keys()]);
    }
    await until(async () => {
      await one.append([{ sensor: 5 }]);
      await one.engine.seal();
      const [row] = await database.query<{ rows: number }>('SELECT count(*) AS rows FROM log');
      return (row?.rows ?? 99) <= 6;
    });
    await until(() => two.engine.figures.logDatapoints === 0);
    assert.deepEqual(await two.values(sensor), [...Array(20).keys()]);
  });

  test('datapoints that one removes while the other seals are gone, and those pushed meanwhile are not', async () => {
    const sensor = 6;
    let next = 0;
    const kept = new Set<number>();
    for (let round = 0; round < 8; round++) {
      const from = next;
      for (; next < from + 10; next++)
        await (next % 2 === 0 ? one : two).append([{ sensor, timestamp: next, value: next }]);
      const removing = (round % 2 === 0 ? one : two).engine.series.remove(
        { sensor, fromMs: from + 2, toMs: from + 7 },
        asker,
      );
      const [removed] = await Promise.all([removing, one.engine.seal(), two.engine.seal()]);
      assert.equal(removed, 6);
      for (const n of [0, 1, 8, 9]) kept.add(from + n);
      const later = await two.append([{ sensor, timestamp: 10_000 + round, value: 10_000 + round }]);
      assert.ok(later > 0);
    }
    await caughtUp();
    await one.engine.seal();
    await two.engine.seal();
    const expected = [...kept, ...Array.from({ length: 8 }, (_, n) => 10_000 + n)];
    for (const server of [one, two]) assert.deepEqual(await server.values(sensor), expected);
    assert.equal(await two.engine.series.correct({ sensor, atMs: 0, value: 77 }, asker), 1);
    await caughtUp();
    assert.deepEqual((await one.values(sensor)).slice(0, 2), [77, 1]);
  });

  test('a row in a form that is not known ends whoever comes to it: it is not passed over, nor what is behind it', async () => {
    const sensor = 8;
    const own = await createDatabase();
    const ownDatabase = new PostgresDatabase(own);
    const server = await Server.open(own);
    const ended: Error[] = [];
    server.engine.observe({ onFailure: (error, { fatal }) => void (fatal && ended.push(error)) });
    await ownDatabase.query("INSERT INTO node (id, renewed) VALUES ('later', now() + interval '1 hour')");
    const writer = new LogWriter(ownDatabase);
    await writer.start('later');
    for (const [value, version] of [1, 2, 1].entries()) {
      const { next } = writer;
      const bytes = encodeBatch(batchOf([{ sensor, timestamp: value, value }]), next, { version });
      await writer.append({ seq: next.seq, count: 1, bytes });
    }
    await until(() => ended.length > 0);
    assert.match(String(ended[0]), /is of a newer Dundun. It has version 2, known is 1/);
    assert.deepEqual(server.followedOf(sensor), [0]);
    await server.engine.close();
    await ownDatabase.query("DELETE FROM node WHERE id = 'later'");
    await assert.rejects(Server.open(own), { code: 'conflict', message: /is of a newer Dundun/ });
    await writer.close();
    await ownDatabase.close();
    await dropDatabase(own);
  });

  test('one that was declared dead stores nothing and ends; the other seals in its place', async () => {
    const sensor = 7;
    await one.append([{ sensor, timestamp: 1, value: 1 }]);
    await two.append([{ sensor, timestamp: 2, value: 2 }]);
    const ended: Error[] = [];
    one.engine.observe({ onFailure: (error, { fatal }) => void (fatal && ended.push(error)) });
    // What death.ts does, without the wait for it.
    const [node] = await database.query<{ id: string }>("SELECT holder AS id FROM lease WHERE name = 'sealing'");
    await database.query('DELETE FROM log_writer WHERE node = $1', [node?.id]);
    await database.query('DELETE FROM registry_writer WHERE writer = $1', [node?.id]);
    await database.query('DELETE FROM node WHERE id = $1', [node?.id]);
    await assert.rejects(one.append([{ sensor, timestamp: 3, value: 3 }]), { code: 'storage' });
    await assert.rejects(one.engine.stores.settings.save('a', 'b'), { code: 'storage' });
    await until(() => ended.length > 0);
    assert.match(String(ended[0]), /dead/);
    await until(() => !one.engine.coordination.standing.isSure);
    await assert.rejects(one.engine.coordination.standing.makeSure(), { code: 'storage' });
    await two.engine.coordination.standing.makeSure();
    await until(async () => (await database.query("SELECT 1 FROM lease WHERE name = 'sealing' AND holder = $1", [node?.id])).length === 0); // biome-ignore format: short
    await until(async () => {
      await two.engine.seal();
      return two.engine.figures.logDatapoints === 0;
    });
    assert.deepEqual(await two.values(sensor), [1, 2]);
    await one.engine.close();
    one = await Server.open(url);
    assert.deepEqual(await one.values(sensor), [1, 2]);
  });
});

suite('a server that stops while it cannot read', { skip: withoutPostgres }, () => {
  setLimits({ databaseBusyMs: 500, postgresConnectMs: 1_000 });

  test('a push that is stored when its server stops, before it has what came earlier, is not said to be refused', async () => {
    const own = await createDatabase();
    const [first, second] = [await Server.open(own), await Server.open(own)];
    // Nobody reads the log, in which the row of the other is before its own.
    const holder = new pg.Client(own);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE node IN ACCESS EXCLUSIVE MODE');
    await second.append([{ sensor: 9, timestamp: 1, value: 1 }]);
    const late = assert.rejects(first.append([{ sensor: 9, timestamp: 2, value: 2 }]), {
      ...{ code: 'storage', message: /Whether it was stored is not known/ },
    });
    await until(async () => (await holder.query('SELECT 1 FROM log')).rowCount === 2);
    await first.engine.close();
    await late;
    await holder.end();
    assert.deepEqual(await second.values(9), [1, 2]);
    await second.engine.close();
    await dropDatabase(own);
  });
});

function pushedAs(push: PushedAs | undefined): Partial<PushedAs> {
  const { count: _count, ...rest } = push ?? {};
  return rest;
}
