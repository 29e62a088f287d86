// A client that adds a sensor, pushes arrays to it and removes it again, repeatedly, so that a kill happens during
// sealing and purging; afterwards it checks that removed sensors are gone and the others complete.
import assert from 'node:assert/strict';
import { call, readValues } from '../process.ts';
import { Ledger } from './ledger.ts';
import { push } from './pushers.ts';

interface Doomed {
  readonly sensor: string;
  ledger: Ledger;
  added: boolean;
  removal: 'none' | 'open' | 'done';
}

export class Remover {
  readonly #device: string;
  readonly #doomed: Doomed[] = [];

  constructor(device: string) {
    this.#device = device;
  }

  /** Goes on until the server does not answer any more. */
  async run(server: { readonly url: string }): Promise<void> {
    while (await this.#goRound(server));
  }

  async #goRound(server: { readonly url: string }): Promise<boolean> {
    const sensor = `doomed-${this.#doomed.length}`;
    const doomed: Doomed = { sensor, ledger: new Ledger(this.#device), added: false, removal: 'none' };
    this.#doomed.push(doomed);
    const sensors = `/api/v2/devices/${this.#device}/sensors`;
    const addition = await answerOf(call(server, sensors, { json: { id: sensor } }));
    if (addition === undefined) return false;
    // A disk without room takes no new sensor, but gives every removal.
    if (addition.status === 507) return true;
    assert.equal(addition.status, 204, addition.text);
    doomed.added = true;
    // The last two pushes are still on their way when the removal is asked for.
    const pushes = Array.from({ length: 6 }, () =>
      push({ server, ledger: doomed.ledger }, doomed.ledger.enter(sensor, 1500), [404, 507]),
    );
    await Promise.all(pushes.slice(0, 4));
    doomed.removal = 'open';
    const removal = await answerOf(call(server, `${sensors}/${sensor}`, { method: 'DELETE' }));
    if (removal === undefined) return false;
    assert.equal(removal.status, 204, removal.text);
    doomed.removal = 'done';
    await Promise.all(pushes);
    return true;
  }

  async verify(server: { readonly url: string }): Promise<void> {
    for (const doomed of this.#doomed) {
      const { sensor, ledger, added, removal } = doomed;
      const path = `/api/v2/devices/${this.#device}/sensors/${sensor}`;
      const { status } = await call(server, path);
      if (removal === 'done') {
        assert.equal(status, 404, `${sensor} was removed`);
        await call(server, `/api/v2/devices/${this.#device}/sensors`, { json: { id: sensor } });
        assert.deepEqual(await readValues(server, this.#device, sensor), [], `${sensor} begins anew`);
        Object.assign(doomed, { ledger: new Ledger(this.#device), removal: 'none' });
      } else if (status === 200) await ledger.verify(server);
      else assert.ok(removal === 'open' || !added, `${sensor} is gone, and nobody removed it`);
    }
  }
}

/** Undefined where no answer came: the server was stopped or killed. */
async function answerOf(
  answer: Promise<Response>,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const whole = await answer;
    return { status: whole.status, text: await whole.text() };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
