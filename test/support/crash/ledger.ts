// Records what clients sent and which answers they got, for comparison with what a server returns after a stop or
// kill. Every value is sent once, so a stored value identifies its push.
import assert from 'node:assert/strict';
import { readValues } from '../process.ts';

export interface Sent {
  readonly sensor: string;
  /** The first value; the others follow one by one. */
  readonly first: number;
  readonly count: number;
  /** Of all its values; the clock of the server where there is none. */
  readonly timestamp?: string;
  /** `open`: no answer came, so either is right; `refused`: the service said that nothing was stored. */
  told: 'open' | 'stored' | 'refused';
}

export class Ledger {
  readonly device: string;
  readonly #read: string;
  readonly #sent: Sent[] = [];
  readonly #starts = new Map<number, Sent>();
  #next = 1;

  /** `read`: parameters that ask for what is entered here, where others push to the same sensors. */
  constructor(device: string, { read = '' }: { readonly read?: string } = {}) {
    this.device = device;
    this.#read = read;
  }

  /** Enters a push that is about to be sent; the answer is entered in what this returns. */
  enter(sensor: string, count = 1, timestamp?: string): Sent {
    const sent: Sent = { sensor, first: this.#next, count, told: 'open', ...(timestamp && { timestamp }) };
    this.#next += count;
    this.#sent.push(sent);
    this.#starts.set(sent.first, sent);
    return sent;
  }

  pushesTo(sensor: string): Sent[] {
    return this.#sent.filter((sent) => sent.sensor === sensor);
  }

  count(told: Sent['told']): number {
    return this.#sent.filter((sent) => sent.told === told).length;
  }

  /**
   * Reads every sensor back: what was acknowledged is there once, an array is there whole and in order or not at all,
   * what was refused is not, and there is nothing that nobody sent (I1).
   * @returns how many pushes without an answer were stored.
   */
  async verify(server: { readonly url: string }): Promise<{ readonly openStored: number }> {
    const stored = new Set<Sent>();
    for (const sensor of new Set(this.#sent.map((sent) => sent.sensor))) {
      const values = (await readValues(server, this.device, sensor, this.#read)) as number[];
      for (const sent of this.#storedPushes(sensor, values)) {
        assert.ok(!stored.has(sent), `the push of ${sent.first} to ${sensor} is there twice`);
        stored.add(sent);
      }
    }
    let openStored = 0;
    for (const sent of this.#sent) {
      if (sent.told === 'stored') assert.ok(stored.has(sent), `${sent.first} to ${sent.sensor} is lost`);
      if (sent.told === 'refused') assert.ok(!stored.has(sent), `${sent.first} was refused, and is stored`);
      if (sent.told === 'open' && stored.has(sent)) openStored += 1;
    }
    return { openStored };
  }

  /** Values of equal times come in order of arrival, so those of one push stand together. */
  *#storedPushes(sensor: string, values: readonly number[]): Generator<Sent> {
    for (let i = 0; i < values.length; ) {
      const sent = this.#starts.get(values[i] as number);
      assert.ok(sent !== undefined, `${values[i]} at ${i} of ${sensor} begins no push; ${values.slice(i - 2, i + 3)}`);
      assert.equal(sent.sensor, sensor);
      for (let k = 0; k < sent.count; k++)
        assert.equal(values[i + k], sent.first + k, `${sent.first} is there in part`);
      yield sent;
      i += sent.count;
    }
  }
}
