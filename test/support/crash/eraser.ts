// A client that pushes an array to a sensor, removes most of it and corrects one value, repeatedly, so that a kill happens
// during a removal; afterwards it checks that each removal was made whole or not at all, and each correction too.
import assert from 'node:assert/strict';
import { call, readValues } from '../process.ts';

const count = 1_500;
/** Of the values, what goes: from the one to the other, inclusive. */
const [firstGone, lastGone] = [100, 1_399];
const startMs = Date.UTC(2026, 9, 1);
const all = Array.from({ length: count }, (_, n) => n);
const left = all.filter((n) => n < firstGone || n > lastGone);

type Told = 'none' | 'open' | 'done' | 'refused';

interface Erased {
  readonly sensor: string;
  push: Told;
  removal: Told;
  correction: Told;
}

export class Eraser {
  readonly #device: string;
  readonly #erased: Erased[] = [];

  constructor(device: string) {
    this.#device = device;
  }

  /** Goes on until the server does not answer any more. */
  async run(server: { readonly url: string }): Promise<void> {
    while (await this.#goRound(server));
  }

  async #goRound(server: { readonly url: string }): Promise<boolean> {
    const erased: Erased = {
      sensor: `erased-${this.#erased.length}`,
      push: 'none',
      removal: 'none',
      correction: 'none',
    };
    const sensors = `/api/v2/devices/${this.#device}/sensors`;
    const addition = await tell(
      () => call(server, sensors, { json: { id: erased.sensor } }),
      () => {},
    );
    if (addition !== 'done') return addition === 'refused';
    this.#erased.push(erased);
    const values = `${sensors}/${erased.sensor}/values`;
    const json = all.map((n) => ({ value: n, timestamp: timeOf(n) }));
    const push = await tell(
      () => call(server, values, { json }),
      (told) => (erased.push = told),
    );
    if (push !== 'done') return push === 'refused';
    const span = `dateFrom=${timeOf(firstGone)}&dateTo=${timeOf(lastGone)}`;
    const removal = await tell(
      () => call(server, `${values}?${span}`, { method: 'DELETE' }),
      (told) => (erased.removal = told),
    );
    if (removal === 'open') return false;
    const put = () => call(server, `${values}/${timeOf(0)}`, { method: 'PUT', json: { value: -1 } });
    return (await tell(put, (told) => (erased.correction = told))) !== 'open';
  }

  async verify(server: { readonly url: string }): Promise<void> {
    for (const { sensor, push, removal, correction } of this.#erased) {
      const values = await readValues(server, this.#device, sensor);
      if (push === 'open' && values.length === 0) continue;
      if (push === 'refused' || push === 'none') {
        assert.deepEqual(values, [], `${sensor}: nothing was stored`);
        continue;
      }
      assert.ok(values[0] === 0 ? correction !== 'done' : values[0] === -1, `${sensor} begins with ${values[0]}`);
      assert.ok(values[0] === 0 || correction !== 'refused', `${sensor}: the correction was refused, and is made`);
      const isWhole = values.length === count;
      if (removal === 'done') assert.ok(!isWhole, `${sensor}: what was removed is back`);
      if (removal !== 'done' && removal !== 'open') assert.ok(isWhole, `${sensor}: nothing was removed`);
      assert.deepEqual(values.slice(1), (isWhole ? all : left).slice(1), `${sensor}: a removal is whole or not begun`);
    }
  }
}

function timeOf(n: number): string {
  return new Date(startMs + n * 1000).toISOString();
}

/** Notes a call as open, and then what came of it: refused where the disk has no room, open where no answer came. */
async function tell(ask: () => Promise<Response>, note: (told: Told) => void): Promise<Told> {
  note('open');
  let told: Told = 'open';
  try {
    const { status } = await ask();
    assert.ok(status < 300 || status === 503 || status === 507, `${status}`);
    told = status < 300 ? 'done' : 'refused';
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  note(told);
  return told;
}
