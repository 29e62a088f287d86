// One kill of a crash test: a device of its own, everybody who pushes to it until the kill, and what they know; afterwards it
// compares that with what the next server has.
import assert from 'node:assert/strict';
import { limits } from '../../../src/config/limits.ts';
import { Aging } from '../aging.ts';
import type { SeededRandom } from '../dice.ts';
import { Publisher } from '../mqtt/mqtt-publisher.ts';
import { call, type Dundun, makeDevice, readValues } from '../process.ts';
import { until, within } from '../until.ts';
import { Eraser } from './eraser.ts';
import type { Firings } from './firings.ts';
import { Ledger } from './ledger.ts';
import { push, startPusher } from './pushers.ts';
import { Remover } from './remover.ts';

const sensors = ['one', 'many', 'stamped', 'keyed', 'qos1', 'qos2'];
/** Few, so that many datapoints have the same, and most come late. */
const timestamps = ['2026-11-01T00:00:00Z', '2026-11-01T00:00:00.001Z', '2026-11-02T12:00:00Z', '2031-01-01T00:00:00Z'];
/** A full disk takes no datapoints. */
const refusals = [507];
/** How soon work goes on where there is room again. */
const recoveryMsMax = 30_000;

export interface CrashRoundOptions {
  readonly random: SeededRandom;
  readonly firings: Firings;
  /** Whether the clock of the server goes on steadily, so that what comes later is later. */
  readonly isInOrder: boolean;
}

export class CrashRound {
  readonly ledger: Ledger;
  readonly #random: SeededRandom;
  readonly #firings: Firings;
  readonly #isInOrder: boolean;
  readonly #publishers: Publisher[];
  readonly #remover: Remover;
  readonly #aging: Aging;
  readonly #eraser: Eraser;

  constructor(device: string, options: CrashRoundOptions) {
    const { random } = options;
    this.ledger = new Ledger(device);
    this.#random = random;
    this.#firings = options.firings;
    this.#isInOrder = options.isInOrder;
    this.#remover = new Remover(device);
    this.#aging = new Aging(device, random);
    this.#eraser = new Eraser(device);
    this.#publishers = [1, 1, 2, 2].map((qos, i) => {
      const options = { ledger: this.ledger, clientId: `${device}-${i}`, window: 40 };
      return new Publisher({ ...options, qos: qos as 1 | 2, sensor: `qos${qos}` });
    });
  }

  /** Loads the server from all sides until it is killed. */
  async run(server: Dundun, kill: () => Promise<void>): Promise<void> {
    const { ledger } = this;
    await makeDevice(server, ledger.device, [...sensors, 'ruled']);
    await this.#firings.watch(server, ledger.device);
    // Small arrays leave room for single pushes; large ones make the log be sealed.
    const sizeMax = [20, 300, 3000, limits.pushDatapointsMax][this.#random.between(0, 4)] as number;
    const size = () => (this.#random.oneIn(4) ? sizeMax : this.#random.between(1, sizeMax + 1));
    const timestamp = () => timestamps[this.#random.between(0, timestamps.length)] as string;
    const common = { server, ledger, refusals };
    const clients = [
      ...Array.from({ length: 6 }, () => startPusher({ ...common, sensor: 'one' }).done),
      ...Array.from({ length: 2 }, () => startPusher({ ...common, sensor: 'many', size }).done),
      startPusher({ ...common, sensor: 'stamped', size: () => this.#random.between(1, 301), timestamp }).done,
      ...Array.from({ length: 2 }, () => startPusher({ ...common, sensor: 'keyed', keyPrefix: 'k' }).done),
      this.#remover.run(server),
      this.#aging.run(server),
      this.#eraser.run(server),
      this.#firings.push(server, ledger.device),
    ];
    // A kill may come before they are connected.
    const connecting = Promise.allSettled(this.#publishers.map((publisher) => publisher.connect(server.ports)));
    const done = Promise.all(clients);
    await kill();
    await connecting;
    await done;
  }

  /** Everybody who has no answer asks again, as the protocols provide: all must be stored then, once. */
  async settleAccounts(server: Dundun): Promise<void> {
    for (const publisher of this.#publishers) {
      // A disk that was full until now may have no room for a session at the first try.
      await until(() => publisher.tryToConnect(server.ports), { everyMs: 100, msMax: recoveryMsMax });
      const otherwise = () =>
        `${publisher.underWay} messages have no answer; cut: ${publisher.isClosed}. ${server.stderr}`;
      await within(publisher.finish(), 2 * recoveryMsMax, otherwise);
      publisher.end();
    }
    const keyed = this.ledger.pushesTo('keyed');
    const again = [...keyed.filter((sent) => sent.told === 'open'), ...keyed.slice(-5)];
    for (const sent of again) await push({ server, ledger: this.ledger, keyPrefix: 'k' }, sent);
    for (const sensor of ['qos1', 'qos2'])
      for (const sent of this.ledger.pushesTo(sensor)) assert.equal(sent.told, 'stored', `${sent.first} to ${sensor}`);
    for (const sent of again) assert.equal(sent.told, 'stored', `${sent.first} to keyed`);
  }

  /** Retention removes all that is too old, in rounds that come by themselves. */
  async untilOldIsGone(server: Dundun): Promise<void> {
    await until(async () => (await this.#aging.countOld(server)) === 0, { everyMs: 50 });
  }

  async verify(server: Dundun): Promise<void> {
    await this.ledger.verify(server);
    await this.#remover.verify(server);
    await this.#aging.verify(server);
    await this.#eraser.verify(server);
    for (const sensor of sensors.filter((sensor) => sensor !== 'stamped')) {
      const answer = await call(server, `/api/v2/devices/${this.ledger.device}/sensors/${sensor}`);
      const { last_value: last } = (await answer.json()) as { last_value?: { value: number } };
      const values = (await readValues(server, this.ledger.device, sensor)) as number[];
      // Where a clock was put right, the last one to come has an earlier time than others.
      if (this.#isInOrder) assert.equal(last?.value, values.at(-1), `the last of ${sensor}`);
      else assert.ok(values.length === 0 || values.includes(last?.value as number), `the last of ${sensor}`);
    }
  }
}
