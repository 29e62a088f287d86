// The log on PostgreSQL where something breaks: the server, a pass of sealing, another process.
import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { setLimits } from '../../../../test/support/limits.ts';
import { batchOf, nowMs } from '../../../../test/support/points.ts';
import { createDatabase, dropDatabase, PostgresServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { Caller } from '../../../domain/callers/caller.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { FollowedPush } from '../../../domain/ports/commit-log.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { encodeBatch } from './log-row.ts';
import { LogWriter, WriterFenced } from './log-writer.ts';

const asker = { caller: new Caller('reader') };

async function values(engine: PostgresEngine, sensor: number): Promise<number[]> {
  const { columns } = await engine.series.range({ sensor, descending: false, limit: 100_000 }, asker);
  return [...columns.values];
}

suite('the log on PostgreSQL', { skip: withoutPostgres }, () => {
  setLimits({ logRingBytes: 1 });
  let url: string;
  let database: PostgresDatabase;
  let engine: PostgresEngine;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    engine = await openPostgresEngine(url, { clock: systemClock });
  });
  after(async () => {
    await engine?.close();
    await database?.close();
    await dropDatabase(url);
  });

  const reopen = async () => {
    await engine.close();
    engine = await openPostgresEngine(url, { clock: systemClock });
  };

  test('a pass of sealing that breaks off shows each datapoint once, and goes on where it was', async () => {
    const sensors = Array.from({ length: 2_500 }, (_, n) => n + 1);
    for (const timestamp of [1, 2])
      await engine.commitLog.append(batchOf(sensors.map((sensor) => ({ sensor, timestamp, value: timestamp }))));
    // The third unit fails: it has the sensors behind 2000.
    await database.query('ALTER TABLE chunk ADD CONSTRAINT broken CHECK (sensor <> 2400)');
    const whole = async () => {
      for (const sensor of [1, 999, 1_500, 2_399, 2_400]) {
        assert.deepEqual(await values(engine, sensor), [1, 2], `sensor ${sensor}`);
        assert.equal((await engine.series.latest([sensor])).get(sensor)?.value, 2);
      }
    };
    await assert.rejects(engine.seal());
    const sealed = 'SELECT count(*) AS n FROM chunk';
    assert.equal((await database.query<{ n: number }>(sealed))[0]?.n, 2_000);
    await whole();
    // What is in the log and in chunks is not edited.
    const removal = { sensor: 1, fromMs: 1, toMs: 1 };
    await assert.rejects(engine.series.remove(removal, asker));
    await reopen();
    await whole();
    await database.query('ALTER TABLE chunk DROP CONSTRAINT broken');
    await until(async () => engine.seal().then(() => true, () => false)); // biome-ignore format: short
    assert.equal((await database.query<{ n: number }>(sealed))[0]?.n, 2_500);
    await whole();
    assert.equal(await engine.series.remove(removal, asker), 1);
    assert.deepEqual(await values(engine, 1), [2]);
  });

  test('a pass of sealing that breaks off goes on in the same process, whatever came meanwhile', async () => {
    const sensors = Array.from({ length: 2_500 }, (_, n) => 10_001 + n);
    const push = (value: number) =>
      engine.commitLog.append(batchOf(sensors.map((sensor) => ({ sensor, timestamp: value, value }))));
    await push(1);
    await database.query('ALTER TABLE chunk ADD CONSTRAINT broken CHECK (sensor <> 12400)');
    await assert.rejects(engine.seal());
    await push(2);
    await database.query('ALTER TABLE chunk DROP CONSTRAINT broken');
    await until(async () => engine.seal().then(() => true, () => false), { msMax: 20_000 }); // biome-ignore format: short
    assert.equal(engine.figures.logDatapoints, 0);
    for (const sensor of [10_001, 12_399, 12_400, 12_500]) assert.deepEqual(await values(engine, sensor), [1, 2]);
  });

  test('tables of the log whose rows are sealed and read are emptied, and nothing is lost', async () => {
    const sensor = 3_001;
    for (let n = 0; n < 12; n++) {
      await engine.commitLog.append(batchOf([{ sensor, timestamp: n, value: n }]));
      await engine.seal();
      if (n % 5 === 4) await reopen();
    }
    const [row] = await database.query<{ rows: number }>('SELECT count(*) AS rows FROM log');
    assert.ok((row?.rows ?? 99) <= 3, `${row?.rows} rows are left`);
    assert.deepEqual(await values(engine, sensor), [...Array(12).keys()]);
  });

  test('a row whose bytes have changed is told and set aside, and all others are whole', async () => {
    const sensor = 3_002;
    for (const value of [1, 2, 3]) await engine.commitLog.append(batchOf([{ sensor, timestamp: value, value }]));
    const damaged = `UPDATE log_TABLE SET bytes = set_byte(bytes, 5, get_byte(bytes, 5) # 1)
      WHERE position = ${engine.commitLog.lastPosition - 1}`;
    for (const ring of [0, 1, 2, 3]) await database.query(damaged.replace('TABLE', String(ring)));
    await reopen();
    const told: string[] = [];
    engine.observe({ onDamaged: (what) => told.push(what) });
    assert.match(told.join(), /Row \d+ of writer \d+ of the log is damaged/);
    assert.deepEqual(await values(engine, sensor), [1, 3]);
    await engine.seal();
    assert.deepEqual(await values(engine, sensor), [1, 3]);
    assert.equal((await database.query('SELECT 1 FROM damaged_log')).length, 1);
    await engine.commitLog.append(batchOf([{ sensor, timestamp: 4, value: 4 }]));
    await reopen();
    assert.deepEqual(await values(engine, sensor), [1, 3, 4]);
  });

  test('however many edits there are at once, sealing has its turn', async () => {
    const sensor = 3_003;
    let isOver = false;
    const editing = Promise.all(
      [0, 1, 2, 3].map(async (n) => {
        while (!isOver) await engine.series.remove({ sensor, fromMs: n, toMs: n }, asker);
      }),
    );
    for (let n = 0; n < 5; n++) {
      await engine.commitLog.append(batchOf([{ sensor, timestamp: 10 + n, value: n }]));
      await engine.seal();
    }
    isOver = true;
    await editing;
    assert.deepEqual(await values(engine, sensor), [0, 1, 2, 3, 4]);
  });

  test('a writer whose fence was taken appends nothing any more; what it appended before is read in its place', async () => {
    const sensor = 3_004;
    const former = new LogWriter(database);
    await former.start('former');
    const rowOf = (value: number) => {
      const bytes = encodeBatch(batchOf([{ sensor, timestamp: value, value }]), former.next);
      return { seq: former.next.seq, count: 1, bytes };
    };
    await former.append(rowOf(1));
    await engine.commitLog.append(batchOf([{ sensor, timestamp: 2, value: 2 }]));
    assert.deepEqual(await values(engine, sensor), [1, 2]);
    // There is no such server: whoever starts takes its fence.
    const later = new LogWriter(database);
    await later.start('later');
    await assert.rejects(former.append(rowOf(3)), WriterFenced);
    const { rows } = (await database.query<{ rows: number }>('SELECT count(*) AS rows FROM log WHERE writer = $1', [former.writer]))[0] ?? {}; // biome-ignore format: short
    assert.equal(rows, 1);
    for (const writer of [former, later]) await writer.close();
    await reopen();
    assert.deepEqual(await values(engine, sensor), [1, 2]);
  });
});

