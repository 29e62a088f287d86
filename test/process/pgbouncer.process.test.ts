// Two servers whose connections to the database go through PgBouncer. In session mode all is as without it, and where it is started anew
// under load nothing is lost that was acknowledged (fleet-load.ts). In other modes the service refuses to start.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'mqtt';
import pg from 'pg';
import { countWaiting, Firings } from '../support/crash/firings.ts';
import { FleetLoad, pushRuled, untilAllWork } from '../support/crash/fleet-load.ts';
import { SeededRandom } from '../support/dice.ts';
import { PgBouncer, withoutPgBouncer } from '../support/pgbouncer.ts';
import { PostgresServer } from '../support/postgres.ts';
import { call, Dundun, makeDevice, startRefused, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const restarts = 3;
/** Sealing at once and all the time. */
const tight = { sealRowsMin: 500, sealRowsMax: 500, sealQuietRowsMin: 1, sealQuietMs: 50, chunkDatapointsWanted: 64 };

suite('servers behind PgBouncer', { skip: withoutPgBouncer, timeout: 600_000 }, () => {
  let postgres: PostgresServer;
  let url: string;

  before(async () => {
    postgres = await PostgresServer.start({ isDurable: true });
    url = await postgres.createEmptyDatabase();
  });
  after(() => postgres?.remove());

  for (const mode of ['transaction', 'statement'] as const)
    test(`refuse to start where it is in ${mode} mode`, async () => {
      const pool = await PgBouncer.start(url, { mode });
      const { code, stderr } = await startRefused({ settings: { DUNDUN_DATABASE_URL: pool.url } });
      assert.notEqual(code, 0);
      assert.match(stderr, /shares its sessions out.*pool_mode = session/);
      pool.remove();
    });

  suite('in session mode', () => {
    let pool: PgBouncer;
    let load: FleetLoad | undefined;
    const fleet: Dundun[] = [];

    const start = async (n: number): Promise<void> => {
      const settings = { DUNDUN_DATABASE_URL: pool.url, DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' };
      fleet[n] = new Dundun(withLimits(tight, settings));
      await fleet[n].ready;
    };

    before(async () => {
      pool = await PgBouncer.start(url, { mode: 'session' });
      for (const n of [0, 1]) await start(n);
    });
    after(async () => {
      load?.end();
      await Promise.all(fleet.map((dundun) => dundun.stop('SIGKILL')));
      pool?.remove();
    });

    test('a subscriber at the other server hears of a push, with a hint to it', async () => {
      const [one, two] = fleet as [Dundun, Dundun];
      const listener = new pg.Client(pool.url);
      let hints = 0;
      listener.on('notification', () => {
        hints += 1;
      });
      await listener.connect();
      await listener.query('LISTEN dundun_log');
      await makeDevice(one, 'd', ['a']);
      const subscriber = connect(`mqtt://127.0.0.1:${two.ports.mqtt}`);
      const heard: string[] = [];
      subscriber.on('message', (_, payload) => heard.push(String(payload)));
      await new Promise<void>((resolve) => subscriber.subscribe('devices/d/#', { qos: 1 }, () => resolve()));
      const answer = await call(one, '/api/v2/devices/d/sensors/a/value', { json: { value: 7 } });
      assert.equal(answer.status, 204);
      await until(() => heard.length > 0);
      assert.match(heard[0] ?? '', /7/);
      await until(() => hints > 0);
      subscriber.end(true);
      await listener.end();
    });

    test(`nothing is lost or doubled, and rules fire once, while it is started anew ${restarts} times`, async (t) => {
      const random = new SeededRandom();
      t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
      const waiting = async () => Number((await postgres.query(url, countWaiting))[0]?.['n']);
      const firings = new Firings(waiting);
      await firings.open(fleet[0] as Dundun);
      await makeDevice(fleet[0] as Dundun, 'r', ['ruled']);
      await firings.watch(fleet[0] as Dundun, 'r');
      load = await FleetLoad.start(fleet);
      const recoveries: number[] = [];
      for (let number = 0; number < restarts; number++) {
        await pause(random.between(100, 1_000));
        await pushRuled(fleet[number % 2] as Dundun, 'r', 3 * number);
        const ruled = fleet.map((dundun, n) => pushRuled(dundun, 'r', 3 * number + 1 + n));
        await pool.stopImmediately();
        await pause(random.oneIn(2) ? random.between(0, 500) : random.between(2_000, 4_000));
        await pool.run();
        recoveries.push(await untilAllWork(fleet));
        await Promise.all(ruled);
      }
      await load.finish();
      await load.verify();
      const fired = await firings.verify(fleet[0] as Dundun);
      for (const dundun of fleet) await dundun.stop();
      await start(0);
      await load.ledger.verify(fleet[0] as Dundun);
      assert.ok(load.ledger.count('stored') > 100 && fired > 0, `${load.counts}; ${fired} firings`);
      t.diagnostic(`${load.counts}; ${fired} firings; 0 lost, 0 doubled; all ready again after ms: ${recoveries}`);
    });
  });
});
