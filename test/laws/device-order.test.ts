// The order of the list of devices and the filter for devices that have not changed, compared with the records, while datapoints
// arrive and are sealed, sensors are added and removed, and the server restarts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../support/api/calls.ts';
import { SeededRandom } from '../support/dice.ts';
import { TestServer } from '../support/test-server.ts';

interface Listed {
  readonly id: string;
  readonly name?: string;
  readonly date_modified: string;
  readonly sensors?: readonly { readonly last_value?: { readonly date_received: string } }[];
}

const views = ['guest', 'owner', 'sharer', 'admin'];
const count = 8;

suite('the order of the list of devices', () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
    for (let n = 0; n < count; n++) {
      const visibility = n % 2 === 0 ? 'public' : 'private';
      await say('POST', '/devices', { id: `d${n}`, visibility, sensors: [{ id: 's' }, { id: 't' }] });
    }
    await say('PUT', '/devices/d1/shares/sharer', { scopes: ['device:view'] });
  });
  after(() => server.stop());

  /** What is asked need not be there any more; then nothing changes. */
  async function say(method: string, path: string, json?: unknown): Promise<void> {
    server.clock.advance(1_000);
    const { status } = await server.call('owner', method, path, json === undefined ? {} : { json });
    assert.ok(status < 300 || status === 404, `${method} ${path}: ${status}`);
  }

  const list = async (as: string, query: string): Promise<Listed[]> =>
    (await make(server, { as, call: `GET /devices?limit=1000&${query}`, expect: 200 })).body;

  const changedOf = ({ date_modified: modified }: Listed) => Date.parse(modified);
  /** When a datapoint of it was last received; those that were never heard come first. */
  const heardOf = ({ sensors = [] }: Listed) =>
    Math.max(0, ...sensors.map(({ last_value: last }) => (last === undefined ? 0 : Date.parse(last.date_received))));
  const nameOf = ({ id, name }: Listed) => (name ?? id).toLowerCase();

  /** What every list says of now, compared with the records in order of creation. */
  async function assertLists(where: string): Promise<void> {
    // Who may view a device but not its values sees it in the same place.
    const whole = new Map((await list('admin', '')).map((device) => [device.id, heardOf(device)]));
    for (const as of views) {
      const created = await list(as, 'order=created');
      const ids = (devices: readonly Listed[]) => devices.map(({ id }) => id);
      const heard = created.toSorted((a, b) => (whole.get(a.id) ?? 0) - (whole.get(b.id) ?? 0));
      assert.deepEqual(ids(await list(as, 'order=heard')), ids(heard), `${as}, ${where}`);
      assert.deepEqual(ids(await list(as, 'order=-heard')), ids(heard.toReversed()), `${as}, ${where}`);
      const named = created.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));
      assert.deepEqual(ids(await list(as, 'order=name')), ids(named), `${as}, ${where}`);
      const middle = heard[heard.length >> 1] as Listed;
      const unchanged = heard.filter((device) => changedOf(device) < changedOf(middle));
      const q = encodeURIComponent(`date_modified<${middle.date_modified}`);
      assert.deepEqual(ids(await list(as, `order=heard&q=${q}`)), ids(unchanged), `${as}, ${where}`);
      const publicOnes = ids(await list(as, 'order=name&q=visibility==public'));
      assert.deepEqual(publicOnes, ids(named.filter(({ id }) => Number(id.slice(1)) % 2 === 0)), `${as}, ${where}`);
    }
  }

  test('is that of the records, whatever happens between two questions', async () => {
    const random = new SeededRandom();
    const device = () => `/devices/d${random.between(0, count)}`;
    const push = (sensor: string) => say('POST', `${device()}/sensors/${sensor}/value`, { value: 1 });
    const acts: readonly (() => Promise<unknown>)[] = [
      () => push('s'),
      () => push('s'),
      () => push('t'),
      () => push('late'),
      () => server.running.engine.seal(),
      () => say('POST', `${device()}/sensors`, { id: 'late' }),
      () => say('DELETE', `${device()}/sensors/t`),
      () => say('PUT', `${device()}/name`, ['Zulu', 'alpha', 'Mike 10%', 'mike_1'][random.between(0, 4)]),
      () => server.restart(),
    ];
    await assertLists(`seed ${random.seed}`);
    for (let n = 0; n < 40; n++) {
      await acts[random.between(0, acts.length)]?.();
      if (random.oneIn(2)) await assertLists(`seed ${random.seed}, act ${n}`);
    }
  });
});
