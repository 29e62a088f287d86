// Callers without a token under each setting of DUNDUN_GUEST_ACCESS, and DUNDUN_DEFAULT_VISIBILITY (contract 2 and 3).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { password } from '../../support/people.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
  for (const visibility of ['public', 'private']) {
    await server.call('owner', 'POST', '/devices', { json: { id: visibility, visibility, ...parts } });
  }
  for (const mode of ['full', 'push', 'none']) {
    await server.call('guest', 'POST', '/devices', { json: { id: `guests-${mode}`, ...parts } });
  }
});
after(() => server.stop());

interface Row extends Carries {
  readonly call: string;
  readonly full: number;
  readonly push: number;
  readonly none: number;
}

/** `{own}` is a device that guest made while it might, `{new}` one that is not there. */
const rows: readonly Row[] = [
  { call: 'GET /devices', full: 200, push: 200, none: 401 },
  { call: 'GET /devices?q=owner==guest', full: 200, push: 200, none: 401 },
  { call: 'GET /auth/permissions/devices', full: 200, push: 200, none: 401 },
  { call: 'POST /devices', json: { id: '{new}' }, full: 204, push: 204, none: 401 },
  { call: 'GET /devices/public', full: 200, push: 200, none: 401 },
  { call: 'GET /devices/public/sensors/s', full: 200, push: 200, none: 401 },
  { call: 'GET /devices/public/sensors/s/values', full: 200, push: 200, none: 401 },
  { call: 'POST /devices/public/sensors/s/value', json: { value: 1 }, full: 204, push: 204, none: 401 },
  { call: 'PUT /devices/public/actuators/a/value', json: 1, full: 403, push: 403, none: 401 },
  { call: 'PUT /devices/public/name', text: 'x', full: 403, push: 403, none: 401 },
  { call: 'DELETE /devices/public', full: 403, push: 403, none: 401 },
  { call: 'GET /devices/public/shares', full: 403, push: 403, none: 401 },
  { call: 'GET /devices/public/drops', full: 403, push: 403, none: 401 },
  { call: 'GET /devices/private', full: 403, push: 403, none: 401 },
  { call: 'POST /devices/private/sensors/s/value', json: { value: 1 }, full: 403, push: 403, none: 401 },
  { call: 'GET /devices/{own}', full: 200, push: 200, none: 401 },
  { call: 'POST /devices/{own}/sensors/s/value', json: { value: 1 }, full: 204, push: 204, none: 401 },
  { call: 'PUT /devices/{own}/name', text: 'x', full: 204, push: 403, none: 401 },
  { call: 'PUT /devices/{own}/visibility', text: 'public', full: 204, push: 403, none: 401 },
  { call: 'PUT /devices/{own}/visibility', text: 'private', full: 403, push: 403, none: 401 },
  { call: 'POST /devices/{own}/sensors', json: { id: 's2' }, full: 204, push: 403, none: 401 },
  { call: 'DELETE /devices/{own}/sensors/s2', full: 204, push: 403, none: 401 },
  { call: 'PUT /devices/{own}/actuators/a/value', json: 1, full: 204, push: 403, none: 401 },
  { call: 'GET /devices/{own}/shares', full: 200, push: 403, none: 401 },
  { call: 'PUT /devices/{own}/shares/sharer', json: { scopes: ['device:update'] }, full: 204, push: 403, none: 401 },
  { call: 'GET /devices/{own}/drops', full: 200, push: 403, none: 401 },
  { call: 'PUT /devices/{own}/owner', text: 'guest', full: 204, push: 403, none: 401 },
  { call: 'DELETE /devices/{own}', full: 204, push: 403, none: 401 },
];

