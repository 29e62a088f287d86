// Kills the server on PostgreSQL under load, and restarts PostgreSQL as a crash of it would, and reads everything back: acknowledged data is
// there exactly once, an array completely or not at all, and nothing else; repeats store nothing twice (I1); every stored datapoint
// has made its rules fire once (I5).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { CrashRound } from '../support/crash/crash-round.ts';
import { countWaiting, Firings } from '../support/crash/firings.ts';
import { Ledger } from '../support/crash/ledger.ts';
import { startPusher } from '../support/crash/pushers.ts';
import { SeededRandom } from '../support/dice.ts';
import { Publisher } from '../support/mqtt/mqtt-publisher.ts';
import { PostgresServer, withoutPostgres } from '../support/postgres.ts';
import { call, Dundun, makeDevice, type ServeOptions, withLimits } from '../support/process.ts';
import { until, within } from '../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const kills = isLong ? 40 : 4;

/** Sealing at once and all the time, into small chunks that are put together and cut often. */
const tight = {
  sealRowsMin: 500,
  sealRowsMax: 500,
  sealQuietRowsMin: 1,
  sealQuietMs: 50,
  headRowsMax: 5_000,
  purgeChunksMax: 1,
  chunkDatapointsWanted: 64,
  retentionRoundMs: 200,
  retentionRetryMs: 50,
  retentionChunksMax: 2,
  editStepPieces: 3,
  reserveStepMs: 5,
};

suite('a server on PostgreSQL', { skip: withoutPostgres, timeout: isLong ? 2 * 3_600_000 : 1_200_000 }, () => {
  let postgres: PostgresServer;
  let options: ServeOptions;
  let database: PostgresDatabase;

  before(async () => {
    postgres = await PostgresServer.start({ isDurable: true });
    const url = await postgres.createEmptyDatabase();
    database = new PostgresDatabase(url);
    options = withLimits(tight, { DUNDUN_DATABASE_URL: url, DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' });
  });
  after(async () => {
    await database?.close();
    postgres?.remove();
  });

  const start = async (): Promise<Dundun> => {
    const dundun = new Dundun(options);
    await dundun.ready;
    return dundun;
  };

  const restartPostgres = async (): Promise<void> => {
    await postgres.stopImmediately();
    await postgres.run();
  };

  test('takes work again soon after the one before was killed, and has its MQTT sessions', async () => {
    const first = await start();
    await first.stop('SIGKILL');
    const second = await start();
    const [sessions] = await database.query<{ nodes: number; epoch: number }>(
      'SELECT count(*) AS nodes, max(epoch) AS epoch FROM mqtt_node',
    );
    assert.deepEqual({ ...sessions }, { nodes: 1, epoch: 2 });
    assert.deepEqual(await second.stop(), { code: 0, signal: null });
  });

  test(`loses nothing that was acknowledged when it is killed under load, ${kills} times`, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const firings = new Firings(async () => Number((await database.query(countWaiting))[0]?.['n']));
    let dundun = await start();
    await firings.open(dundun);
    const rounds: CrashRound[] = [];
    for (let number = 0; number < kills; number++) {
      const round = new CrashRound(`d${number}`, { random, firings, isInOrder: true });
      rounds.push(round);
      await round.run(dundun, async () => {
        await pause(random.between(300, 3000));
        // Both at once, now and then.
        await Promise.all([dundun.stop('SIGKILL'), ...(random.oneIn(3) ? [restartPostgres()] : [])]);
      });
      dundun = await start();
      await round.settleAccounts(dundun);
      await round.verify(dundun);
    }
    await dundun.stop();
    dundun = await start();
    for (const round of rounds) await round.untilOldIsGone(dundun);
    for (const round of rounds) await round.verify(dundun);
    const fired = await firings.verify(dundun);
    await dundun.stop();
    const acknowledged = rounds.reduce((sum, round) => sum + round.ledger.count('stored'), 0);
    t.diagnostic(`${acknowledged} pushes were acknowledged, ${fired} firings told of; 0 lost, 0 doubled`);
  });

  test(`goes on by itself, and loses nothing, when PostgreSQL crashes under it, ${kills} times`, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const dundun = await start();
    const ledger = new Ledger('stays');
    await makeDevice(dundun, ledger.device, ['one', 'many', 'keyed', 'qos1', 'qos2']);
    const common = { server: dundun, ledger };
    const pushers = [
      ...Array.from({ length: 4 }, () => startPusher({ ...common, sensor: 'one' })),
      startPusher({ ...common, sensor: 'many', size: () => random.between(2, 300) }),
      startPusher({ ...common, sensor: 'keyed', keyPrefix: 'k' }),
    ];
    const publishers = [1, 2].map(
      (qos) => new Publisher({ ledger, clientId: `p${qos}`, window: 20, qos: qos as 1 | 2, sensor: `qos${qos}` }),
    );
    for (const publisher of publishers) await publisher.connect(dundun.ports);
    const recoveries: number[] = [];
    for (let crash = 0; crash < kills; crash++) {
      await pause(random.between(300, 1500));
      await restartPostgres();
      const startMs = performance.now();
      await untilItPushes(dundun);
      recoveries.push(Math.round(performance.now() - startMs));
      for (const publisher of publishers) await stayConnected(publisher, dundun);
    }
    for (const pusher of pushers) pusher.stop();
    for (const [n, { done }] of pushers.entries())
      await within(done, answerMsMax, () => `Pusher ${n} has no answer. ${dundun.stderr}`);
    for (const publisher of publishers) {
      await untilAnswered(publisher, dundun);
      publisher.end();
    }
    await ledger.verify(dundun);
    assert.ok(ledger.count('stored') > 50, `${ledger.count('stored')} were stored`);
    assert.equal((await within(dundun.stop(), answerMsMax, () => `It does not stop. ${dundun.stderr}`)).code, 0);
    const again = await start();
    await ledger.verify(again);
    await again.stop();
    t.diagnostic(
      `${ledger.count('stored')} pushes were acknowledged, ${ledger.count('refused')} refused; ready again after ${recoveries} ms`,
    );
  });
});

/** Beyond all that a request may wait for while PostgreSQL is away, and then is back. */
const answerMsMax = 90_000;

/** A client that the server has cut comes again: what was refused has no other answer in MQTT 3.1.1. */
async function stayConnected(publisher: Publisher, dundun: Dundun): Promise<void> {
  if (!publisher.isClosed) return;
  const otherwise = () => `A publisher is not taken. ${dundun.stderr}`;
  await until(() => publisher.tryToConnect(dundun.ports), { everyMs: 100, msMax: answerMsMax, otherwise });
}

/** It may be cut at any time as long as parts of the server are on their way back. */
async function untilAnswered(publisher: Publisher, dundun: Dundun): Promise<void> {
  let isAnswered = false;
  void publisher.finish().then(() => {
    isAnswered = true;
  });
  await until(
    async () => {
      if (!isAnswered) await stayConnected(publisher, dundun);
      return isAnswered;
    },
    {
      msMax: answerMsMax,
      otherwise: () => `${publisher.underWay} messages have no answer; cut: ${publisher.isClosed}. ${dundun.stderr}`,
    },
  );
}

/** How soon pushes go on by themselves when PostgreSQL is back. */
async function untilItPushes(dundun: Dundun): Promise<void> {
  await until(
    async () => {
      const exit = await Promise.race([dundun.exit, pause(50)]);
      assert.equal(exit, undefined, dundun.stderr);
      return (await call(dundun, '/health/ready')).status === 200;
    },
    { msMax: answerMsMax, otherwise: () => dundun.stderr },
  );
}
