// Three servers on one PostgreSQL database under load, of which one after the other is killed, stopped for a while, or cut off from the
// database, and whose database crashes. A ledger of what clients were told says what must be there: acknowledged datapoints once, what
// was refused not at all, in every server alike; each stored datapoint has made its rules fire once.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { DatabaseLink } from '../support/crash/database-link.ts';
import { countWaiting, Firings } from '../support/crash/firings.ts';
import { FleetLoad, pushRuled } from '../support/crash/fleet-load.ts';
import { SeededRandom } from '../support/dice.ts';
import { PostgresServer, withoutPostgres } from '../support/postgres.ts';
import { Dundun, makeDevice, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const servers = 3;
/** How often each happens: of the long ones 200 kills and stops, and 50 crashes of the database. */
const times = isLong
  ? { kill: 100, stop: 70, stopForLong: 30, database: 50, cut: 50 }
  : { kill: 3, stop: 2, stopForLong: 1, database: 2, cut: 2 };
type Trouble = keyof typeof times;

/** Sealing at once and all the time; each device has rules for so many troubles. */
const tight = { sealRowsMin: 500, sealRowsMax: 500, sealQuietRowsMin: 1, sealQuietMs: 50, chunkDatapointsWanted: 64 };
const troublesEach = 10;
const patience = { msMax: 180_000, everyMs: 50 };

suite('several servers under load', { skip: withoutPostgres, timeout: isLong ? 4 * 3_600_000 : 1_500_000 }, () => {
  let postgres: PostgresServer;
  let database: PostgresDatabase;
  const links: DatabaseLink[] = [];
  const fleet: Dundun[] = [];
  let load: FleetLoad | undefined;

  const start = async (n: number): Promise<void> => {
    const settings = { DUNDUN_DATABASE_URL: links[n]?.url, DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' };
    const dundun = new Dundun(withLimits(tight, settings));
    await dundun.ready;
    fleet[n] = dundun;
  };
  const hasEnded = ({ child }: Dundun) => child.exitCode !== null || child.signalCode !== null;

  before(async () => {
    postgres = await PostgresServer.start({ isDurable: true });
    const url = await postgres.createEmptyDatabase();
    database = new PostgresDatabase(url);
    for (let n = 0; n < servers; n++) links.push(await DatabaseLink.open(url));
    for (let n = 0; n < servers; n++) await start(n);
  });
  after(async () => {
    load?.end();
    await Promise.all(fleet.map((dundun) => dundun.stop('SIGKILL')));
    for (const link of links) link.close();
    await database?.close();
    postgres?.remove();
  });

  /** All take work; those that have ended were started again. @returns milliseconds that took. */
  const untilAllWork = async (): Promise<number> => {
    const startMs = performance.now();
    for (let n = 0; n < servers; n++) {
      await until(
        async () => {
          if (hasEnded(fleet[n] as Dundun)) await start(n);
          const ready = await fetch(`${fleet[n]?.url}/health/ready`).catch(() => undefined);
          return ready?.status === 200;
        },
        { ...patience, otherwise: () => fleet[n]?.stderr.slice(-4_000) },
      );
    }
    return Math.round(performance.now() - startMs);
  };

  const bring: Readonly<Record<Trouble, (n: number, random: SeededRandom) => Promise<unknown>>> = {
    kill: (n) => (fleet[n] as Dundun).stop('SIGKILL'),
    stop: (n, random) => stopFor(fleet[n] as Dundun, random.between(50, 3_000)),
    stopForLong: (n, random) => stopFor(fleet[n] as Dundun, random.between(6_000, 9_000)),
    database: async () => {
      await postgres.stopImmediately();
      await postgres.run();
    },
    cut: async (n, random) => {
      links[n]?.cut({ isTold: random.oneIn(2) });
      await pause(random.between(50, 8_000));
      links[n]?.heal();
    },
  };

  const all = Object.values(times).reduce((sum, count) => sum + count);
  test(`lose nothing and double nothing in ${all} troubles`, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const firings = new Firings(async () => Number((await database.query(countWaiting))[0]?.['n']));
    await firings.open(fleet[0] as Dundun);
    load = await FleetLoad.start(fleet);
    const troubles = shuffled(times, random);
    const recoveries: Record<string, number[]> = {};
    for (const [number, trouble] of troubles.entries()) {
      const device = `d${Math.floor(number / troublesEach)}`;
      if (number % troublesEach === 0) {
        await makeDevice(fleet[0] as Dundun, device, ['ruled']);
        await firings.watch(fleet[0] as Dundun, device);
      }
      await pause(random.between(100, 1_500));
      const at = random.between(0, servers);
      const ruled = [0, 1, 2].map((n) => pushRuled(fleet[n] as Dundun, device, 10 * number + n));
      await bring[trouble](at, random);
      recoveries[trouble] = [...(recoveries[trouble] ?? []), await untilAllWork()];
      await Promise.all(ruled);
    }
    await load.finish();
    await load.verify();
    const fired = await firings.verify(fleet[0] as Dundun);
    for (let n = 0; n < servers; n++) await fleet[n]?.stop();
    await start(0);
    await load.ledger.verify(fleet[0] as Dundun);
    assert.ok(load.ledger.count('stored') > 100, load.counts);
    const readyAgain = `all ready again after ms: ${JSON.stringify(recoveries)}`;
    t.diagnostic(`${load.counts}; ${fired} firings; 0 lost, 0 doubled; ${readyAgain}`);
  });
});

async function stopFor({ child }: Dundun, ms: number): Promise<void> {
  child.kill('SIGSTOP');
  await pause(ms);
  child.kill('SIGCONT');
}

function shuffled(counts: Readonly<Record<Trouble, number>>, random: SeededRandom): Trouble[] {
  const list = Object.entries(counts).flatMap(([trouble, count]) => Array(count).fill(trouble) as Trouble[]);
  for (let n = list.length - 1; n > 0; n--) {
    const other = random.between(0, n + 1);
    [list[n], list[other]] = [list[other] as Trouble, list[n] as Trouble];
  }
  return list;
}
