// Accounts (contract 2): created by admins, imported from another system, registered by callers themselves, and
// removed with all that belongs to them.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const ids: Record<string, string> = {};

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['self', 'admin-2'], server.clock);
  await learnIds();
  await server.call('admin', 'PUT', `/users/${ids['self']}`, { json: profile });
});
after(() => server.stop());

async function learnIds(): Promise<void> {
  const { body } = await server.call('admin', 'GET', '/users');
  for (const { id, username } of body) ids[username] = id;
}

const profile = {
  firstName: 'Awa',
  lastName: 'Diop',
  email: 'awa@dundun.example',
  phone: ['+221770000000'],
  address: ['Rue 10\nSaint-Louis'],
  facebook: ['awa.diop'],
  twitter: ['awadiop'],
};
const everybody = ['guest', 'stranger', 'self', 'admin'] as const;

/** One call for each of them, with the status each must have. */
const table = (call: Omit<Call, 'as' | 'expect'>, expects: readonly [number, number, number, number]): Call[] =>
  everybody.map((as, n) => ({ ...call, as, expect: expects[n] as number }));

suite('an account is made', () => {
  test('by an admin alone', async () => {
    await makeAll(
      server,
      table({ call: 'POST /users', json: { username: 'made', password: 'good enough' } }, [403, 403, 403, 200]),
    );
    await make(server, { call: 'POST /auth/token', json: { username: 'made', password: 'good enough' }, expect: 200 });
  });

  test('with its id in the answer, as text or JSON, and the record where that is preferred', async () => {
    const json = { username: 'answered-1', password: 'good enough', ...profile };
    const bare = await make(server, { as: 'admin', call: 'POST /users', json, expect: 200 });
    assert.match(bare.text, /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    assert.equal(bare.headers['content-type'], 'text/plain;charset=utf-8');
    assert.equal(bare.headers.location, `/api/v2/users/${bare.text}`);
    const { body: record } = await make(server, { as: 'admin', call: `GET /users/${bare.text}`, expect: 200 });
    assert.deepEqual({ ...profile, ...record }, record);
    const asJson = await make(server, {
      ...{ as: 'admin', call: 'POST /users', json: { username: 'answered-2', password: 'good enough' } },
      ...{ headers: { accept: 'application/json' }, expect: 200 },
    });
    assert.match(asJson.body, /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    const whole = await make(server, {
      ...{ as: 'admin', call: 'POST /users', json: { username: 'answered-3', password: 'good enough' } },
      ...{ headers: { prefer: 'return=representation' }, expect: 201 },
    });
    assert.equal(whole.body.username, 'answered-3');
  });

  test('with an id and a hash brought along from elsewhere', async () => {
    // The PHC string of argon2's own tests would do as well; this one is of "talking drum".
    const id = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
    const { body } = await make(server, { as: 'admin', call: 'GET /users?username=owner', expect: 200 });
    assert.equal(body.length, 1);
    const { user } = await server.rows();
    const passwordHash = (user as { username: string; password_hash: string }[]).find(
      ({ username }) => username === 'owner',
    )?.password_hash;
    const json = { username: 'brought', id, passwordHash, createdTime: 1_465_410_027_000 };
    const made = await make(server, { as: 'admin', call: 'POST /users', json, expect: 200 });
    assert.equal(made.text, id.toLowerCase());
    await make(server, { call: 'POST /auth/token', json: { username: 'brought', password }, expect: 200 });
    const read = await make(server, { as: 'brought', call: 'GET /users/me', expect: 200 });
    assert.equal(read.body.createdTime, 1_465_410_027_000);
    await makeAll(server, [
      { as: 'admin', call: 'POST /users', json: { ...json, username: 'brought-2' }, expect: 422 },
      { as: 'admin', call: 'POST /users', json: { ...json, id: undefined }, expect: 422 },
      { as: 'admin', call: 'POST /users', json: { ...json, username: 'b3', id: 'no uuid' }, expect: 400 },
    ]);
  });

  const hash = (m: number, t: number, p: number) =>
    `$argon2id$v=19$m=${m},t=${t},p=${p}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  const bad: readonly (readonly [what: string, json: object, expect: number])[] = [
    ['without a name', { password: 'good enough' }, 400],
    ['without a password', { username: 'x' }, 400],
    ['with a short password', { username: 'x', password: 'seven77' }, 400],
    ['with a number for a password', { username: 'x', password: 12345678 }, 400],
    [
      'with both a password and a hash',
      { username: 'x', password: 'good enough', passwordHash: hash(19_456, 2, 1) },
      400,
    ],
    ['with a hash that is none', { username: 'x', passwordHash: 'plain' }, 400],
    ['with a hash of another kind', { username: 'x', passwordHash: '$2b$10$abcdefghijklmnopqrstuv' }, 400],
    ['with a hash that would take all memory', { username: 'x', passwordHash: hash(9_999_999, 2, 1) }, 400],
    ['with a hash that would take all day', { username: 'x', passwordHash: hash(19_456, 999, 1) }, 400],
    ['with a name that is taken', { username: 'owner', password: 'good enough' }, 422],
    ['as guest', { username: 'guest', password: 'good enough' }, 422],
    ['with a text for a phone', { username: 'x', password: 'good enough', phone: '+221' }, 400],
    ['with numbers for phones', { username: 'x', password: 'good enough', phone: [221] }, 400],
    ['with too many phones', { username: 'x', password: 'good enough', phone: Array(21).fill('+221') }, 400],
    ['with a phone without end', { username: 'x', password: 'good enough', phone: ['1'.repeat(600)] }, 400],
    [
      'with a second line in the mail address',
      { username: 'x', password: 'good enough', email: 'a@b\r\nBcc: c@d' },
      400,
    ],
    ['with admin as a text', { username: 'x', password: 'good enough', admin: 'true' }, 400],
  ];
  for (const [what, json, expect] of bad) {
    test(`${what}: ${expect}`, async () => {
      await make(server, { as: 'admin', call: 'POST /users', json, expect });
    });
  }

  for (const name of [
    'a/b',
    'a+b',
    '#',
    '+',
    'a#',
    '..',
    '.',
    ' a',
    'a ',
    '',
    'a\u0000',
    'a\nb',
    'a\u200bb',
    '\u202eadmin',
    'x'.repeat(129),
    '?',
  ]) {
    test(`never under the name ${JSON.stringify(name.slice(0, 20))}, which is not safe in a topic or a URL`, async () => {
      const json = { username: name, password: 'good enough' };
      await make(server, { as: 'admin', call: 'POST /users', json, expect: 400 });
    });
  }

  test('and names of every object are names like others', async () => {
    for (const username of ['__proto__', 'constructor', 'toString']) {
      await make(server, {
        as: 'admin',
        call: 'POST /users',
        json: { username, password: 'good enough' },
        expect: 200,
      });
      const { body } = await make(server, { as: 'admin', call: `GET /users?username=${username}`, expect: 200 });
      assert.equal(body[0].username, username);
    }
  });
});

suite('an account is removed', () => {
  const gone = async (name: string) => {
    await addUsers(server.folder, [name], server.clock);
    server.clock.advance(limits.userFreshMs);
    await learnIds();
    return `DELETE /users/${ids[name]}`;
  };

  test('by an admin alone, with its tokens, and its name is free again', async () => {
    const call = await gone('leaving');
    const token = await server.token('leaving');
    const asLeaving = { headers: { authorization: `Bearer ${token}` } };
    await makeAll(server, [
      ...(['guest', 'stranger', 'leaving'] as const).map((as) => ({ as, call, expect: 403 })),
      { as: 'admin', call, expect: 204 },
      { call: 'GET /users/me', ...asLeaving, expect: 401 },
      { call: 'POST /auth/token', json: { username: 'leaving', password }, expect: 401 },
      { as: 'admin', call, expect: 404 },
      { as: 'admin', call: 'POST /users', json: { username: 'leaving', password: 'good enough' }, expect: 200 },
      { call: 'GET /users/me', ...asLeaving, expect: 401 },
    ]);
  });

  test('and one who comes back under the same id does not find old tokens good', async () => {
    const call = await gone('returning');
    const token = await server.token('returning');
    const json = { username: 'returning', id: ids['returning'], password: 'good enough' };
    await makeAll(server, [
      { as: 'admin', call, expect: 204 },
      { as: 'admin', call: 'POST /users', json, expect: 200 },
      { call: 'GET /users/me', headers: { authorization: `Bearer ${token}` }, expect: 401 },
    ]);
  });

  test('with shares, but not with devices of which it is not said what becomes', async () => {
    const call = await gone('owning');
    for (const id of ['o-1', 'o-2', 'o-3']) {
      await server.call('owning', 'POST', '/devices', { json: { id, sensors: [{ id: 's' }] } });
      await server.call('owning', 'POST', `/devices/${id}/sensors/s/values`, { json: { value: 1 } });
    }
    await server.call('owning', 'POST', '/gateways', { json: { id: 'g-1' } });
    await server.call('owning', 'POST', '/projects', { json: { id: 'p-1', name: 'p' } });
    await server.call('owner', 'POST', '/devices', { json: { id: 'shared-with-owning' } });
    const scopes = { scopes: ['device:view'] };
    await server.call('owner', 'PUT', '/devices/shared-with-owning/shares/owning', { json: scopes });
    const refused = await make(server, { as: 'admin', call, expect: 422 });
    assert.match(refused.body.detail, /o-1, o-2, o-3.*g-1/);
    await makeAll(server, [
      { as: 'admin', call: `${call}?devices=keep`, expect: 400 },
      { as: 'admin', call: `${call}?devices=transfer`, expect: 400 },
      { as: 'admin', call: `${call}?to=stranger`, expect: 400 },
      { as: 'admin', call: `${call}?devices=delete&to=stranger`, expect: 400 },
      { as: 'admin', call: `${call}?devices=transfer&to=nobody`, expect: 404 },
      { as: 'admin', call: `${call}?devices=transfer&to=guest`, expect: 422 },
      { as: 'admin', call: `${call}?devices=transfer&to=owning`, expect: 422 },
      { as: 'admin', call: `${call}?devices=transfer&to=stranger`, expect: 204 },
    ]);
    const { body } = await make(server, { as: 'stranger', call: 'GET /devices/o-2', expect: 200 });
    assert.deepEqual([body.owner, body.sensors[0].last_value.value], ['stranger', 1]);
    for (const path of ['/gateways/g-1', '/projects/p-1']) {
      const { body: record } = await make(server, { as: 'stranger', call: `GET ${path}`, expect: 200 });
      assert.equal(record.owner, 'stranger', path);
    }
    assert.deepEqual((await server.call('owner', 'GET', '/devices/shared-with-owning/shares')).body, []);
  });

  test('with all its devices, however many, and their datapoints', async () => {
    const call = await gone('fleet');
    for (let n = 0; n < 120; n++) {
      await server.call('fleet', 'POST', '/devices', {
        json: { id: `fleet-${n}`, visibility: 'public', sensors: [{ id: 's' }] },
      });
    }
    await server.call('fleet', 'POST', '/devices/fleet-7/sensors/s/values', { json: { value: 1 } });
    await server.call('fleet', 'POST', '/gateways', { json: { id: 'fleet-gateway' } });
    await server.call('fleet', 'POST', '/projects', { json: { name: 'fleet' } });
    await make(server, { as: 'admin', call: `${call}?devices=delete`, expect: 204 });
    const { body } = await make(server, { as: 'admin', call: 'GET /devices?q=owner==fleet', expect: 200 });
    assert.deepEqual(body, []);
    await make(server, { call: 'POST /devices/fleet-7/sensors/s/values', json: { value: 2 }, expect: 404 });
    const { user, device, gateway, project } = await server.rows();
    assert.doesNotMatch(JSON.stringify([user, device, gateway, project]), /fleet/);
  });

  test('while it creates and pushes: nothing acknowledged is left without its owner', async () => {
    const call = await gone('busy');
    // Signed in before: under load the removal may come before a login has been looked at.
    await server.token('busy');
    const creates = Array.from({ length: 60 }, (_, n) =>
      server.call('busy', 'POST', '/devices', { json: { id: `busy-${n}`, visibility: 'public' } }),
    );
    const removal = server.call('admin', 'DELETE', `${call.replace('DELETE ', '')}?devices=delete`);
    const statuses = (await Promise.all(creates)).map(({ status }) => status);
    assert.equal((await removal).status, 204);
    for (const status of statuses) assert.ok([204, 401, 404].includes(status), String(status));
    const { body } = await make(server, { as: 'admin', call: 'GET /devices?q=owner==busy&limit=1000', expect: 200 });
    assert.deepEqual(body, []);
  });

  test('but neither guest nor the last admin', async () => {
    await makeAll(server, [
      { as: 'admin', call: `DELETE /users/${ids['guest']}`, expect: 422 },
      { as: 'admin', call: `DELETE /users/${ids['guest']}?devices=delete`, expect: 422 },
      { as: 'admin', call: `DELETE /users/${ids['admin-2']}`, expect: 204 },
      { as: 'admin', call: `DELETE /users/${ids['admin']}?devices=delete`, expect: 422 },
      { as: 'admin', call: 'GET /users/me', expect: 200 },
    ]);
  });
});

suite('where callers make accounts for themselves', () => {
  const register = (json: object, expect: number): Call => ({ call: 'POST /users', json, expect });
  const good = { password: 'good enough' };

  before(() => server.restart({ DUNDUN_SELF_REGISTRATION: 'on' }));

  test('they do, and are nobody but themselves', async () => {
    await makeAll(server, [
      register({ username: 'Fatou', ...good }, 200),
      { as: 'stranger', ...register({ username: 'of-stranger', ...good }, 200) },
      { call: 'POST /auth/token', json: { username: 'Fatou', ...good }, expect: 200 },
      register({ username: 'mallory', ...good, admin: true }, 403),
      register({ username: 'mallory', ...good, id: crypto.randomUUID() }, 403),
      register(
        { username: 'mallory', passwordHash: `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}` },
        403,
      ),
      register({ username: 'mallory' }, 400),
      register({ username: 'mallory', password: 'short' }, 400),
    ]);
  });

  test('no name is taken that looks like another', async () => {
    const names = [
      'admin',
      'ADMIN',
      'Admin',
      'guest',
      'Guest',
      'GUEST',
      'ａｄｍｉｎ',
      'root',
      'Me',
      'OWNER',
      'Owner',
      'fatou',
      'FATOU',
    ];
    await makeAll(
      server,
      names.map((username) => register({ username, ...good }, 422)),
    );
    // Cyrillic а, Greek ο, and what nobody sees.
    for (const username of ['\u0430dmin', '\u03bfwner', 'admin\u200b', '\u202eadmin', 'ad\u00admin']) {
      await make(server, register({ username, ...good }, 400));
    }
  });

  test('two who look alike and come at once are one', async () => {
    const names = ['Ndeye', 'ndeye', 'NDEYE', 'nDeye'];
    const answers = await Promise.all(
      names.map((username) => server.call('guest', 'POST', '/users', { json: { username, ...good } })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422, 422]);
  });

  test('they are slowed down, admins are not, and the hour passes', async () => {
    await server.restart({ DUNDUN_SELF_REGISTRATION: 'on' });
    // On PostgreSQL what came before counts over restarts, whose seconds are not those of the test.
    server.clock.advance(3_660_000);
    for (let n = 0; n < limits.registrationsPerAddressMax; n++) {
      await make(server, register({ username: `crowd-${n}`, ...good }, 200));
    }
    const { headers } = await make(server, register({ username: 'crowd-x', ...good }, 429));
    assert.equal(headers['retry-after'], '3600');
    await make(server, { as: 'admin', ...register({ username: 'crowd-x', ...good }, 200) });
    server.clock.advance(3_600_000);
    await make(server, register({ username: 'crowd-y', ...good }, 200));
  });

  test('also where nobody else is let in without a token', async () => {
    await server.restart({ DUNDUN_SELF_REGISTRATION: 'on', DUNDUN_GUEST_ACCESS: 'none' });
    // On PostgreSQL what came before counts over restarts, whose seconds are not those of the test.
    server.clock.advance(3_660_000);
    await makeAll(server, [
      register({ username: 'newcomer', ...good }, 200),
      { call: 'GET /users', expect: 401 },
      { call: 'GET /users/me', expect: 401 },
      { call: `GET /users/${ids['owner']}`, expect: 401 },
      { call: `PUT /users/${ids['owner']}`, json: {}, expect: 401 },
      { call: `DELETE /users/${ids['owner']}`, expect: 401 },
    ]);
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    await make(server, register({ username: 'too-late', ...good }, 401));
  });
});