suite('a server of PostgreSQL that goes away', { skip: withoutPostgres }, () => {
  test('loses nothing that was acknowledged, doubles nothing, and is gone on with when it is back', async () => {
    const server = await PostgresServer.start({ isDurable: true });
    const url = await server.createDatabase();
    let engine = await openPostgresEngine(url, { clock: systemClock });
    const acknowledged = new Set<number>();
    const refused = new Set<number>();
    let next = 0;
    const push = async () => {
      const value = next++;
      try {
        await engine.commitLog.append(batchOf([{ sensor: 1, timestamp: value, received: nowMs, value }]));
        acknowledged.add(value);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'storage');
        refused.add(value);
      }
    };
    for (let round = 0; round < 3; round++) {
      let isOver = false;
      const pushing = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!isOver) {
            await push();
            await new Promise(setImmediate);
          }
        }),
      );
      await until(() => acknowledged.size > 20 * (round + 1));
      await server.stopImmediately();
      await until(() => engine.figures.refusesBecause !== undefined);
      await push();
      assert.ok(refused.size > round, 'while it is away');
      await server.run();
      const then = acknowledged.size;
      await until(() => acknowledged.size > then + 5);
      isOver = true;
      await pushing;
      // Another part of the engine may still be on its way back.
      await until(() => engine.figures.refusesBecause === undefined);
    }
    const check = async () => {
      const found = await values(engine, 1);
      assert.equal(new Set(found).size, found.length, 'none is there twice');
      for (const value of acknowledged) assert.ok(found.includes(value), `${value} was acknowledged`);
      // What was refused was not stored.
      for (const value of refused) assert.ok(!found.includes(value), `${value} was refused`);
    };
    await check();
    await engine.close();
    engine = await openPostgresEngine(url, { clock: systemClock });
    await check();
    await engine.seal();
    await check();
    await engine.close();
    server.remove();
  });
});

