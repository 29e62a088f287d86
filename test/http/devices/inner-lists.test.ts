// The lists inside a device: everything unless a limit is given, counted, with links to the pages (contract 1).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const numbers = Array.from({ length: 25 }, (_, n) => String(n).padStart(2, '0'));

before(async () => {
  server = await TestServer.start();
  const parts = numbers.map((id) => ({ id }));
  await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors: parts, actuators: parts } });
  await addUsers(server.folder, numbers, server.clock);
  for (const name of numbers) {
    await server.call(as, 'PUT', `/devices/d/shares/${name}`, { json: { scopes: ['device:view'] } });
  }
});
after(() => server.stop());

for (const [list, key] of [
  ['sensors', 'id'],
  ['actuators', 'id'],
  ['shares', 'username'],
] as const) {
  suite(`the list of ${list}`, () => {
    const get = async (query: string) => {
      const answer = await make(server, { as, call: `GET /devices/d/${list}${query}`, expect: 200 });
      assert.equal(answer.headers['x-total-count'], '25');
      const names: string[] = answer.body.map((entry: Record<string, string>) => entry[key]);
      return { names, link: String(answer.headers.link ?? '') };
    };

    test('is whole without a limit, and a page with one', async () => {
      assert.deepEqual(await get(''), { names: numbers, link: '' });
      assert.deepEqual((await get('?offset=20')).names, numbers.slice(20));
      assert.deepEqual((await get('?limit=10')).names, numbers.slice(0, 10));
      assert.deepEqual((await get('?limit=10&offset=20')).names, numbers.slice(20));
      assert.deepEqual((await get('?limit=1000')).names, numbers);
      assert.deepEqual((await get('?limit=5&offset=30')).names, []);
    });

    test('leads on and back', async () => {
      const path = `/api/v2/devices/d/${list}`;
      const next = `<${path}?limit=10&offset=20>; rel="next"`;
      const previous = `<${path}?limit=10&offset=0>; rel="prev"`;
      assert.equal((await get('?limit=10&offset=10')).link, `${next}, ${previous}`);
      assert.equal((await get('?limit=25')).link, '');
    });

    for (const query of ['limit=0', 'limit=-1', 'limit=x', 'offset=-1', 'offset=1.5', 'limit=1e999', 'offset=1e999']) {
      test(`with ${query} is 400`, async () => {
        await make(server, { as, call: `GET /devices/d/${list}?${query}`, expect: 400 });
      });
    }
  });
}

test('the list of drops is counted too', async () => {
  const { body, headers } = await make(server, { as, call: 'GET /devices/d/drops?limit=5', expect: 200 });
  assert.deepEqual([body, headers['x-total-count']], [[], '0']);
});
