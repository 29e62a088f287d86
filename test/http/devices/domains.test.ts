// The domains in use (what a field for one offers), by what each caller may see; and lists of devices in the order in which
// people count.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { setLimits } from '../../support/limits.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const devices = [
    { as: 'owner', json: { id: 'plot-10', name: 'Plot 10', domain: 'plot 10', visibility: 'public' } },
    { as: 'owner', json: { id: 'plot-9', name: 'plot 9', domain: 'plot 9' } },
    { as: 'owner', json: { id: 'shared', name: 'Plot 009b', domain: 'wells' } },
    { as: 'owner', json: { id: 'twice', name: 'Plot 2', domain: 'wells' } },
    { as: 'owner', json: { id: 'none', name: 'Plot 99999999999999999999999' } },
    { as: 'owner', json: { id: 'long', name: 'Plot 100', domain: 'x'.repeat(257) } },
    { as: 'stranger', json: { id: 'theirs', domain: 'secret' } },
  ];
  for (const { as, json } of devices) await make(server, { as, call: 'POST /devices', json, expect: 204 });
  const share = { scopes: ['device:view'] };
  await make(server, { as: 'owner', call: 'PUT /devices/shared/shares/sharer', json: share, expect: 204 });
});
after(() => server.stop());

for (const [as, domains] of [
  ['guest', ['plot 10']],
  ['sharer', ['plot 10', 'wells']],
  ['owner', ['plot 9', 'plot 10', 'wells']],
  ['stranger', ['plot 10', 'secret']],
  ['admin', ['plot 9', 'plot 10', 'secret', 'wells']],
] as const) {
  test(`${as} is told the domains of the devices that they may see, each once, 9 before 10`, async () => {
    assert.deepEqual((await make(server, { as, call: 'GET /domains', expect: 200 })).body, domains);
  });
}

test('devices are listed with 9 before 10 where that is asked for, and letter by letter as before', async () => {
  const ids = async (order: string) =>
    (await make(server, { as: 'owner', call: `GET /devices?order=${order}`, expect: 200 })).body.map(
      ({ id }: { readonly id: string }) => id,
    );
  const natural = ['twice', 'plot-9', 'shared', 'plot-10', 'long', 'none'];
  assert.deepEqual(await ids('natural'), natural);
  assert.deepEqual(await ids('-natural'), natural.toReversed());
  assert.deepEqual(await ids('name'), ['shared', 'plot-10', 'long', 'twice', 'plot-9', 'none']);
  const page = await make(server, { as: 'owner', call: 'GET /devices?order=natural&limit=2&offset=1', expect: 200 });
  assert.deepEqual(
    page.body.map(({ id }: { readonly id: string }) => id),
    ['plot-9', 'shared'],
  );
  await make(server, { as: 'owner', call: 'GET /devices?order=unnatural', expect: 400 });
});

suite('where strangers have as many as are listed', () => {
  setLimits({ domainsListedMax: 3 });

  test('one’s own are listed all the same', async () => {
    for (const domain of ['!1', '!2', '!3', '!4']) {
      const json = { id: `crowd-${domain.slice(1)}`, domain, visibility: 'public', sensors: [] };
      await make(server, { as: 'stranger', call: 'POST /devices', json, expect: 204 });
    }
    const json = { id: 'crowded', domain: 'zebu', sensors: [] };
    await make(server, { as: 'sharer', call: 'POST /devices', json, expect: 204 });
    const { body } = await make(server, { as: 'sharer', call: 'GET /domains', expect: 200 });
    assert.equal(body.length, 3);
    assert.ok(body.includes('zebu'), body.join());
  });
});
