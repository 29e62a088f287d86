// Every endpoint of version 1 with every kind of caller, by the paths of 1.1 and 1.0: the rights are those of version
// 2, and a refused call changes nothing (spec 4.3, contract 3 and 9, I6).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

interface Endpoint extends Carries {
  /** Method and path below the sensor. */
  readonly call: string;
  /** Who may on a private sensor, beside its owner and admins. */
  readonly private: string;
  /** Who may on a public sensor, beside them; `*` is everybody. */
  readonly public: string;
}

const text = { text: 'new' };
const view = { private: 'viewer', public: '*' };
const update = { private: 'updater', public: 'updater' };
const dataView = { private: 'reader', public: '*' };
const dataCreate = { private: 'pusher', public: '*' };

const endpoints: readonly Endpoint[] = [
  { call: 'GET ', ...view },
  { call: 'PUT /name', ...text, ...update },
  { call: 'PUT /gateway_id', ...text, ...update },
  { call: 'PUT /domain', ...text, ...update },
  { call: 'PUT /visibility', text: 'private', ...update },
  { call: 'PUT /location', json: { latitude: 1, longitude: 2 }, ...update },
  { call: 'DELETE ', private: 'deleter', public: 'deleter' },
  { call: 'GET /measurements', ...view },
  { call: 'POST /measurements', json: { id: 'm2' }, ...update },
  { call: 'GET /measurements/m1', ...view },
  { call: 'DELETE /measurements/m1', ...update },
  { call: 'PUT /measurements/m1/name', ...text, ...update },
  { call: 'PUT /measurements/m1/sensing_device', ...text, ...update },
  { call: 'PUT /measurements/m1/quantity_kind', ...text, ...update },
  { call: 'PUT /measurements/m1/unit', ...text, ...update },
  { call: 'POST /measurements/m1/values', json: { value: 2 }, ...dataCreate },
  { call: 'POST /measurements/m1/value', text: 'two', ...dataCreate },
  { call: 'GET /measurements/m1/values?lastN=1', ...dataView },
];

let server: TestServer;
const version = 'v1';

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
});
after(() => server.stop());

for (const visibility of ['private', 'public'] as const) {
  suite(`on a ${visibility} sensor`, () => {
    for (const [index, endpoint] of endpoints.entries()) {
      const { call, private: onPrivate, public: onPublic, ...carries } = endpoint;
      const others = (visibility === 'private' ? onPrivate : onPublic).split(' ');
      // Either path over all endpoints, each endpoint by one of them; the differential test goes by both.
      const domain = (index + (visibility === 'public' ? 1 : 0)) % 2 === 0 ? '' : '/domains/anything';
      test(`${call} is for ${others.includes('*') ? 'everybody' : ['owner', 'admin', ...others].join(', ')}`, async () => {
        const [method, path] = call.split(' ');
        let id = await makeSensor(visibility);
        for (const as of everybody) {
          const may = as === 'owner' || as === 'admin' || others.includes('*') || others.includes(as);
          const what = `${method} ${domain}/sensors/${id}${path}`;
          await make(server, { as, version, call: what, expect: may ? 200 : 403, ...carries });
          if (may && method !== 'GET') id = await makeSensor(visibility);
        }
      });
    }
  });
}

test('everybody makes sensors, and owns those they make; guest makes public ones', async () => {
  for (const as of everybody) {
    const json = { id: `of-${as}`, visibility: 'private', owner: 'sharer' };
    await make(server, { as, version, call: 'POST /sensors', json, expect: 200 });
    const { body } = await make(server, { as, version, call: `GET /sensors/of-${as}`, expect: 200 });
    assert.deepEqual([body.owner, body.visibility], [as, as === 'guest' ? 'public' : 'private']);
  }
});

test('the list and the permissions give everybody what they may, in the words of version 1', async () => {
  const id = await makeSensor('private');
  const scopes = ['sensors:view', 'sensors:update', 'sensors:delete', 'sensors-data:view', 'sensors-data:create'];
  const given = { viewer: 0, updater: 1, deleter: 2, reader: 3, pusher: 4 };
  for (const as of everybody) {
    const index = new Map(Object.entries(given)).get(as);
    const all = as === 'owner' || as === 'admin';
    const held = all ? scopes : index === undefined ? [] : [scopes[index]];
    const call = 'GET /auth/permissions';
    const { body } = await make(server, { as, version, call, expect: 200 });
    const entry = body.find((one: { resource: string }) => one.resource === id);
    assert.deepEqual(entry?.scopes ?? [], held, as);
    const list = await make(server, { as, version, call: `GET /sensors?q=id==${id}`, expect: 200 });
    assert.equal(list.body.length, held.includes('sensors:view') ? 1 : 0, as);
  }
});

test('a notification is for its author and admins', async () => {
  const json = {
    condition: { sensors: ['x'], measurements: ['m'], expression: 'm>1' },
    notification: { usernames: ['owner'], channels: ['none'], message: '{m}' },
  };
  for (const as of everybody) {
    const { text: id } = await make(server, { as: 'owner', version, call: 'POST /notifications', json, expect: 200 });
    const expect = as === 'owner' || as === 'admin' ? 200 : 403;
    await make(server, { as, version, call: `GET /notifications/${id}`, expect });
    await make(server, { as, version, call: `PUT /notifications/${id}/status`, text: 'inactive', expect });
    await make(server, { as, version, call: `PATCH /notifications/${id}`, json: { throttling: 5 }, expect });
    await make(server, { as, version, call: `DELETE /notifications/${id}`, expect });
    const list = await make(server, { as, version, call: 'GET /notifications', expect: 200 });
    assert.deepEqual(
      list.body.map((rule: { owner: string }) => rule.owner).filter((owner: string) => owner !== as && as !== 'admin'),
      [],
    );
  }
});

test('users are listed and read as in version 2, each field by who asks', async () => {
  for (const as of everybody) {
    const [older, newer] = await Promise.all([
      make(server, { as, version, call: 'GET /users', expect: 200 }),
      make(server, { as, call: 'GET /users', expect: 200 }),
    ]);
    assert.deepEqual(older.body, newer.body, as);
    const { id } = older.body[0];
    const one = await make(server, { as, version, call: `GET /users/${id}`, expect: 200 });
    assert.deepEqual(one.body, older.body[0], as);
    const json = { username: `made-by-${as}`, password: 'talking drum' };
    await make(server, { as, version, call: 'POST /users', json, expect: as === 'admin' ? 200 : 403 });
  }
});

let sensors = 0;

async function makeSensor(visibility: 'public' | 'private'): Promise<string> {
  sensors += 1;
  const id = `sensor-${sensors}`;
  const json = { id, visibility, measurements: [{ id: 'm1' }] };
  await make(server, { as: 'owner', version, call: 'POST /sensors', json, expect: 200 });
  const value = { json: { value: 1 } };
  await make(server, {
    as: 'owner',
    version,
    call: `POST /sensors/${id}/measurements/m1/value`,
    ...value,
    expect: 200,
  });
  await shareWithAll(server, id);
  return id;
}
