// Who may read, change and list notifications (contract 7), and how many a user may have.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { addRule, rule } from '../../support/api/example-rule.ts';
import { openRegistryOf } from '../../support/data.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const as = 'owner';
let id = '';
let path = '';

const add = (who: string, json: unknown) => addRule(server, who, json);

async function read(of = path, who = as) {
  return (await make(server, { as: who, call: `GET ${of}`, expect: 200 })).body;
}

beforeEach(async () => {
  id = await add(as, rule);
  path = `/notifications/${id}`;
});

describe('who may', () => {
  test('read and change a notification: its author and admins', async () => {
    const calls = (who: string, expect: number) => [
      { as: who, call: `GET ${path}`, expect: expect === 204 ? 200 : expect },
      { as: who, call: `PATCH ${path}`, json: { description: `by ${who}` }, expect },
      { as: who, call: `PUT ${path}/status`, text: 'inactive', expect },
    ];
    for (const who of ['guest', 'stranger', 'sharer']) {
      await makeAll(server, [...calls(who, 403), { as: who, call: `DELETE ${path}`, expect: 403 }]);
    }
    for (const who of ['owner', 'admin']) await makeAll(server, calls(who, 204));
    await make(server, { as: 'admin', call: `DELETE ${path}`, expect: 204 });
    for (const call of [`GET ${path}`, `DELETE ${path}`, `PUT ${path}/status`]) {
      await make(server, { as, call, ...(call.startsWith('PUT') ? { text: 'active' } : {}), expect: 404 });
    }
    await make(server, { as, call: `PATCH ${path}`, json: {}, expect: 404 });
  });

  test('do so with an id that is one', async () => {
    for (const bad of ['5', 'x'.repeat(24), '0'.repeat(23), '0'.repeat(25), '%20', `${'0'.repeat(24)}%0A`]) {
      const { body } = await make(server, { as, call: `GET /notifications/${bad}`, expect: 400 });
      assert.match(body.detail, /24 hex digits/);
      await make(server, { as, call: `DELETE /notifications/${bad}`, expect: 404 });
      await make(server, { as, call: `PUT /notifications/${bad}/status`, text: 'active', expect: 400 });
      await make(server, { as, call: `PATCH /notifications/${bad}`, json: {}, expect: 400 });
    }
    await make(server, { as, call: `GET /notifications/${'0'.repeat(24)}`, expect: 404 });
    assert.equal((await read(`/notifications/${id.toUpperCase()}`)).id, id);
  });

  test("keep rules as guest: everybody's who does not sign in, and nobody else's", async () => {
    const made = `/notifications/${await add('guest', rule)}`;
    assert.equal((await read(made, 'guest')).owner, 'guest');
    await makeAll(server, [
      { call: `PATCH ${made}`, json: { throttling: 1 }, expect: 204 },
      { as: 'stranger', call: `GET ${made}`, expect: 403 },
      { as: 'stranger', call: `DELETE ${made}`, expect: 403 },
      { call: `DELETE ${made}`, expect: 204 },
    ]);
  });

  test('where guests only push, make a rule and no more; where there are none, nothing', async () => {
    const made = `/notifications/${await add('guest', rule)}`;
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
    await add('guest', rule);
    const { body } = await make(server, { call: 'GET /notifications', expect: 200 });
    assert.deepEqual(body, []);
    await makeAll(server, [
      { call: `GET ${made}`, expect: 403 },
      { call: `DELETE ${made}`, expect: 403 },
    ]);
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    await makeAll(server, [
      { call: 'POST /notifications', json: rule, expect: 401 },
      { call: 'GET /notifications', expect: 401 },
      { call: `GET ${made}`, expect: 401 },
    ]);
    await server.restart();
  });

  test('have as many notifications as the bound says, and guest no fewer for it', async () => {
    await addUsers(server.folder, ['hoarder'], server.clock);
    const { registry, close } = await openRegistryOf(server.folder);
    const { key: author } = await registry.read
      .selectFrom('user')
      .select('key')
      .where('username', '=', 'hoarder')
      .executeTakeFirstOrThrow();
    const row = { author, condition: '{}', action: '{}', status: 'inactive', throttling: 0 };
    const rows = Array.from({ length: 10_000 - 1 }, (_, n) => ({
      ...row,
      id: `${n}`.padStart(24, '0'),
    }));
    await registry.write(rows.map((values) => registry.read.insertInto('notification').values(values)));
    const answers = await Promise.all(
      [1, 2, 3].map(() => server.call('hoarder', 'POST', '/notifications', { json: rule })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403, 403]);
    await add('guest', rule);
    await registry.write([registry.read.deleteFrom('notification').where('author', '=', author)]);
    await close();
  });
});

