// Quotas of users: exact counts, refusals beyond the limit, limits that admins set. The owner of a record is charged
// for it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

let server: TestServer;
const ids = new Map<string, string>();

before(async () => {
  server = await TestServer.start({
    DUNDUN_QUOTAS: 'devices=2,sensors=3,gateways=1,projects=1,rules=1,keys=1,description_bytes=4000B',
    DUNDUN_GUEST_QUOTAS: 'devices=1,sensors=2,gateways=1,projects=1,rules=1,description_bytes=2000B',
  });
  await addUsers(server.folder, ['heir', 'many', 'texts', 'exception', 'racer', 'admin2'], server.clock);
  for (const { id, username } of (await server.call('admin', 'GET', '/users')).body) ids.set(username, id);
});
after(() => server.stop());

const quotaOf = async (who: string) => (await make(server, { as: who, call: 'GET /users/me/quota', expect: 200 })).body;
const usedBy = async (who: string, kind: string): Promise<number> => (await quotaOf(who))[kind].used;
const rule = {
  condition: { devices: ['d'], sensors: ['s'], expression: 's>1' },
  action: { usernames: ['owner'], channels: ['none'], message: 'm' },
};
const sensors = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `s${n}` }));

function assertBeyond(answer: Answer, kind: string, limit: number): void {
  assert.equal(answer.body.type, 'urn:dundun:problem:quota');
  assert.equal(answer.body.title, 'Quota Exceeded');
  assert.equal(answer.body.quota.kind, kind);
  assert.equal(answer.body.quota.limit, limit);
  assert.match(answer.body.detail, new RegExp(kind));
}

describe('who has as much as they may', () => {
  const table = [
    { kind: 'devices', call: 'POST /devices', body: (n: number) => ({ id: `many-${n}` }), limit: 2, guest: 1 },
    { kind: 'gateways', call: 'POST /gateways', body: (n: number) => ({ id: `g-${n}` }), limit: 1, guest: 1 },
    { kind: 'projects', call: 'POST /projects', body: (n: number) => ({ name: `p-${n}` }), limit: 1, guest: 1 },
    { kind: 'rules', call: 'POST /notifications', body: () => rule, limit: 1, guest: 1 },
    { kind: 'keys', call: 'POST /auth/keys', body: (n: number) => ({ name: `k-${n}` }), limit: 1, guest: undefined },
  ];
  for (const { kind, call, body, limit, guest } of table) {
    test(`of ${kind} is refused more with 403, and an admin is not`, async () => {
      let made = 0;
      const more = async (as: string, expect?: number) => {
        const json = body(made++);
        const answer = await server.call(as, 'POST', call.split(' ')[1] as string, { json });
        assert.equal(expect === undefined ? answer.status < 300 : answer.status === expect, true, answer.text);
        return answer;
      };
      for (const [who, max] of [['many', limit] as const, ['guest', guest] as const]) {
        if (max === undefined) continue;
        const had = await usedBy(who, kind);
        for (let n = had; n < max; n++) await more(who);
        assertBeyond(await more(who, 403), kind, max);
        assert.equal(await usedBy(who, kind), max);
      }
      for (let n = 0; n < 4; n++) await more('admin2');
      assert.equal((await quotaOf('admin2'))[kind].limit, undefined);
    });
  }

  test('of sensors is refused them with a device, one by one and by an import, and nothing is left half made', async () => {
    const at = 'texts';
    await make(server, { as: at, call: 'POST /devices', json: { id: 't1', sensors: sensors(2) }, expect: 204 });
    const beyond = await make(server, {
      ...{ as: at, call: 'POST /devices', expect: 403 },
      json: { id: 't2', sensors: sensors(2) },
    });
    assertBeyond(beyond, 'sensors', 3);
    await make(server, { as: at, call: 'POST /devices/t1/sensors', json: { id: 's2' }, expect: 204 });
    const refused = await make(server, {
      ...{ as: at, call: 'POST /devices/t1/sensors', expect: 403 },
      json: { id: 's3' },
    });
    assertBeyond(refused, 'sensors', 3);
    // To replace one adds none.
    await make(server, { as: at, call: 'POST /devices/t1/sensors', json: { id: 's2', name: 'n' }, expect: 204 });
    const imported = await server.call(at, 'POST', '/import?create_sensors=true', {
      headers: { 'content-type': 'text/csv' },
      body: 'device_id,sensor_id,timestamp,value\nt1,new,2026-01-01T00:00:00Z,1\n',
    });
    assert.equal(imported.status, 200, imported.text);
    assert.match(imported.text, /quota sensors/);
    assert.equal(await usedBy(at, 'sensors'), 3);
    await make(server, { as: at, call: 'DELETE /devices/t1/sensors/s0', expect: 204 });
    assert.equal(await usedBy(at, 'sensors'), 2);
    const v1 = await make(server, {
      as: at,
      version: 'v1',
      call: 'POST /sensors/t1/measurements',
      json: { id: 's3' },
      expect: 200,
    });
    assert.ok(v1);
    const older = await make(server, {
      ...{ as: at, version: 'v1', call: 'POST /sensors/t1/measurements', expect: 403 },
      json: { id: 's4' },
    });
    assert.equal(older.body.error, 'Quota Exceeded');
    await make(server, { as: at, call: 'DELETE /devices/t1', expect: 204 });
    assert.deepEqual([await usedBy(at, 'sensors'), await usedBy(at, 'description_bytes')], [0, 0]);
  });

  test('of descriptions may make them smaller, and not larger', async () => {
    const at = 'heir';
    await make(server, {
      as: at,
      call: 'POST /devices',
      json: { id: 'h1', meta: { text: 'x'.repeat(3000) } },
      expect: 204,
    });
    const put = (chars: number, expect: number) =>
      make(server, { as: at, call: 'PUT /devices/h1/meta', json: { text: 'x'.repeat(chars) }, expect });
    assertBeyond(await put(5000, 403), 'description_bytes', 4000);
    await make(server, {
      as: 'admin',
      call: `PUT /users/${ids.get(at)}/quota`,
      json: { description_bytes: 1000 },
      expect: 204,
    });
    await put(3001, 403);
    await put(3000, 204);
    await put(2000, 204);
    await put(2001, 403);
    await make(server, { as: at, call: 'DELETE /devices/h1', expect: 204 });
    await make(server, {
      as: 'admin',
      call: `PUT /users/${ids.get(at)}/quota`,
      json: { description_bytes: null },
      expect: 204,
    });
    assert.equal(await usedBy(at, 'description_bytes'), 0);
  });

  test('is charged for what a sharer adds, and not the sharer', async () => {
    await make(server, {
      as: 'owner',
      call: 'POST /devices',
      json: { id: 'shared', sensors: sensors(2) },
      expect: 204,
    });
    const scopes = ['device:view', 'device:update'];
    await make(server, { as: 'owner', call: 'PUT /devices/shared/shares/sharer', json: { scopes }, expect: 204 });
    const before = await quotaOf('sharer');
    const add = (id: string, expect: number) =>
      make(server, { as: 'sharer', call: 'POST /devices/shared/sensors', json: { id }, expect });
    await add('theirs', 204);
    assert.equal(await usedBy('owner', 'sensors'), 3);
    assertBeyond(await add('more', 403), 'sensors', 3);
    assert.deepEqual(await quotaOf('sharer'), before);
  });

  test('is handed over nothing that would bring them beyond', async () => {
    await make(server, {
      as: 'admin2',
      call: 'POST /devices',
      json: { id: 'large', sensors: sensors(4) },
      expect: 204,
    });
    const give = (expect: number) =>
      make(server, { as: 'admin2', call: 'PUT /devices/large/owner', text: 'heir', expect });
    assertBeyond(await give(403), 'sensors', 3);
    await make(server, { as: 'admin2', call: 'DELETE /devices/large/sensors/s0', expect: 204 });
    const before = await usedBy('admin2', 'description_bytes');
    await give(204);
    assert.equal(await usedBy('heir', 'sensors'), 3);
    assert.equal((await usedBy('heir', 'description_bytes')) + (await usedBy('admin2', 'description_bytes')), before);
  });
});