suite('a commit whose outcome is not known in time', { skip: withoutPostgres }, () => {
  setLimits({ postgresOutcomeMs: 300, postgresAnswerMs: 400, postgresConnectMs: 1_000 });

  test('is told of as that, and is heard of when it is found to be stored', async (t) => {
    const url = await createDatabase();
    const line = await FarDatabase.open(url);
    const engine = await openPostgresEngine(line.url, { clock: systemClock });
    t.after(async () => {
      await engine.close();
      line.close();
      await dropDatabase(url);
    });
    const followed: FollowedPush[] = [];
    let attempts = 0;
    engine.commitLog.onFollowed = async (pushes) => {
      attempts += 1;
      if (attempts < 3) throw new Error('The database is away again.');
      followed.push(...pushes);
    };
    const payload = Buffer.from('2.0');
    const original = { payload, bytes: 3, qos: 1, retain: false } as const;
    const append = (value: number) =>
      engine.commitLog.append(batchOf([{ sensor: 1, timestamp: value, value }]), () => [
        { sensor: 1 as SensorKey, count: 1, receivedMs: value, many: true, original },
      ]);
    await append(1);
    line.cut();
    await assert.rejects(append(2), { code: 'storage', message: /Whether it was stored is not known/ });
    // As a door uses the memory of a message again that it has answered.
    payload.fill(0);
    // It may have stored what is asked for.
    await assert.rejects(engine.commitLog.claimReceipt('key', { sinceMs: 0 }), { code: 'storage' });
    await assert.rejects(append(3), { code: 'storage', message: /Nothing of this request was stored/ });
    assert.equal(followed.length, 0);
    line.heal();
    await until(() => followed.length > 0);
    await until(async () => append(4).then(() => true, () => false)); // biome-ignore format: short
    assert.deepEqual(await values(engine, 1), [1, 2, 4]);
    assert.deepEqual(
      followed.map(({ sensor, readings, many, original: as }) => {
        return [sensor, readings.map(({ value }) => value), many, as?.qos, String(as?.payload)];
      }),
      [[1, [2], true, 1, '2.0']],
    );
    // A connection that was open when the line was cut is noticed with its first use.
    const claim = () => engine.commitLog.claimReceipt('key', { sinceMs: 0 });
    await until(async () => claim().then((receipt) => receipt === undefined, () => false)); // biome-ignore format: short
  });
});

suite('a primary without its standby', { skip: withoutPostgres }, () => {
  setLimits({ postgresOutcomeMs: 500, databaseBusyMs: 300 });

  test('acknowledges nothing, not even what it shows after a restart, until the standby is back', async (t) => {
    const server = await PostgresServer.start({ isDurable: true });
    const engine = await openPostgresEngine(await server.createDatabase(), { clock: systemClock });
    t.after(async () => {
      await server.waitForStandby(false).catch(() => {});
      await engine.close();
      server.remove();
    });
    let told = 0;
    engine.commitLog.onFollowed = async (pushes) => {
      told += pushes.length;
    };
    const append = (value: number) => engine.commitLog.append(batchOf([{ sensor: 1, timestamp: value, value }]));
    await server.waitForStandby(true);
    // Until the server has read that, it acknowledges. The last one waits.
    let last = 0;
    await until(() => append(++last).then(() => false, () => true)); // biome-ignore format: short
    assert.match(String(engine.figures.refusesBecause), /does not answer/);
    await assert.rejects(append(-1), { code: 'storage', message: /Nothing of this request was stored/ });
    // What was committed without a standby is seen by all from now on.
    await server.stopImmediately();
    await server.run();
    await pause(1_500);
    assert.equal(told, 0);
    await assert.rejects(append(-2), { code: 'storage', message: /Nothing of this request was stored/ });
    await server.waitForStandby(false);
    await until(() => told > 0);
    await until(async () => append(last + 1).then(() => true, () => false)); // biome-ignore format: short
    assert.deepEqual(
      await values(engine, 1),
      Array.from({ length: last + 1 }, (_, n) => n + 1),
    );
  });
});

/** A way to the server on which answers get lost, and new connections, from `cut` until `heal`. */
class FarDatabase {
  readonly url: string;
  readonly #proxy: Server;
  readonly #pairs: (readonly [near: Socket, far: Socket])[];
  readonly #state: { isCut: boolean };

  private constructor(
    url: string,
    parts: { proxy: Server; pairs: (readonly [Socket, Socket])[]; state: { isCut: boolean } },
  ) {
    this.url = url;
    this.#proxy = parts.proxy;
    this.#pairs = parts.pairs;
    this.#state = parts.state;
  }

  static async open(url: string): Promise<FarDatabase> {
    const folder = decodeURIComponent(new URL(url).searchParams.get('host') ?? '');
    const pairs: (readonly [Socket, Socket])[] = [];
    const state = { isCut: false };
    const proxy = createServer((near) => {
      near.on('error', () => {});
      if (state.isCut) {
        near.destroy();
        return;
      }
      const far = connect(join(folder, '.s.PGSQL.5432'));
      far.on('error', () => {});
      pairs.push([near, far]);
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    return new FarDatabase(`postgres://dundun@127.0.0.1:${port}${new URL(url).pathname}`, { proxy, pairs, state });
  }

  cut(): void {
    this.#state.isCut = true;
    for (const [near, far] of this.#pairs) far.unpipe(near).resume();
  }

  heal(): void {
    this.#state.isCut = false;
  }

  close(): void {
    this.#proxy.close();
    for (const [near, far] of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }
}
