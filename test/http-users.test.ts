// Users (contract 2): who sees what of whom, accounts made, changed and removed, and what a stranger tries.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../src/config/limits.ts';
import { type Call, make, makeAll } from './support/calls.ts';
import { addUsers, password } from './support/people.ts';
import { TestServer } from './support/test-server.ts';

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

suite('a user is read', () => {
  const seen: Readonly<Record<string, readonly string[]>> = {
    guest: ['id', 'username'],
    stranger: ['id', 'createdTime', 'username', 'firstName', 'lastName'],
    self: ['id', 'createdTime', 'username', ...Object.keys(profile), 'admin'],
    admin: ['id', 'createdTime', 'username', ...Object.keys(profile), 'admin'],
  };
  for (const [as, fields] of Object.entries(seen)) {
    test(`by ${as}: ${fields.join(', ')}, alone and in the list, and nothing else`, async () => {
      const { body, text } = await make(server, { as, call: `GET /users/${ids['self']}`, expect: 200 });
      assert.deepEqual(Object.keys(body), fields);
      assert.doesNotMatch(text, /argon2|hash|version/i);
      const list = await make(server, { as, call: 'GET /users?username=self', expect: 200 });
      assert.deepEqual(list.body, [body]);
      assert.deepEqual([body.id, body.username], [ids['self'], 'self']);
    });
  }

  test('as oneself, with or without a token', async () => {
    for (const as of everybody) {
      const { body } = await make(server, { as, call: 'GET /users/me', expect: 200 });
      assert.equal(body.username, as);
    }
  });

  test('as it was given', async () => {
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    assert.deepEqual(
      { ...body, id: undefined },
      { id: undefined, createdTime: server.clock.now(), username: 'self', ...profile, admin: false },
    );
  });

  test('404 where there is none, whatever the id looks like', async () => {
    for (const id of [crypto.randomUUID(), 'self', 'nobody', '1', '__proto__', "'%20OR%201=1", '%00', '..%2fme']) {
      await make(server, { as: 'admin', call: `GET /users/${id}`, expect: 404 });
    }
    await make(server, { as: 'admin', call: `GET /users/${ids['self']?.toUpperCase()}`, expect: 200 });
  });
});

suite('the list of users', () => {
  test('is by name, in pages that are counted and linked', async () => {
    const all = await make(server, { as: 'stranger', call: 'GET /users', expect: 200 });
    const names = all.body.map(({ username }: { username: string }) => username);
    assert.deepEqual(names, [...names].sort());
    assert.equal(all.headers['x-total-count'], String(names.length));
    const page = await make(server, { as: 'stranger', call: 'GET /users?limit=2&offset=2', expect: 200 });
    assert.deepEqual(page.body, all.body.slice(2, 4));
    assert.equal(page.headers['x-total-count'], String(names.length));
    assert.match(page.headers.link as string, /limit=2&offset=4>; rel="next", <.*limit=2&offset=0>; rel="prev"/);
  });

  test('is filtered by a part of the name, whatever the case; wildcards of a store are letters like others', async () => {
    const filtered = async (part: string) => {
      const { body } = await server.call('guest', 'GET', `/users?username=${encodeURIComponent(part)}`);
      return body.map(({ username }: { username: string }) => username);
    };
    assert.deepEqual(await filtered('dmin'), ['admin', 'admin-2']);
    assert.deepEqual(await filtered('DMIN'), ['admin', 'admin-2']);
    for (const part of ['%', '_', '\\', "'", 'nobody']) assert.deepEqual(await filtered(part), [], part);
  });

  for (const query of ['limit=0', `limit=${limits.recordListMax + 1}`, 'limit=x', 'offset=-1', 'offset=x']) {
    test(`with ${query} is 400`, async () => {
      await make(server, { call: `GET /users?${query}`, expect: 400 });
    });
  }
});

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