test('of calls that come at once no more get through than the quota allows', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => server.call('racer', 'POST', '/devices', { json: { id: `race-${n}` } })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 204, ...Array(10).fill(403)]);
});

describe('a quota of one user', () => {
  const at = () => `/users/${ids.get('exception')}/quota`;

  test('is read by the user and admins, and set by admins alone', async () => {
    for (const [as, get, put] of [
      ['guest', 403, 403],
      ['stranger', 403, 403],
      ['exception', 200, 403],
      ['admin', 200, 204],
    ] as const) {
      await make(server, { as, call: `GET ${at()}`, expect: get });
      await make(server, { as, call: `PUT ${at()}`, json: { devices: 2 }, expect: put });
    }
    await make(server, {
      as: 'admin',
      call: 'PUT /users/00000000-0000-4000-8000-000000000000/quota',
      json: {},
      expect: 404,
    });
    for (const json of [{ devices: -1 }, { devices: 1.5 }, { devices: 'all' }, []]) {
      await make(server, { as: 'admin', call: `PUT ${at()}`, json, expect: 400 });
    }
  });

  test('is in the list of users, for admins who ask', async () => {
    const listed = async (as: string, query: string) => {
      const { body } = await make(server, { as, call: `GET /users${query}`, expect: 200 });
      return body.find(({ username }: { username: string }) => username === 'racer').quota;
    };
    const [devices] = await listed('admin', '?full=true');
    assert.deepEqual(devices, { kind: 'devices', used: 2, limit: 2 });
    assert.equal(await listed('admin', ''), undefined);
    assert.equal(await listed('stranger', '?full=true'), undefined);
    const all = (await make(server, { as: 'admin', version: 'v1', call: 'GET /users?full=true', expect: 200 })).body;
    assert.deepEqual(all.find(({ username }: { username: string }) => username === 'admin').quota, []);
  });

  test('holds at once, and ends with null', async () => {
    const create = (id: string, expect: number) =>
      make(server, { as: 'exception', call: 'POST /devices', json: { id }, expect });
    await make(server, { as: 'admin', call: `PUT ${at()}`, json: { devices: 1, rules: 'none' }, expect: 204 });
    assert.deepEqual((await quotaOf('exception')).devices, { used: 0, limit: 1, exception: true });
    assert.deepEqual((await quotaOf('exception')).rules, { used: 0, exception: true });
    await create('e1', 204);
    await create('e2', 403);
    await make(server, { as: 'admin', call: `PUT ${at()}`, json: { devices: null }, expect: 204 });
    assert.deepEqual((await quotaOf('exception')).devices, { used: 1, limit: 2 });
    await create('e2', 204);
    await make(server, { as: 'admin', call: `PUT ${at()}`, json: { devices: 0 }, expect: 204 });
    await make(server, { as: 'exception', call: 'PUT /devices/e1/name', text: 'still theirs', expect: 204 });
    await server.restart();
    assert.deepEqual((await quotaOf('exception')).devices, { used: 2, limit: 0, exception: true });
  });
});
