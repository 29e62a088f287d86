// Two servers under load on a primary with a synchronous standby. The primary is killed, the standby takes its place, the address of the
// database leads to it, and another standby is made of it; again and again. A ledger of what clients were told says what must be
// there (nodes-crash.process.test.ts), and no server may end: what they did not hear from each other meanwhile is nobody's fault.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseLink } from '../support/crash/database-link.ts';
import { countWaiting, Firings } from '../support/crash/firings.ts';
import { FleetLoad, pushRuled, untilAllWork } from '../support/crash/fleet-load.ts';
import { SeededRandom } from '../support/dice.ts';
import { PostgresServer, withoutPostgres } from '../support/postgres.ts';
import { call, Dundun, makeDevice, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const servers = 2;
const failovers = isLong ? 50 : 3;
/** Each device has rules for so many failovers. */
const failoversEach = 10;
/** Sealing at once and all the time. */
const tight = { sealRowsMin: 500, sealRowsMax: 500, sealQuietRowsMin: 1, sealQuietMs: 50, chunkDatapointsWanted: 64 };
const patience = { msMax: 120_000, everyMs: 20 };

suite('several servers and a standby', { skip: withoutPostgres, timeout: isLong ? 3_600_000 : 600_000 }, () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let name: string;
  let load: FleetLoad | undefined;
  const links: DatabaseLink[] = [];
  const fleet: Dundun[] = [];

  const start = async (n: number): Promise<void> => {
    const settings = { DUNDUN_DATABASE_URL: links[n]?.url, DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' };
    const dundun = new Dundun(withLimits(tight, settings));
    await dundun.ready;
    fleet[n] = dundun;
  };
  const makeStandby = async () => {
    standby = await PostgresServer.startStandby(primary);
    await primary.waitForStandby(true);
    await primary.untilSynchronous();
  };

  before(async () => {
    primary = await PostgresServer.start({ isDurable: true });
    const url = await primary.createEmptyDatabase();
    name = new URL(url).pathname.slice(1);
    await makeStandby();
    for (let n = 0; n < servers; n++) links.push(await DatabaseLink.open(url));
    for (let n = 0; n < servers; n++) await start(n);
  });
  after(async () => {
    load?.end();
    await Promise.all(fleet.map((dundun) => dundun.stop('SIGKILL')));
    for (const link of links) link.close();
    for (const server of [primary, standby]) server?.remove();
  });

  /** Resolves when each server has acknowledged a datapoint. */
  const untilAllAcknowledge = async (): Promise<void> => {
    for (const dundun of fleet) {
      const path = '/api/v2/devices/acknowledged/sensors/a/value';
      await until(async () => (await call(dundun, path, { json: { value: 1 } })).status === 204, patience);
    }
  };

  /**
   * The standby takes the place of the primary. @param isStrict the new primary waits for a standby from the beginning, and so do
   * clients.
   * @returns milliseconds from the moment at which the new primary could be reached to that at which all is as before for clients.
   */
  const failOver = async (random: SeededRandom, { isStrict }: { readonly isStrict: boolean }): Promise<number> => {
    if (random.oneIn(2)) for (const link of links) link.cut({ isTold: random.oneIn(2) });
    const former = primary;
    await former.stopImmediately();
    for (const link of links) link.cut({ isTold: random.oneIn(2) });
    const lead = () => {
      for (const link of links) link.leadTo(standby.url(name));
    };
    // Servers may reach the standby while it is one, and refuses what they write.
    const isEarly = random.oneIn(2);
    if (isEarly) lead();
    await pause(random.oneIn(2) ? random.between(0, 500) : random.between(2_000, 6_000));
    await standby.waitForStandby(isStrict);
    await standby.promote();
    const startMs = performance.now();
    if (!isEarly) lead();
    primary = standby;
    former.remove();
    const standing = isStrict ? makeStandby() : undefined;
    await untilAllWork(fleet);
    await untilAllAcknowledge();
    const tookMs = Math.round(performance.now() - startMs);
    await (standing ?? makeStandby());
    return tookMs;
  };

  test(`lose nothing and double nothing in ${failovers} failovers`, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const waiting = async () => Number((await primary.query(primary.url(name), countWaiting))[0]?.['n']);
    const firings = new Firings(waiting);
    await firings.open(fleet[0] as Dundun);
    await makeDevice(fleet[0] as Dundun, 'acknowledged', ['a']);
    load = await FleetLoad.start(fleet);
    const recoveries: Record<string, number[]> = { strict: [], lenient: [] };
    for (let number = 0; number < failovers; number++) {
      const device = `d${Math.floor(number / failoversEach)}`;
      if (number % failoversEach === 0) {
        await makeDevice(fleet[0] as Dundun, device, ['ruled']);
        await firings.watch(fleet[0] as Dundun, device);
      }
      await pause(random.between(100, 1_500));
      const value = (servers + 1) * number;
      await pushRuled(fleet[number % servers] as Dundun, device, value);
      const ruled = fleet.map((dundun, n) => pushRuled(dundun, device, value + 1 + n));
      const isStrict = random.oneIn(2);
      recoveries[isStrict ? 'strict' : 'lenient']?.push(await failOver(random, { isStrict }));
      await Promise.all(ruled);
    }
    await load.finish();
    await load.verify();
    const fired = await firings.verify(fleet[0] as Dundun);
    for (const dundun of fleet) await dundun.stop();
    await start(0);
    await load.ledger.verify(fleet[0] as Dundun);
    assert.ok(load.ledger.count('stored') > 100 && fired > 0, `${load.counts}; ${fired} firings`);
    const again = `acknowledged again after ms: ${JSON.stringify(recoveries)}`;
    t.diagnostic(`${load.counts}; ${fired} firings; 0 lost, 0 doubled; ${again}`);
  });
});