suite('an account is changed', () => {
  test('by the user and admins alone, as a whole and field by field', async () => {
    const who = `/users/${ids['self']}`;
    await makeAll(server, [
      ...table({ call: `PUT ${who}`, json: { firstName: 'Binta' } }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/lastName`, text: 'Fall' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/email`, json: 'binta@dundun.example' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/phone`, json: ['+1', '+2'] }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/address`, text: 'Rue 11' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/facebook`, text: '["b", "c"]' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/twitter`, text: '@binta' }, [403, 403, 204, 204]),
    ]);
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    const { id: _, createdTime: __, ...rest } = body;
    assert.deepEqual(rest, {
      username: 'self',
      firstName: 'Binta',
      lastName: 'Fall',
      email: 'binta@dundun.example',
      phone: ['+1', '+2'],
      address: ['Rue 11'],
      facebook: ['b', 'c'],
      twitter: ['binta'],
      admin: false,
    });
  });

  test('field by field at once, and no change is lost', async () => {
    const who = `/users/${ids['self']}`;
    const changes = ['firstName', 'lastName', 'email'].map((field) =>
      server.call('self', 'PUT', `${who}/${field}`, { text: `new ${field}` }),
    );
    for (const { status } of await Promise.all(changes)) assert.equal(status, 204);
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    assert.deepEqual([body.firstName, body.lastName, body.email], ['new firstName', 'new lastName', 'new email']);
  });

  test('with an empty value taking a field away, and null leaving it', async () => {
    const who = `/users/${ids['self']}`;
    await makeAll(server, [
      { as: 'self', call: `PUT ${who}`, json: { firstName: null, phone: [], facebook: null }, expect: 204 },
      { as: 'self', call: `PUT ${who}/email`, text: '', expect: 204 },
      { as: 'self', call: `PUT ${who}/twitter`, text: '', expect: 204 },
    ]);
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    assert.equal(body.firstName, 'new firstName');
    for (const gone of ['phone', 'email', 'twitter']) assert.equal(gone in body, false, gone);
  });

  test('and what was read can be sent back', async () => {
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    await make(server, { as: 'self', call: `PUT /users/${ids['self']}`, json: body, expect: 204 });
    assert.deepEqual((await server.call('self', 'GET', '/users/me')).body, body);
  });

  test('never by guest, who is no user of its own', async () => {
    await makeAll(server, [
      { as: 'guest', call: `PUT /users/${ids['guest']}`, json: { phone: ['+221'] }, expect: 403 },
      { as: 'guest', call: `PUT /users/${ids['guest']}/password`, text: 'good enough', expect: 403 },
      { as: 'admin', call: `PUT /users/${ids['guest']}/password`, text: 'good enough', expect: 400 },
      { as: 'admin', call: `PUT /users/${ids['guest']}/admin`, text: 'true', expect: 422 },
    ]);
  });

  test('nobody makes themselves an admin, by any door or spelling', async () => {
    const who = `/users/${ids['stranger']}`;
    const bodies: readonly unknown[] = [
      { admin: true },
      { admin: true, firstName: 'x' },
      { key: 1, id: ids['admin'], user: ids['admin'], passwordVersion: 1, folded: 'admin', firstName: 'Mallory' },
    ];
    for (const json of bodies) {
      const asks = 'admin' in (json as object) && Object.hasOwn(json as object, 'admin');
      await make(server, { as: 'stranger', call: `PUT ${who}`, json, expect: asks ? 403 : 204 });
    }
    const prototypes = ['{"__proto__": {"admin": true}}', '{"constructor": {"prototype": {"admin": true}}}'];
    for (const body of prototypes) {
      const headers = { 'content-type': 'application/json' };
      await make(server, { as: 'stranger', call: `PUT ${who}`, body, headers, expect: 400 });
    }
    await makeAll(server, [
      { as: 'stranger', call: `PUT ${who}/admin`, text: 'true', expect: 403 },
      { as: 'stranger', call: `PUT ${who}/admin`, json: true, expect: 403 },
      { as: 'stranger', call: `PUT ${who}`, json: { username: 'admin' }, expect: 400 },
      { as: 'stranger', call: `PUT ${who}`, json: { password: 'good enough' }, expect: 400 },
      { as: 'stranger', call: `PUT ${who}/id`, text: ids['admin'] ?? '', expect: 404 },
      { as: 'stranger', call: `PUT ${who}/username`, text: 'admin', expect: 404 },
      { as: 'stranger', call: `PUT ${who}/createdTime`, text: '0', expect: 404 },
    ]);
    const { body } = await make(server, { as: 'stranger', call: 'GET /users/me', expect: 200 });
    assert.deepEqual([body.id, body.username, body.admin], [ids['stranger'], 'stranger', false]);
    await make(server, { as: 'stranger', call: 'POST /users', json: { username: 'y', password }, expect: 403 });
  });

  test('to an admin and back by another, at once; the last one stays', async () => {
    const who = `/users/${ids['stranger']}/admin`;
    const create = { as: 'stranger', call: `PUT /users/${ids['self']}/firstName`, text: 'by an admin' };
    await makeAll(server, [
      { as: 'admin', call: `PUT ${who}`, text: 'true', expect: 204 },
      { ...create, expect: 204 },
      { as: 'admin', call: `PUT ${who}`, json: false, expect: 204 },
      { ...create, expect: 403 },
      { as: 'admin', call: `PUT /users/${ids['admin-2']}`, json: { admin: false }, expect: 204 },
      { as: 'admin', call: `PUT /users/${ids['admin']}/admin`, json: false, expect: 422 },
      { as: 'admin', call: `PUT /users/${ids['admin']}`, json: { admin: false }, expect: 422 },
      { as: 'admin', call: `PUT /users/${ids['admin-2']}`, json: { admin: true }, expect: 204 },
    ]);
    // Two admins who take it from each other at the same moment.
    const both = await Promise.all([
      server.call('admin', 'PUT', `/users/${ids['admin-2']}/admin`, { json: false }),
      server.call('admin-2', 'PUT', `/users/${ids['admin']}/admin`, { json: false }),
    ]);
    const statuses = both.map(({ status }) => status).sort();
    // Whoever comes second is the last admin, or none any more.
    assert.equal(statuses[0], 204);
    assert.ok(statuses[1] === 422 || statuses[1] === 403, String(statuses[1]));
    const left = both[0]?.status === 204 ? 'admin' : 'admin-2';
    for (const name of ['admin', 'admin-2']) {
      await server.call(left, 'PUT', `/users/${ids[name]}/admin`, { json: true });
    }
  });
});

