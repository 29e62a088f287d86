// History that is read from a real standby: the same as from the primary, however far the standby is behind, and whatever becomes of it.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { SeededRandom } from '../../../../test/support/dice.ts';
import { historyDoors, readHistory } from '../../../../test/support/history-doors.ts';
import { setLimits } from '../../../../test/support/limits.ts';
import { batchOf } from '../../../../test/support/points.ts';
import { PostgresServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { roundsOf } from '../../../../test/support/properties.ts';
import { until } from '../../../../test/support/until.ts';
import type { Log } from '../../../base/log.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { Caller } from '../../../domain/callers/caller.ts';
import { orderOf } from '../../../domain/datapoints/datapoint.ts';
import type { StandbyCounts, StandbyReason } from '../../../domain/ports/engine.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';

const asker = { caller: new Caller('reader') };

interface Line {
  readonly message: string;
  readonly reason?: string;
  readonly after?: string;
}

/** What was logged. */
class Lines implements Log {
  readonly all: Line[] = [];
  debug = () => {};
  info = (fields: object, message: string) => void this.all.push({ ...fields, message });
  warn = this.info;
  error = this.info;
  fatal = this.info;
  audit = this.info;
}

suite('history from a standby', { skip: withoutPostgres, timeout: 600_000 }, () => {
  setLimits({ nodeRenewMs: 100, standbyRetryMs: 50, standbyConnectMs: 500 });
  let primary: PostgresServer;
  let standby: PostgresServer;
  let url: string;
  /** Reads from the primary alone, and seals. */
  let plain: PostgresEngine;
  let engine: PostgresEngine;
  let sensors = 0;
  const lines = new Lines();

  const ofStandby = (server: PostgresServer) => server.url(new URL(url).pathname.slice(1));
  const open = (standbyUrl: string) => openPostgresEngine(url, { clock: systemClock, log: lines, standbyUrl });

  before(async () => {
    primary = await PostgresServer.start();
    standby = await PostgresServer.startStandby(primary);
    url = await primary.createDatabase();
    await standby.untilReplayed(primary);
    plain = await openPostgresEngine(url, { clock: systemClock });
    engine = await open(ofStandby(standby));
  });
  after(async () => {
    await engine?.close();
    await plain?.close();
    for (const server of [standby, primary]) server?.remove();
  });

  const counts = () => engine.figures.standby as StandbyCounts;
  const fallbacks = () => Object.values(counts().fallbacks).reduce((sum, count) => sum + count, 0);
  /** What came of steps of the work, of which there must be some; those of the reader thread are told a moment later. */
  const countsOf = async (work: () => Promise<unknown>) => {
    const [read, reasons] = [counts().read, { ...counts().fallbacks }];
    const before = counts().read + fallbacks();
    await work();
    await until(() => counts().read + fallbacks() > before);
    const names = Object.keys(reasons) as StandbyReason[];
    return {
      read: counts().read - read,
      reasons: names.filter((name) => counts().fallbacks[name] > reasons[name]),
    };
  };
  /** The server with the standby has all that both have stored, and its head no more than what is not sealed. */
  const settle = async () => {
    await engine.commitLog.caughtUp();
    await until(() => engine.figures.logDatapoints === plain.figures.logDatapoints);
  };
  const seal = async () => {
    await plain.seal();
    await settle();
  };
  const append = (sensor: number, times: readonly number[]) =>
    plain.commitLog.append(batchOf(times.map((timestamp) => ({ sensor, timestamp, value: timestamp }))));
  const times = async (sensor: number) => (await readHistory(engine.series, sensor)).map(orderOf);
  /** A sensor with sealed datapoints at 0 and on, all of which the standby has. */
  const sealed = async (count: number) => {
    sensors += 1;
    await append(
      sensors,
      Array.from({ length: count }, (_, n) => n),
    );
    await seal();
    await standby.untilReplayed(primary);
    return sensors;
  };
  /** By the main thread. */
  const shortSteps = (sensor: number) => historyDoors['short steps'](engine.series, sensor);
  const assertSameAtAllDoors = async (sensor: number, where: string) => {
    for (const [name, read] of Object.entries(historyDoors))
      assert.deepEqual(await read(engine.series, sensor), await read(plain.series, sensor), `${name}, ${where}`);
  };

  test('comes from there at every door, once it has what is sealed; what is not sealed comes beside it', async () => {
    const sensor = await sealed(20_000);
    await append(sensor, [20_000, 7]);
    for (const [name, read] of Object.entries(historyDoors)) {
      const of = await countsOf(() => read(engine.series, sensor));
      assert.ok(of.read > 0, name);
      assert.deepEqual(of.reasons, [], name);
    }
    await assertSameAtAllDoors(sensor, 'replayed');
    assert.equal((await times(sensor)).length, 20_002);
    assert.equal(fallbacks(), 0);
    const sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'dundun history'";
    assert.ok(Number((await standby.query(ofStandby(standby), sql))[0]?.['n']) >= 2, 'of both threads');
  });

  test('has what was sealed, corrected and removed, though the standby lags, and nothing that is gone', async () => {
    const sensor = await sealed(3_000);
    await standby.pauseReplay();
    try {
      await append(sensor, [5_000, 5_001]);
      await seal();
      assert.deepEqual((await times(sensor)).slice(-2), [5_000, 5_001]);
      for (const by of [plain, engine]) {
        const from = by === plain ? 100 : 200;
        assert.equal(await by.series.remove({ sensor, fromMs: from, toMs: from + 49 }, asker), 50);
        assert.equal(await by.series.correct({ sensor, atMs: from + 50, value: -1 }, asker), 1);
        await assertSameAtAllDoors(sensor, 'removed');
        assert.ok(!(await times(sensor)).includes(from));
      }
      assert.ok((await plain.series.removeBefore(sensor, 60)) > 0);
      assert.equal((await times(sensor))[0], 60);
      assert.deepEqual((await countsOf(() => times(sensor))).reasons, ['behind']);
    } finally {
      await standby.resumeReplay();
    }
    await standby.untilReplayed(primary);
    assert.deepEqual((await countsOf(() => shortSteps(sensor))).reasons, []);
    await assertSameAtAllDoors(sensor, 'replayed');
  });

  test('of a sensor that nobody has changed for long is read from a standby that is far behind', async () => {
    const [quiet, busy] = [await sealed(500), await sealed(500)];
    await standby.pauseReplay();
    try {
      await append(busy, [600]);
      await seal();
      assert.deepEqual(await countsOf(() => shortSteps(quiet)), { read: 2, reasons: [] });
      assert.deepEqual(await countsOf(() => shortSteps(busy)), { read: 0, reasons: ['behind'] });
    } finally {
      await standby.resumeReplay();
    }
  });

  test('is that of the primary after any changes, with the standby anywhere behind', async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const model = new Map<number, Map<number, number>>();
    for (const count of [9_000, 50, 1])
      model.set(await sealed(count), new Map(Array.from({ length: count }, (_, ms) => [ms, ms])));
    const own = [...model.keys()];
    const before = counts().read;
    let isPaused = false;
    const span = () => {
      const fromMs = random.between(0, 9_500);
      return { fromMs, toMs: fromMs + random.between(0, random.oneIn(3) ? 5_000 : 30) };
    };
    const change = async (sensor: number, points: Map<number, number>) => {
      const by = random.oneIn(2) ? plain : engine;
      const kind = random.between(0, 6);
      if (kind < 2) {
        const fresh = Array.from({ length: random.between(1, 40) }, () => random.between(0, 10_000)).filter(
          (ms) => !points.has(ms),
        );
        const some = [...new Set(fresh)];
        if (some.length === 0) return;
        await by.commitLog.append(batchOf(some.map((timestamp) => ({ sensor, timestamp, value: -timestamp }))));
        for (const ms of some) points.set(ms, -ms);
      } else if (kind === 2) {
        const { fromMs, toMs } = span();
        await by.series.remove({ sensor, fromMs, toMs }, asker);
        for (const ms of [...points.keys()]) if (ms >= fromMs && ms <= toMs) points.delete(ms);
      } else if (kind === 3) {
        const atMs = [...points.keys()][random.between(0, points.size)];
        if (atMs === undefined) return;
        assert.equal(await by.series.correct({ sensor, atMs, value: 1e6 + atMs }, asker), 1);
        points.set(atMs, 1e6 + atMs);
      } else if (kind === 4) {
        await plain.seal();
        if (random.oneIn(2)) await settle();
      } else if (isPaused) {
        await standby.resumeReplay();
        if (random.oneIn(2)) await standby.untilReplayed(primary);
        isPaused = false;
      } else {
        await standby.pauseReplay();
        isPaused = true;
      }
    };
    try {
      for (let round = 0; round < roundsOf({ usual: 120, long: 3_000 }); round++) {
        const sensor = own[random.between(0, own.length)] as number;
        const points = model.get(sensor) as Map<number, number>;
        await change(sensor, points);
        for (const one of [engine, plain]) await one.commitLog.caughtUp();
        const found = (await readHistory(engine.series, sensor)).map((point) => [orderOf(point), point.value]);
        const expected = [...points].sort(([one], [other]) => one - other);
        assert.deepEqual(found, expected, `round ${round}`);
        if (round % 10 === 0) await assertSameAtAllDoors(sensor, `round ${round}`);
      }
    } finally {
      if (isPaused) await standby.resumeReplay();
    }
    t.diagnostic(`${counts().read - before} steps from the standby; ${JSON.stringify(counts().fallbacks)}`);
    assert.ok(counts().read > before && counts().fallbacks.behind > 0);
  });

  test('is read while the standby replays, seals and removals go on and both threads read', async () => {
    const sensor = await sealed(5_000);
    let isDone = false;
    const read = async () => {
      while (!isDone) {
        for (const name of ['short steps', 'long steps', 'steps back'] as const)
          assert.equal(((await historyDoors[name](engine.series, sensor)) as unknown[]).length, 5_000, name);
        assert.equal(await historyDoors.count(engine.series, sensor), 5_000);
      }
    };
    const reading = Promise.all([read(), read()]);
    // Each state that a read may see has as many datapoints.
    for (let n = 0; n < 40; n++) {
      await plain.commitLog.append(batchOf([{ sensor: sensor + 1_000, timestamp: n, value: n }]));
      assert.equal(await plain.series.correct({ sensor, atMs: 100 * n, value: 1e6 + n }, asker), 1);
      await plain.seal();
    }
    isDone = true;
    await reading;
  });

  test('is the primary’s where the standby is stopped, and the standby’s when it is back; the log tells both', async () => {
    const sensor = await sealed(1_000);
    await times(sensor);
    await standby.stopImmediately();
    lines.all.length = 0;
    for (let n = 0; n < 3; n++) await assertSameAtAllDoors(sensor, 'stopped');
    assert.ok(counts().fallbacks.unreachable > 0);
    const told = lines.all.filter(({ message }) => message.startsWith('history is read'));
    assert.deepEqual([told.length, told[0]?.reason], [1, 'unreachable']);
    await standby.run();
    const { read } = counts();
    await until(async () => {
      await shortSteps(sensor);
      return counts().read > read;
    });
    assert.ok(
      lines.all.some(
        ({ message, after: reason }) =>
          message === 'history is read from the standby again' && reason === 'unreachable',
      ),
    );
    await assertSameAtAllDoors(sensor, 'back');
  });

  test('is the primary’s where the way to the standby is cut in the middle', async () => {
    const sensor = await sealed(1_000);
    await times(sensor);
    const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dundun history'";
    for (let n = 0; n < 5; n++) {
      await standby.query(standby.url('postgres', 'postgres'), end);
      await assertSameAtAllDoors(sensor, 'cut');
    }
  });

  test('is the primary’s where bytes of the standby are damaged', async () => {
    const sensor = await sealed(150);
    const sql = `SELECT encode(bytes, 'hex') AS bytes, pg_relation_filepath('chunk') AS path FROM chunk WHERE sensor = ${sensor}`;
    const [{ bytes, path } = {}] = await primary.query(url, sql);
    // All is in the files then, and not replayed once more.
    await primary.query(primary.url('postgres', 'postgres'), 'CHECKPOINT');
    await standby.untilReplayed(primary);
    await standby.query(standby.url('postgres', 'postgres'), 'CHECKPOINT');
    await standby.stopImmediately();
    const file = join(standby.folder, 'data', String(path));
    const whole = await readFile(file);
    const content = Buffer.from(whole);
    const wanted = Buffer.from(String(bytes), 'hex');
    let found = 0;
    // Another sensor, or an earlier state of this one, may have the same bytes.
    for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + 1)) {
      content.writeUInt8(content.readUInt8(at + 20) ^ 0xff, at + 20);
      found += 1;
    }
    assert.ok(found > 0);
    await writeFile(file, content);
    await standby.run();
    await until(async () =>
      (await countsOf(() => shortSteps(sensor))).reasons.every((reason) => reason !== 'unreachable'),
    );
    await assertSameAtAllDoors(sensor, 'damaged');
    // By checksums of its pages, where they are on, PostgreSQL itself finds out.
    assert.ok(counts().fallbacks.damaged + counts().fallbacks.failed > 0);
    // With them, as from PostgreSQL 18 on, a standby would end at the next change of the page.
    await standby.stopImmediately();
    await writeFile(file, whole);
    await standby.run();
    assert.equal((await times(await sealed(10))).length, 10);
  });

  test('a standby of another database, or of another cluster, is refused at the start with a clear word', async () => {
    const other = await primary.createDatabase();
    await standby.untilReplayed(primary);
    const elsewhere = await PostgresServer.start({ isOfItsOwn: true });
    try {
      for (const wrong of [standby.url(new URL(other).pathname.slice(1)), await elsewhere.createDatabase()])
        await assert.rejects(open(wrong), {
          code: 'conflict',
          message: /DUNDUN_DATABASE_STANDBY_URL leads to another/,
        });
    } finally {
      elsewhere.remove();
    }
  });

  test('a service starts without its standby, and with the primary in its place, and reads from the primary', async () => {
    const sensor = await sealed(100);
    for (const [address, reason] of [
      [standby.url('nowhere'), 'failed'],
      [url, 'promoted'],
      ['postgres://dundun@127.0.0.1:1/dundun', 'unreachable'],
    ] as const) {
      lines.all.length = 0;
      const started = await open(address);
      assert.equal((await readHistory(started.series, sensor)).length, 100);
      assert.equal(lines.all.find(({ message }) => message.startsWith('history is read'))?.reason, reason);
      assert.equal(started.figures.standby?.read, 0);
      await started.close();
    }
  });

  // The last one: afterwards there is no standby.
  test('is the primary’s where the standby was promoted and changed apart, and where another one follows that', async () => {
    const [gone, changed] = [await sealed(300), await sealed(300)];
    await standby.promote();
    const apart = await openPostgresEngine(ofStandby(standby), { clock: systemClock });
    // As many changes on either side, so that all that counts them comes to the same.
    for (const [on, value] of [
      [apart, -1],
      [plain, -2],
    ] as const) {
      await on.series.correct({ sensor: changed, atMs: 5, value }, asker);
      await on.series.remove({ sensor: gone, fromMs: value === -1 ? 0 : 200, toMs: value === -1 ? 99 : 299 }, asker);
    }
    const follower = await PostgresServer.startStandby(standby);
    await follower.untilReplayed(standby);
    const misled = await open(ofStandby(follower));
    const database = new PostgresDatabase(ofStandby(follower));
    try {
      const lag = await database.query('SELECT pg_is_in_recovery() AS "isStandby"');
      assert.deepEqual(lag, [{ isStandby: 1 }]);
      for (const sensor of [gone, changed]) {
        await assertSameAtAllDoors(sensor, 'promoted');
        for (const [name, read] of Object.entries(historyDoors))
          assert.deepEqual(await read(misled.series, sensor), await read(plain.series, sensor), name);
      }
      assert.ok(counts().fallbacks.promoted > 0);
      assert.deepEqual([misled.figures.standby?.read, (misled.figures.standby?.fallbacks.behind ?? 0) > 0], [0, true]);
    } finally {
      await database.close();
      await misled.close();
      await apart.close();
      follower.remove();
    }
  });
});
