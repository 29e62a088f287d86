// Removing one's own account (contract 2): with the password alone, what becomes of what one owns, and what ends.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
let self = '';
let heir = '';
let id = '';
let users = 0;
before(async () => {
  server = await TestServer.start({ DUNDUN_QUOTAS: 'devices=3,gateways=2,projects=2' });
});
after(() => server.stop());
beforeEach(async () => {
  users += 1;
  [self, heir] = [`self-${users}`, `heir-${users}`];
  await addUsers(server.folder, [self, heir], server.clock);
  id = (await server.call(self, 'GET', '/users/me')).body.id;
});

const device = (as: string, name: string) => server.call(as, 'POST', '/devices', { json: { id: name } });
const remove = (json: object): Omit<Call, 'expect'> => ({ as: self, call: `POST /users/${id}/removal`, json });
const login = async () =>
  (await server.send('POST', '/api/v2/auth/token', { json: { username: self, password } })).status;

suite('the account of oneself', () => {
  test('is removed with the password, by nobody else', async () => {
    const call = `POST /users/${id}/removal`;
    const json = { current: password };
    const { body: key } = await server.call(self, 'POST', '/auth/keys', { json: { name: 'k' } });
    const byKey = await server.send('POST', `/api/v2/users/${id}/removal`, { json, headers: { authorization: `Bearer ${key.key}` } }); // biome-ignore format: one line
    assert.equal(byKey.status, 403);
    await makeAll(server, [
      ...['guest', 'stranger', 'admin'].map((as) => ({ as, call, json, expect: 403 })),
      { as: self, call, json: {}, expect: 400 },
      { as: self, call, json: { current: null }, expect: 400 },
      { as: self, call, json: { current: 'wrong' }, expect: 403 },
      { as: self, call, json: { current: password, devices: 'keep' }, expect: 400 },
      { as: self, call, json: { current: password, to: heir }, expect: 400 },
      { as: self, call: `DELETE /users/${id}`, expect: 403 },
      { as: self, call, json, expect: 204 },
    ]);
    assert.equal(await login(), 401);
  });

  test('goes with its tokens, keys, MQTT connections, rules, messages and shares', async () => {
    await device('owner', `of-owner-${users}`);
    await server.call('owner', 'PUT', `/devices/of-owner-${users}/shares/${self}`, {
      json: { scopes: ['device:view'] },
    });
    const token = await server.token(self);
    const { body: key } = await server.call(self, 'POST', '/auth/keys', { json: { name: 'k' } });
    await server.call(self, 'POST', '/socials', { json: { username: self, channel: 'none', message: 'hello' } });
    const connections = await Promise.all([
      Client.connect(server, self),
      Client.connect(server, self, { password: key.key }),
    ]);
    await make(server, { ...remove({ current: password }), expect: 204 });
    await Promise.all(connections.map(({ closed }) => closed));
    for (const authorization of [`Bearer ${token}`, `Bearer ${key.key}`])
      assert.equal((await server.send('GET', '/api/v2/devices', { headers: { authorization } })).status, 401);
    const { body: shares } = await server.call('owner', 'GET', `/devices/of-owner-${users}/shares`);
    assert.deepEqual(shares, []);
    assert.ok(!JSON.stringify((await server.call('admin', 'GET', '/socials')).body).includes(self));
    await server.call('owner', 'DELETE', `/devices/of-owner-${users}`);
  });

  test('is not removed while it owns devices or gateways, unless it is said what becomes of them', async () => {
    await device(self, `kept-${users}`);
    const { body } = await make(server, { ...remove({ current: password }), expect: 422 });
    assert.match(body.detail, new RegExp(`kept-${users}`));
    await make(server, { ...remove({ current: password, devices: 'delete' }), expect: 204 });
    await make(server, { as: 'admin', call: `GET /devices/kept-${users}`, expect: 404 });
  });

  test('hands over devices and gateways as any owner does, and takes its projects along', async () => {
    await device(self, `d-${users}`);
    await server.call(self, 'POST', '/gateways', { json: { id: `g-${users}` } });
    await server.call(self, 'POST', '/projects', { json: { name: 'p' } });
    for (const to of [self, 'guest']) {
      await make(server, { ...remove({ current: password, devices: 'transfer', to }), expect: 422 });
    }
    await make(server, { ...remove({ current: password, devices: 'transfer', to: 'nobody' }), expect: 404 });
    await make(server, { ...remove({ current: password, devices: 'transfer' }), expect: 400 });
    await make(server, { ...remove({ current: password, devices: 'transfer', to: heir }), expect: 204 });
    for (const path of [`/devices/d-${users}`, `/gateways/g-${users}`])
      assert.equal((await server.call(heir, 'GET', path)).body.owner, heir, path);
    assert.deepEqual((await server.call(heir, 'GET', '/projects')).body, []);
    assert.equal((await server.call(heir, 'GET', '/users/me/received')).body.length, 1);
  });

  test('hands over no more than the receiver may have, and then stays with what is left', async () => {
    for (const name of ['a', 'b', 'c']) await device(heir, `${name}-${heir}`);
    await device(self, `over-${users}`);
    const answer = await server.call(self, 'POST', `/users/${id}/removal`, { json: { current: password, devices: 'transfer', to: heir } }); // biome-ignore format: one line
    assert.deepEqual([answer.status, answer.body.type], [403, 'urn:dundun:problem:quota']);
    assert.equal(await login(), 200);
    assert.equal((await server.call(self, 'GET', `/devices/over-${users}`)).body.owner, self);
  });

  test('of the last admin stays, whichever two go at the same time', async () => {
    const { body: admin } = await server.call('admin', 'GET', '/users/me');
    const call = `POST /users/${admin.id}/removal`;
    await make(server, { as: 'admin', call, json: { current: password }, expect: 422 });
    await addUsers(server.folder, [`admin-${users}`], server.clock);
    const { body: other } = await server.call(`admin-${users}`, 'GET', '/users/me');
    const answers = await Promise.all([
      server.call('admin', 'POST', `/users/${admin.id}/removal`, { json: { current: password } }),
      server.call(`admin-${users}`, 'POST', `/users/${other.id}/removal`, { json: { current: password } }),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 422]);
  });

  test('is asked for its password so often, and then slowed down', async () => {
    const answers: number[] = [];
    for (let tried = 0; tried < 12; tried++)
      answers.push((await server.call(self, 'POST', `/users/${id}/removal`, { json: { current: 'wrong' } })).status);
    assert.equal(answers[0], 403);
    assert.equal(answers.at(-1), 429);
  });
});

test('a removal that hands over much lets others change their accounts meanwhile', async () => {
  const large = await TestServer.start();
  try {
    await addUsers(large.folder, [self, heir], large.clock);
    const own = (await large.call(self, 'GET', '/users/me')).body.id;
    const other = (await large.call('stranger', 'GET', '/users/me')).body.id;
    for (let n = 0; n < 150; n++) await large.call(self, 'POST', '/devices', { json: { id: `much-${n}` } });
    let isRemoved = false;
    const removed = large
      .call(self, 'POST', `/users/${own}/removal`, { json: { current: password, devices: 'transfer', to: heir } })
      .finally(() => {
        isRemoved = true;
      });
    await until(async () => (await large.call(heir, 'GET', `/devices?limit=1&q=owner==${heir}`)).body.length > 0);
    assert.equal((await large.call('stranger', 'PUT', `/users/${other}/firstName`, { text: 'Awa' })).status, 204);
    assert.equal(isRemoved, false, 'the change waited for the removal');
    assert.equal((await removed).status, 204);
    const { headers } = await large.call(heir, 'GET', `/devices?limit=1&q=owner==${heir}`);
    assert.equal(headers['x-total-count'], '150');
  } finally {
    await large.stop();
  }
});