suite('a password', () => {
  const login = (username: string, secret: string, expect: number): Call => {
    return { call: 'POST /auth/token', json: { username, password: secret }, expect };
  };

  test('is changed by oneself who knows the present one, and by admins', async () => {
    await addUsers(server.folder, ['changing'], server.clock);
    await learnIds();
    const who = `PUT /users/${ids['changing']}/password`;
    const token = await server.token('changing');
    const as = (authorization: string, json: unknown, expect: number) => {
      return make(server, { call: who, json, headers: { authorization: `Bearer ${authorization}` }, expect });
    };
    await as(token, 'another drum', 400);
    await as(token, { password: 'another drum' }, 400);
    await as(token, { current: 'wrong', password: 'another drum' }, 403);
    await as(token, { current: password }, 400);
    await as(token, { current: password, password: 'short' }, 400);
    await as(token, { current: password, password: 12345678 }, 400);
    await makeAll(server, [
      { as: 'stranger', call: who, json: { current: password, password: 'another drum' }, expect: 403 },
      { as: 'guest', call: who, text: 'another drum', expect: 403 },
    ]);
    await as(token, { current: password, password: 'another drum' }, 204);
    // At once: no clock was turned.
    await as(token, { current: 'another drum', password: 'a third one' }, 401);
    await makeAll(server, [login('changing', password, 401), login('changing', 'another drum', 200)]);
    for (const [body, next] of [
      [{ text: 'from an admin' }, 'from an admin'],
      [{ json: 'in JSON too' }, 'in JSON too'],
      [{ json: { password: 'as an object' } }, 'as an object'],
    ] as const) {
      await makeAll(server, [{ as: 'admin', call: who, ...body, expect: 204 }, login('changing', next, 200)]);
    }
    await makeAll(server, [
      { as: 'admin', call: who, text: 'short', expect: 400 },
      { as: 'admin', call: who, json: null, expect: 400 },
      { as: 'admin', call: who, json: ['x'], expect: 400 },
      { as: 'admin', call: who, expect: 400 },
      { as: 'admin', call: `PUT /users/${crypto.randomUUID()}/password`, text: 'good enough', expect: 404 },
    ]);
  });

  test('is not guessed with a stolen token: guesses are slowed down', async () => {
    await addUsers(server.folder, ['guessed'], server.clock);
    await learnIds();
    const guess = (expect: number): Call => {
      const json = { current: 'guess', password: 'of the thief' };
      return { as: 'guessed', call: `PUT /users/${ids['guessed']}/password`, json, expect };
    };
    await server.token('guessed');
    await makeAll(server, Array(limits.loginFailuresMax).fill(guess(403)));
    await make(server, guess(429));
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
