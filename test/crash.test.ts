// Kills the server under load and reads everything back (I1): what was acknowledged is there exactly once, an array
// whole or not at all, nothing that nobody sent; and repeats after the kill store nothing twice.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { isIntact, query } from './support/database.ts';
import { Dice } from './support/dice.ts';
import { Ledger } from './support/ledger.ts';
import { Publisher } from './support/mqtt-publisher.ts';
import { call, Dundun, login, makeDevice, makeFolder, readValues, startDundun } from './support/process.ts';
import { push, startPusher } from './support/pushers.ts';
import { Remover } from './support/remover.ts';
import { readLoggedDatapoints, withDatabase } from './support/rows.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const kills = isLong ? 200 : 10;
const sensors = ['one', 'many', 'keyed', 'qos1', 'qos2'];

suite('a kill', { timeout: isLong ? 3 * 3_600_000 : 500_000 }, () => {
  test(`under load loses nothing that was acknowledged, ${kills} times`, async (t) => {
    const dice = new Dice();
    t.diagnostic(`DUNDUN_TEST_SEED=${dice.seed}`);
    const folder = join(makeFolder(), 'data');
    const rounds: Round[] = [];
    let dundun = await startDundun({ folder });
    for (let number = 0; number < kills; number++) {
      const round = new Round(`d${number}`, dice);
      rounds.push(round);
      await round.run(dundun, dice.between(30, 1500));
      assert.ok(isIntact(folder), `the database is broken after kill ${number}`);
      assertInOnePlace(folder);
      if (dice.oneIn(4)) await killWhileStarting(folder, dice);
      dundun = await startDundun({ folder });
      await round.settleAccounts(dundun);
      await round.verify(dundun);
    }
    t.diagnostic(`${rounds.reduce((sum, round) => sum + round.ledger.count('stored'), 0)} pushes were acknowledged`);
    // Once more all of it, after the log has settled as it goes at a stop and a start.
    await dundun.stop();
    dundun = await startDundun({ folder });
    for (const round of rounds) await round.verify(dundun);
    await dundun.stop();
    assertInOnePlace(folder);
  });

  test('while it starts for the first time leaves a folder that the next start completes', async (t) => {
    const dice = new Dice();
    t.diagnostic(`DUNDUN_TEST_SEED=${dice.seed}`);
    for (let i = 0; i < (isLong ? 50 : 3); i++) {
      const folder = join(makeFolder(), 'data');
      for (let k = 0; k < 3; k++) await killWhileStarting(folder, dice);
      const dundun = await startDundun({ folder });
      assert.equal(typeof (await login(dundun)), 'string');
      await dundun.stop('SIGKILL');
      assert.ok(isIntact(folder));
    }
  });
});

/** One device of its own, everybody who pushes to it until the kill, and what they know. */
class Round {
  readonly ledger: Ledger;
  readonly #dice: Dice;
  readonly #publishers: Publisher[];
  readonly #remover: Remover;

  constructor(device: string, dice: Dice) {
    this.ledger = new Ledger(device);
    this.#dice = dice;
    this.#remover = new Remover(device);
    this.#publishers = [1, 1, 2, 2].map((qos, i) => {
      const options = { ledger: this.ledger, clientId: `${device}-${i}`, window: 40 };
      return new Publisher({ ...options, qos: qos as 1 | 2, sensor: `qos${qos}` });
    });
  }

  /** Loads the server from all sides and kills it after a while. */
  async run(server: Dundun, killAfterMs: number): Promise<void> {
    await makeDevice(server, this.ledger.device, sensors);
    const { ledger } = this;
    // Small arrays leave room for single pushes; large ones make the log settle.
    const sizeMax = [20, 300, 3000][this.#dice.between(0, 3)] as number;
    const size = () => this.#dice.between(1, sizeMax + 1);
    const clients = [
      ...Array.from({ length: 6 }, () => startPusher({ server, ledger, sensor: 'one' }).done),
      ...Array.from({ length: 2 }, () => startPusher({ server, ledger, sensor: 'many', size }).done),
      ...Array.from({ length: 2 }, () => startPusher({ server, ledger, sensor: 'keyed', keyPrefix: 'k' }).done),
      this.#remover.run(server),
    ];
    // A kill may come before they are connected.
    const connecting = Promise.allSettled(this.#publishers.map((publisher) => publisher.connect(server.ports)));
    const done = Promise.all(clients);
    await new Promise((resolve) => setTimeout(resolve, killAfterMs));
    await server.stop('SIGKILL');
    await connecting;
    await done;
  }

  /** Everybody who has no answer asks again, as the protocols provide: all must be stored then, once. */
  async settleAccounts(server: Dundun): Promise<void> {
    for (const publisher of this.#publishers) {
      await publisher.connect(server.ports);
      await publisher.finish();
      publisher.end();
    }
    const keyed = this.ledger.pushesTo('keyed');
    const again = [...keyed.filter((sent) => sent.told === 'open'), ...keyed.slice(-5)];
    for (const sent of again) await push({ server, ledger: this.ledger, keyPrefix: 'k' }, sent);
    for (const sensor of ['keyed', 'qos1', 'qos2'])
      for (const sent of this.ledger.pushesTo(sensor)) assert.equal(sent.told, 'stored', `${sent.first} to ${sensor}`);
  }

  async verify(server: Dundun): Promise<void> {
    await this.ledger.verify(server);
    await this.#remover.verify(server);
    for (const sensor of sensors) {
      const { last_value: last } = (await (
        await call(server, `/api/v2/devices/${this.ledger.device}/sensors/${sensor}`)
      ).json()) as {
        last_value?: { value: number };
      };
      assert.equal(last?.value, (await readValues(server, this.ledger.device, sensor)).at(-1), `the last of ${sensor}`);
    }
  }
}

async function killWhileStarting(folder: string, dice: Dice): Promise<void> {
  const dundun = new Dundun({ folder });
  await new Promise((resolve) => setTimeout(resolve, dice.between(100, 1500)));
  await dundun.stop('SIGKILL');
}

/** A datapoint is in the log or settled, never both; those of a sensor that is gone are marked for purging or gone too. */
function assertInOnePlace(folder: string): void {
  withDatabase(folder, (database) => {
    const settled = database.prepare('SELECT 1 FROM datapoint WHERE sensor = ? AND at = ? AND seq = ?');
    const known = database.prepare(
      'SELECT 1 WHERE EXISTS (SELECT 1 FROM sensor WHERE key = ?1) OR EXISTS (SELECT 1 FROM purge WHERE sensor = ?1)',
    );
    for (const { sensor, at, seq } of readLoggedDatapoints(database)) {
      assert.equal(settled.get(sensor, at, seq), undefined, `datapoint ${seq} is in the log and settled`);
      assert.ok(known.get(sensor), `the log keeps datapoint ${seq} of a removed sensor`);
    }
  });
  for (const table of ['datapoint', 'latest']) {
    const orphans = query(
      folder,
      `SELECT sensor, count(*) AS count FROM ${table}
       WHERE sensor NOT IN (SELECT key FROM sensor) AND sensor NOT IN (SELECT sensor FROM purge) GROUP BY sensor`,
    );
    assert.deepEqual(orphans, [], `${table} keeps datapoints of removed sensors`);
  }
}