describe('the list', () => {
  test('has those of the caller, of everybody for admins, in order of creation', async () => {
    await addUsers(server.folder, ['lister'], server.clock);
    const made = [await add('lister', rule), await add('lister', { ...rule, status: 'inactive' })];
    const idsOf = async (who: string, query = '') => {
      const answer = await make(server, { as: who, call: `GET /notifications${query}`, expect: 200 });
      return { ids: answer.body.map((record: { id: string }) => record.id), headers: answer.headers };
    };
    const { ids, headers } = await idsOf('lister');
    assert.deepEqual(ids, made);
    assert.equal(headers['x-total-count'], '2');
    assert.equal(headers.link, undefined);
    for (const who of ['guest', 'stranger', 'owner']) {
      assert.deepEqual(
        (await idsOf(who)).ids.filter((one: string) => made.includes(one)),
        [],
      );
    }
    assert.deepEqual((await idsOf('admin')).ids.slice(-2), made);
    assert.deepEqual((await idsOf('admin', '?q=owner==lister')).ids, made);
    assert.deepEqual((await idsOf('lister', '?q=owner==owner')).ids, []);
    const page = await idsOf('lister', '?limit=1&offset=1');
    assert.deepEqual(page.ids, [made[1]]);
    assert.equal(page.headers.link, '</api/v2/notifications?limit=1&offset=0>; rel="prev"');
    assert.deepEqual((await idsOf('lister', '?offset=2')).ids, []);
  });

  test('takes a filter by any field', async () => {
    await addUsers(server.folder, ['filterer'], server.clock);
    const wrapped = { type: 'ActuationAction', value: { device_id: 'd9', actuator_id: 'a', actuator_value: true } };
    const a = await add('filterer', rule);
    const b = await add('filterer', { condition: { devices: ['d1', 'd2'] }, action: wrapped, status: 'inactive' });
    const rows: readonly (readonly [q: string, expected: readonly string[]])[] = [
      ['', [a, b]],
      [`id==${a}`, [a]],
      ['status==active', [a]],
      ['status!=active', [b]],
      ['throttling>=3600', [a]],
      ['throttling==0;status==inactive', [b]],
      ['times_sent==0', [a, b]],
      ['expires>2026-06-01T00:00:00Z', [a]],
      ['expires!=2026-06-08T18:20:27.5Z', [b]],
      ['last_notification>2020-01-01T00:00:00Z', []],
      ['condition.devices==d2', [b]],
      ['condition.devices==d1', [a, b]],
      ['condition.devices!=d2', [a]],
      ['condition.sensors==TC1,TC9', [a]],
      ['action.channels==sms', [a]],
      ['action.type==ActuationAction', [b]],
      ['action.value.device_id==d9', [b]],
      ['description==Cold', [a]],
    ];
    for (const [q, expected] of rows) {
      const { body } = await make(server, {
        as: 'filterer',
        call: `GET /notifications?q=${encodeURIComponent(q)}`,
        expect: 200,
      });
      assert.deepEqual(
        body.map((record: { id: string }) => record.id),
        expected,
        q,
      );
    }
    await makeAll(server, [
      { as: 'filterer', call: 'GET /notifications?q=%3D%3D1', expect: 400 },
      { as: 'filterer', call: 'GET /notifications?q=expires%3Esoon', expect: 400 },
      { as: 'filterer', call: 'GET /notifications?q=nothing!=1', expect: 400 },
      { as: 'filterer', call: 'GET /notifications?limit=1001', expect: 400 },
      { as: 'filterer', call: 'GET /notifications?limit=0', expect: 400 },
      { as: 'filterer', call: 'GET /notifications?offset=-1', expect: 400 },
    ]);
  });
});