for (const mode of ['full', 'push', 'none'] as const) {
  suite(`with guest access ${mode}`, () => {
    before(() => server.restart({ DUNDUN_GUEST_ACCESS: mode }));

    for (const { call, full, push, none, ...carries } of rows) {
      const expect = { full, push, none }[mode];
      test(`${call} without a token answers ${expect}`, async () => {
        const json = { json: { id: `new-${mode}` } };
        const filled = call === 'POST /devices' ? json : carries;
        await make(server, { call: call.replace('{own}', `guests-${mode}`), expect, ...filled });
      });
    }

    test('whoever has a token may what they might before', async () => {
      await make(server, { as: 'stranger', call: 'GET /devices/public', expect: 200 });
      await make(server, { as: 'owner', call: 'GET /devices/private', expect: 200 });
      await make(server, { as: 'admin', call: 'PUT /devices/public/name', text: mode, expect: 204 });
    });

    test('what guest may is what the query says', async () => {
      if (mode === 'none') return;
      const { body } = await make(server, { call: 'GET /auth/permissions/devices', expect: 200 });
      const scopes = Object.fromEntries(
        body.map((entry: { resource: string; scopes: [] }) => [entry.resource, entry.scopes]),
      );
      assert.equal(scopes.public.length, 3);
      assert.equal(scopes[`new-${mode}`].length, mode === 'full' ? 5 : 3);
      assert.equal(scopes.private, undefined);
    });
  });
}

suite('where no callers without a token are taken', () => {
  before(() => server.restart({ DUNDUN_GUEST_ACCESS: 'none', DUNDUN_SELF_REGISTRATION: 'on' }));

  const rule = '0123456789abcdef01234567';
  for (const call of [
    'GET /devices/unknown',
    'DELETE /devices/unknown',
    'PUT /devices/unknown/name',
    'POST /devices/unknown/sensors/s/values',
    'GET /devices/unknown/sensors/s/values',
    'GET /devices/unknown/live',
    'GET /sensors_data?device_id=unknown',
    'GET /devices/public/sensors/unknown',
    'POST /datapoints',
    'PUT /gateways/unknown/health',
    'GET /projects/unknown',
    `GET /notifications/${rule}`,
    'GET /users/00000000-0000-4000-8000-000000000000',
    'GET /ontologies/units',
    'GET /devices?limit=0',
  ]) {
    test(`${call} does not tell what there is`, async () => {
      await make(server, { call, expect: 401 });
    });
  }

  test('the heartbeat at the root and version 1 do not either', async () => {
    assert.equal((await server.send('PUT', '/gateways/unknown/health')).status, 401);
    await make(server, { version: 'v1', call: 'GET /sensors/unknown', expect: 401 });
  });

  test('they can still sign in, register and ask what a path takes', async () => {
    const login = { username: 'owner', password };
    const { text } = await make(server, { call: 'POST /auth/token', json: login, expect: 200 });
    await make(server, { version: 'v1', call: 'POST /auth/token', json: login, expect: 200 });
    await make(server, { call: 'POST /auth/session', json: login, expect: 200 });
    await make(server, { call: 'DELETE /auth/session', expect: 204 });
    await make(server, { call: 'POST /users', json: { username: 'newcomer', password }, expect: 200 });
    await make(server, { call: 'PATCH /devices', expect: 405 });
    await make(server, { call: 'GET /nothing', expect: 404 });
    const headers = { origin: 'https://example.org', 'access-control-request-method': 'GET' };
    assert.equal((await server.send('OPTIONS', '/api/v2/devices', { headers })).status, 204);
    const signedIn = { authorization: `Bearer ${text}` };
    await make(server, { call: 'GET /devices/unknown', headers: signedIn, expect: 404 });
  });
});

test('guest cannot sign in', async () => {
  await make(server, { call: 'POST /auth/token', json: { username: 'guest', password: '' }, expect: 401 });
  await make(server, { call: 'POST /auth/token', json: { username: 'guest', password: 'guest' }, expect: 401 });
});

suite('a device that names no visibility', () => {
  for (const setting of ['public', 'private'] as const) {
    test(`is ${setting} where DUNDUN_DEFAULT_VISIBILITY says so, and as it is named where it is`, async () => {
      await server.restart({ DUNDUN_DEFAULT_VISIBILITY: setting });
      for (const visibility of [undefined, null, 'private', 'public']) {
        const id = `${setting}-${visibility}`;
        await make(server, { as: 'owner', call: 'POST /devices', json: { id, visibility }, expect: 204 });
        const { body } = await make(server, { as: 'owner', call: `GET /devices/${id}`, expect: 200 });
        assert.equal(body.visibility, visibility ?? setting);
      }
    });
  }
});
