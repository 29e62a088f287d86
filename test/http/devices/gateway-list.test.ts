// Lists of gateways over REST (contract 6): what each caller sees, pages, filters, and devices with `full=true`.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

suite('the list', () => {
  const list = async (query: string, as = 'owner') => {
    const answer = await make(server, { as, call: `GET /gateways${query}`, expect: 200 });
    return { ...answer, ids: answer.body.map(({ id }: { id: string }) => id) as string[] };
  };

  before(async () => {
    for (const [as, json] of [
      ['owner', { id: 'l1', name: 'One', location: { latitude: 5, longitude: 1 } }],
      ['stranger', { id: 'l2', name: 'Two' }],
      ['owner', { id: 'l3', visibility: 'public', location: { latitude: 50, longitude: 1 } }],
      ['guest', { id: 'l4' }],
    ] as const) {
      await make(server, { as, call: 'POST /gateways', json, expect: 200 });
      server.clock.advance(1000);
    }
  });

  test('has what one may view, in order of creation', async () => {
    for (const [as, ids] of [
      ['guest', 'l3 l4'],
      ['stranger', 'l2 l3 l4'],
      ['owner', 'l1 l3 l4'],
      ['admin', 'l1 l2 l3 l4'],
    ] as const) {
      const answer = await list('', as);
      assert.equal(answer.ids.join(' '), ids, as);
      assert.equal(answer.headers['x-total-count'], String(answer.ids.length));
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    }
  });

  test('comes in pages', async () => {
    const page = await list('?limit=2&offset=1', 'admin');
    assert.deepEqual(page.ids, ['l2', 'l3']);
    assert.equal(page.headers['x-total-count'], '4');
    assert.match(page.headers.link as string, /limit=2&offset=3>; rel="next", <.*limit=2&offset=0>; rel="prev"/);
    for (const offset of ['9', '1e18']) assert.deepEqual((await list(`?offset=${offset}`, 'admin')).ids, []);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'offset=-1', 'full=maybe'])
      await make(server, { as: 'admin', call: `GET /gateways?${query}`, expect: 400 });
  });

  test('is filtered by any stored field', async () => {
    await make(server, { as: 'admin', call: 'PUT /gateways/l2/health', expect: 204 });
    const seen = new Date(server.clock.now()).toISOString();
    server.clock.advance(1000);
    await make(server, { as: 'admin', call: 'PUT /gateways/l2/health', expect: 204 });
    for (const [q, ids] of [
      ['owner==owner', 'l1 l3'],
      ['owner!=owner', 'l2 l4'],
      ['name==One,Two', 'l1 l2'],
      ['name!=One', 'l2 l3 l4'],
      ['visibility==public;owner==guest', 'l4'],
      ['location.latitude>10', 'l3'],
      ['id>=l3', 'l3 l4'],
      ['date_created<=2026-01-15', ''],
      ['date_created<=soon', 'error'],
      [`last_seen>${seen}`, 'l2'],
      [`last_seen<=${seen}`, ''],
      [`last_seen!=${seen}`, 'l1 l2 l3 l4'],
      ['nothing==1', 'error'],
      ['connected==true', 'error'],
      ['owner=owner', 'error'],
    ] as const) {
      // Not held against the rows: what is in memory of last_seen is written before it is searched.
      const { status, body } = await server.call('admin', 'GET', `/gateways?q=${encodeURIComponent(q)}`);
      assert.equal(status, ids === 'error' ? 400 : 200, q);
      if (ids !== 'error') assert.equal(body.map(({ id }: { id: string }) => id).join(' '), ids, q);
    }
  });

  test('with full=true has the devices of each gateway that one may view', async () => {
    for (const [as, json] of [
      ['owner', { id: 'd1', gateway_id: 'l3', sensors: [{ id: 's' }] }],
      ['stranger', { id: 'd2', gateway_id: 'l3' }],
      ['guest', { id: 'd3', gateway_id: 'l4' }],
      ['owner', { id: 'd4', gateway_id: 'elsewhere' }],
    ] as const) {
      await make(server, { as, call: 'POST /devices', json, expect: 204 });
    }
    await server.call('owner', 'POST', '/devices/d1/sensors/s/value', { json: { value: 7 } });
    const { body } = await list('?full=true');
    assert.deepEqual(
      body.map(({ id, devices }: { id: string; devices: { id: string }[] }) => [id, devices.map((one) => one.id)]),
      [
        ['l1', []],
        ['l3', ['d1']],
        ['l4', ['d3']],
      ],
    );
    assert.deepEqual(body[1].devices[0], (await server.call('owner', 'GET', '/devices/d1')).body);
    assert.deepEqual((await server.call('owner', 'GET', '/gateways/l3?full=true')).body, body[1]);
    assert.equal((await list('?full=false')).body[1].devices, undefined);
    const { body: strangers } = await list('?full=true&q=id==l3', 'stranger');
    assert.deepEqual([strangers[0].devices.length, strangers[0].devices[0].id], [1, 'd2']);
  });

  test('shows the hundreds of devices of one gateway', async () => {
    for (let n = 0; n < 230; n++) {
      await server.call('owner', 'POST', '/devices', { json: { id: `many-${n}`, gateway_id: 'l1' } });
    }
    const { body } = await server.call('owner', 'GET', '/gateways/l1?full=true');
    assert.deepEqual(
      body.devices.map(({ id }: { id: string }) => id),
      Array.from({ length: 230 }, (_, n) => `many-${n}`),
    );
  });
});
