// A sensor with a retention of one day, and a client that pushes new and very old datapoints to it, so that a kill
// happens during retention; afterwards it checks that all new ones are there, and that no old one is there twice.
import assert from 'node:assert/strict';
import { Ledger } from './crash/ledger.ts';
import { push } from './crash/pushers.ts';
import type { SeededRandom } from './dice.ts';
import { call, readValues } from './process.ts';

const sensor = 'aging';
const border = '2024-01-01T00:00:00Z';
const oldTimes = ['2019-12-31T23:59:59.999Z', '2020-01-01T00:00:00Z', '2021-06-01T00:00:00Z'];

export class Aging {
  readonly #device: string;
  readonly #random: SeededRandom;
  readonly #new: Ledger;
  readonly #old: Ledger;

  constructor(device: string, random: SeededRandom) {
    this.#device = device;
    this.#random = random;
    this.#new = new Ledger(device, { read: `dateFrom=${border}` });
    this.#old = new Ledger(device, { read: `dateTo=${border}` });
  }

  /** Goes on until the server does not answer any more. */
  async run(server: { readonly url: string }): Promise<void> {
    try {
      await call(server, `/api/v2/devices/${this.#device}/sensors`, { json: { id: sensor, retention_days: 1 } });
    } catch (error) {
      if (error instanceof TypeError) return;
      throw error;
    }
    for (;;) {
      const fresh = this.#new.enter(sensor, this.#random.between(1, 101));
      const time = oldTimes[this.#random.between(0, oldTimes.length)] as string;
      const old = this.#old.enter(sensor, this.#random.between(1, 301), time);
      await push({ server, ledger: this.#new }, fresh, [404, 507]);
      await push({ server, ledger: this.#old }, old, [404, 507]);
      if (old.told === 'open') return;
    }
  }

  async verify(server: { readonly url: string }): Promise<void> {
    const { status } = await call(server, `/api/v2/devices/${this.#device}/sensors/${sensor}`);
    // The kill may have come before it was made.
    if (status === 404 && this.#new.count('stored') === 0) return;
    await this.#new.verify(server);
    const left = (await this.#readOld(server)) as number[];
    assert.equal(new Set(left).size, left.length, 'something old is there twice');
    for (const sent of this.#old.pushesTo(sensor).filter(({ told }) => told === 'refused'))
      assert.ok(!left.includes(sent.first), `${sent.first} was refused, and is stored`);
  }

  /** How much of what is too old is still there. */
  async countOld(server: { readonly url: string }): Promise<number> {
    const { status } = await call(server, `/api/v2/devices/${this.#device}/sensors/${sensor}`);
    return status === 404 ? 0 : (await this.#readOld(server)).length;
  }

  #readOld(server: { readonly url: string }): Promise<unknown[]> {
    return readValues(server, this.#device, sensor, `dateTo=${border}`);
  }
}
