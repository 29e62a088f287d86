// Handing devices over (contract 3): what ends with a change of owner, and what the new owner can restore.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const dayMs = 24 * 3_600_000;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['leaving', 'heir', 'second'], server.clock);
});
after(() => server.stop());

const view = { scopes: ['device:view'] };
const received = async (as: string) => (await make(server, { as, call: 'GET /users/me/received', expect: 200 })).body;

/** A private device of owner's that is shared with sharer and with the user who gets it, and handed to stranger. */
async function handOver(id: string, to = 'stranger'): Promise<void> {
  await makeAll(server, [
    { as: 'owner', call: 'POST /devices', json: { id, name: `Device ${id}` }, expect: 204 },
    { as: 'owner', call: `PUT /devices/${id}/shares/sharer`, json: view, expect: 204 },
    { as: 'owner', call: `PUT /devices/${id}/shares/${to}`, json: view, expect: 204 },
    { as: 'owner', call: `PUT /devices/${id}/owner`, text: to, expect: 204 },
  ]);
}

const reads = (id: string, as: string, expect: number) => make(server, { as, call: `GET /devices/${id}`, expect });

suite('a device that is handed over', () => {
  test('is the new owner’s at once, and shares that others gave have ended', async () => {
    await handOver('d1');
    await reads('d1', 'stranger', 200);
    await reads('d1', 'sharer', 403);
    await reads('d1', 'owner', 403);
    const { body } = await make(server, { as: 'stranger', call: 'GET /devices/d1/shares', expect: 200 });
    assert.deepEqual(body, []);
  });

  test('keeps the shares that the new owner gave', async () => {
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json: { id: 'd2' }, expect: 204 },
      { as: 'owner', call: 'PUT /devices/d2/shares/stranger', json: view, expect: 204 },
      { as: 'admin', call: 'PUT /devices/d2/shares/sharer', json: view, expect: 204 },
      { as: 'owner', call: 'PUT /devices/d2/owner', text: 'admin', expect: 204 },
    ]);
    await reads('d2', 'sharer', 200);
    await reads('d2', 'stranger', 403);
  });

  test('is named no more by keys of the old owner, and again when it is given back', async () => {
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json: { id: 'd3', visibility: 'public' }, expect: 204 },
      { as: 'owner', call: 'POST /devices', json: { id: 'd3-other' }, expect: 204 },
    ]);
    const key = async (devices: string[]) => {
      const json = { name: 'k', devices };
      return (await make(server, { as: 'owner', call: 'POST /auth/keys', json, expect: 200 })).body;
    };
    const [both, only] = [await key(['d3', 'd3-other']), await key(['d3'])];
    const by = (made: { key: string }, device: string, expect: number) =>
      make(server, { call: `GET /devices/${device}`, headers: { authorization: `Bearer ${made.key}` }, expect });
    await by(both, 'd3', 200);
    await make(server, { as: 'owner', call: 'PUT /devices/d3/owner', text: 'stranger', expect: 204 });
    await by(both, 'd3', 403);
    await by(both, 'd3-other', 200);
    await by(only, 'd3', 403);
    await by(only, 'd3-other', 403);
    const listed = await make(server, { as: 'owner', call: 'GET /auth/keys', expect: 200 });
    const devicesOf = (id: string) => listed.body.find((one: { id: string }) => one.id === id).devices;
    assert.deepEqual([devicesOf(both.id), devicesOf(only.id)], [['d3-other'], []]);
    await make(server, { as: 'stranger', call: 'DELETE /users/me/received/d3', expect: 204 });
    await by(both, 'd3', 200);
    await by(only, 'd3', 200);
  });

  test('is listed for who got it, with who gave it and what was shared, and for nobody else', async () => {
    await handOver('d4', 'second');
    const [entry, ...rest] = await received('second');
    assert.deepEqual(rest, []);
    assert.deepEqual([entry.device, entry.name, entry.from], ['d4', 'Device d4', 'owner']);
    assert.deepEqual(entry.shares.map(({ username }: { username: string }) => username).sort(), ['second', 'sharer']);
    assert.equal(Date.parse(entry.expires) - Date.parse(entry.date_received), limits.handoverDays * dayMs);
    assert.deepEqual(await received('sharer'), []);
    const key = (await make(server, { as: 'second', call: 'POST /auth/keys', json: { name: 'k' }, expect: 200 })).body
      .key;
    const headers = { authorization: `Bearer ${key}` };
    await makeAll(server, [
      { call: 'GET /users/me/received', expect: 403 },
      { call: 'GET /users/me/received', headers, expect: 403 },
    ]);
    const others = [
      ['guest', 403],
      ['owner', 404],
      ['sharer', 404],
      ['admin', 404],
      ['stranger', 404],
    ] as const;
    for (const [as, expect] of others) {
      await makeAll(server, [
        { as, call: 'PUT /users/me/received/d4', json: { shares: 'keep' }, expect },
        { as, call: 'DELETE /users/me/received/d4', expect },
        { as, call: 'DELETE /users/me/received/nothing', expect },
      ]);
    }
    await makeAll(server, [
      { call: 'PUT /users/me/received/d4', json: { shares: 'keep' }, headers, expect: 403 },
      { call: 'DELETE /users/me/received/d4', headers, expect: 403 },
      { as: 'second', call: 'PUT /users/me/received/d4', json: { shares: 'end' }, expect: 400 },
      { as: 'second', call: 'PUT /users/me/received/d4', json: {}, expect: 400 },
    ]);
  });

  test('is shared again as it was where the new owner wants that', async () => {
    await handOver('d5');
    await make(server, { as: 'stranger', call: 'PUT /users/me/received/d5', json: { shares: 'keep' }, expect: 204 });
    await reads('d5', 'sharer', 200);
    await reads('d5', 'owner', 403);
    const { body } = await make(server, { as: 'stranger', call: 'GET /devices/d5/shares', expect: 200 });
    assert.deepEqual(body, [{ username: 'sharer', scopes: ['device:view'] }]);
    assert.equal(
      (await received('stranger')).some(({ device }: { device: string }) => device === 'd5'),
      false,
    );
    await make(server, { as: 'stranger', call: 'DELETE /users/me/received/d5', expect: 404 });
  });

  test('is given back as it was: old owner, old shares, none given since', async () => {
    await handOver('d6');
    await makeAll(server, [
      { as: 'stranger', call: 'PUT /devices/d6/shares/second', json: view, expect: 204 },
      { as: 'stranger', call: 'DELETE /users/me/received/d6', expect: 204 },
    ]);
    const { body } = await make(server, { as: 'owner', call: 'GET /devices/d6/shares', expect: 200 });
    assert.deepEqual(
      body.map(({ username }: { username: string }) => username),
      ['sharer', 'stranger'],
    );
    await reads('d6', 'second', 403);
    await reads('d6', 'stranger', 200);
    await make(server, { as: 'stranger', call: 'PUT /devices/d6/name', text: 'x', expect: 403 });
    await make(server, { as: 'stranger', call: 'DELETE /users/me/received/d6', expect: 404 });
  });

  test('can be given back for 30 days, and only by who owns it now', async () => {
    await handOver('d7');
    await handOver('d8');
    await makeAll(server, [
      { as: 'stranger', call: 'PUT /devices/d8/owner', text: 'second', expect: 204 },
      { as: 'stranger', call: 'DELETE /users/me/received/d8', expect: 404 },
    ]);
    const passedOn = (await received('second')).find(({ device }: { device: string }) => device === 'd8');
    assert.equal(passedOn.from, 'stranger');
    server.clock.advance(limits.handoverDays * dayMs);
    await make(server, { as: 'stranger', call: 'GET /users/me/received', expect: 200 });
    server.clock.advance(1);
    assert.deepEqual(await received('stranger'), []);
    await make(server, { as: 'stranger', call: 'DELETE /users/me/received/d7', expect: 404 });
    await reads('d7', 'stranger', 200);
  });

  test('and deleted leaves nothing behind, also under its id made anew', async () => {
    await handOver('d9');
    await makeAll(server, [
      { as: 'stranger', call: 'DELETE /devices/d9', expect: 204 },
      { as: 'stranger', call: 'POST /devices', json: { id: 'd9' }, expect: 204 },
      { as: 'stranger', call: 'DELETE /users/me/received/d9', expect: 404 },
    ]);
  });
});

test('who inherits devices of a user who is removed may bring the shares back, and cannot give them back', async () => {
  const { body } = await server.call('admin', 'GET', '/users?username=leaving');
  await makeAll(server, [
    { as: 'leaving', call: 'POST /devices', json: { id: 'left' }, expect: 204 },
    { as: 'leaving', call: 'PUT /devices/left/shares/sharer', json: view, expect: 204 },
    { as: 'admin', call: `DELETE /users/${body[0].id}?devices=transfer&to=heir`, expect: 204 },
  ]);
  await reads('left', 'sharer', 403);
  const [entry] = await received('heir');
  assert.deepEqual([entry.device, entry.from], ['left', undefined]);
  await makeAll(server, [
    { as: 'heir', call: 'DELETE /users/me/received/left', expect: 422 },
    { as: 'heir', call: 'PUT /users/me/received/left', json: { shares: 'keep' }, expect: 204 },
  ]);
  await reads('left', 'sharer', 200);
  // And with nothing left over, they can be removed in their turn.
  const heir = await server.call('admin', 'GET', '/users?username=heir');
  await make(server, { as: 'admin', call: `DELETE /users/${heir.body[0].id}?devices=delete`, expect: 204 });
});
