// Users (contract 2): which fields each caller sees and changes, passwords, and what a stranger cannot do.
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
  telegram: ['123456789', '@field_news'],
  webhook: ['https://awa.dundun.example/messages'],
  messages_from: 'sharers',
};
const everybody = ['guest', 'stranger', 'self', 'admin'] as const;

/** One call for each of them, with the status each must have. */
const table = (call: Omit<Call, 'as' | 'expect'>, expects: readonly [number, number, number, number]): Call[] =>
  everybody.map((as, n) => ({ ...call, as, expect: expects[n] as number }));

suite('the credit of paid messages', () => {
  test('is set by an admin alone, as a number or as text, and shown to them and the user', async () => {
    const call = `PUT /users/${ids['self']}/sms_credit`;
    await makeAll(server, table({ call, json: 7 }, [403, 403, 403, 204]));
    const creditFor = async (as: string) => (await server.call(as, 'GET', `/users/${ids['self']}`)).body.smsCredit;
    assert.deepEqual(await Promise.all(everybody.map(creditFor)), [undefined, undefined, 7, 7]);
    await make(server, { as: 'admin', call, text: '12', expect: 204 });
    assert.equal(await creditFor('self'), 12);
    for (const json of [-1, 1.5, 'many', true, {}, [], 1e12]) {
      await make(server, { as: 'admin', call, json, expect: 400 });
    }
    await make(server, { as: 'admin', call, expect: 400 });
    // What clients send back of a record does not change it.
    await make(server, { as: 'self', call: `PUT /users/${ids['self']}`, json: { smsCredit: 99 }, expect: 204 });
    assert.equal(await creditFor('self'), 12);
    await server.restart();
    assert.equal(await creditFor('self'), 12);
    await make(server, { as: 'admin', call, json: null, expect: 204 });
    assert.equal(await creditFor('self'), undefined);
    await make(server, { as: 'admin', call, json: 3, expect: 204 });
    await make(server, { as: 'admin', call, text: '', expect: 204 });
    assert.equal(await creditFor('admin'), undefined);
    await make(server, { as: 'admin', call: 'PUT /users/no-such-user/sms_credit', json: 3, expect: 404 });
  });
});

suite('a user is read', () => {
  const seen: Readonly<Record<string, readonly string[]>> = {
    guest: ['id', 'username'],
    stranger: ['id', 'createdTime', 'username', 'firstName', 'lastName'],
    self: [
      'id',
      'createdTime',
      'username',
      ...Object.keys(profile).slice(0, -1),
      'webhook_key',
      'messages_from',
      'admin',
    ],
    admin: ['id', 'createdTime', 'username', ...Object.keys(profile), 'admin'],
  };
  for (const [as, fields] of Object.entries(seen)) {
    test(`by ${as}: ${fields.join(', ')}, alone and, but for its key, in the list, and nothing else`, async () => {
      const { body, text } = await make(server, { as, call: `GET /users/${ids['self']}`, expect: 200 });
      assert.deepEqual(Object.keys(body), fields);
      assert.doesNotMatch(text, /argon2|hash|version/i);
      const list = await make(server, { as, call: 'GET /users?username=self', expect: 200 });
      // The key of webhooks is in no list, because lists are compressed beside texts of others.
      const { webhook_key: _, ...listed } = body;
      assert.deepEqual(list.body, [listed]);
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
      {
        ...{ id: undefined, createdTime: server.clock.now(), username: 'self', ...profile, admin: false },
        webhook_key: body.webhook_key,
      },
    );
    assert.match(body.webhook_key, /^whsec_[A-Za-z0-9+/]{43}=$/);
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
    for (const part of ['%', '_', '\\', "'", '\0', 'nobody']) assert.deepEqual(await filtered(part), [], part);
  });

  for (const query of ['limit=0', `limit=${limits.recordListMax + 1}`, 'limit=x', 'offset=-1', 'offset=x']) {
    test(`with ${query} is 400`, async () => {
      await make(server, { call: `GET /users?${query}`, expect: 400 });
    });
  }
});

suite('an account is changed', () => {
  test('by the user and admins alone, as a whole and field by field', async () => {
    const who = `/users/${ids['self']}`;
    await makeAll(server, [
      ...table({ call: `PUT ${who}`, json: { firstName: 'Binta' } }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/lastName`, text: 'Fall' }, [403, 403, 204, 204]),
      ...table(
        { call: `PUT ${who}/email`, json: { current: password, email: 'binta@dundun.example' } },
        [403, 403, 204, 204],
      ),
      ...table({ call: `PUT ${who}/phone`, json: ['+221 77 111 11 11', '+33 (0)1 42 68 53 00'] }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/address`, text: 'Rue 11' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/facebook`, text: '["b", "c"]' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/twitter`, text: '@binta' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/telegram`, json: ['-1001234567890'] }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/webhook`, text: 'http://HOOK.dundun.example:80/a b' }, [403, 403, 204, 204]),
      ...table({ call: `PUT ${who}/messages_from`, text: 'self' }, [403, 403, 204, 204]),
    ]);
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    const { id: _, createdTime: __, webhook_key: ___, ...rest } = body;
    assert.deepEqual(rest, {
      username: 'self',
      firstName: 'Binta',
      lastName: 'Fall',
      email: 'binta@dundun.example',
      phone: ['+221771111111', '+33142685300'],
      address: ['Rue 11'],
      facebook: ['b', 'c'],
      twitter: ['binta'],
      telegram: ['-1001234567890'],
      webhook: ['http://hook.dundun.example/a%20b'],
      messages_from: 'self',
      admin: false,
    });
  });

  test('field by field at once, and no change is lost', async () => {
    const who = `/users/${ids['self']}`;
    const changes = ['firstName', 'lastName', 'email'].map((field) =>
      server.call(field === 'email' ? 'admin' : 'self', 'PUT', `${who}/${field}`, { text: `new ${field}` }),
    );
    for (const { status } of await Promise.all(changes)) assert.equal(status, 204);
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    assert.deepEqual([body.firstName, body.lastName, body.email], ['new firstName', 'new lastName', 'new email']);
  });

  test('with an empty value taking a field away, and null leaving it', async () => {
    const who = `/users/${ids['self']}`;
    await makeAll(server, [
      { as: 'self', call: `PUT ${who}`, json: { firstName: null, phone: [], facebook: null }, expect: 204 },
      { as: 'self', call: `PUT ${who}/email`, json: { current: password, email: '' }, expect: 204 },
      { as: 'self', call: `PUT ${who}/twitter`, text: '', expect: 204 },
      { as: 'self', call: `PUT ${who}/messages_from`, text: '', expect: 204 },
      { as: 'self', call: `PUT ${who}`, json: { webhook: [], telegram: [] }, expect: 204 },
    ]);
    const { body } = await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
    assert.equal(body.firstName, 'new firstName');
    for (const gone of ['phone', 'email', 'twitter', 'telegram', 'webhook', 'messages_from'])
      assert.equal(gone in body, false, gone);
  });

  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    phone: [
      ...['0771234567', '771234567', '+1', '+221', '+22177', '+2217700000001', '+999123456', '+1-800-FLOWERS'],
      ...['+221770000000;ext=5', '+221770000000 ext. 5', 'call +221770000000', '+٢٢١٧٧٠٠٠٠٠٠٠', '+', ''],
    ],
    telegram: ['awa', '@a', '0', '1'.repeat(20), '1.5', '@a/b', ' ', '-', '@names with spaces'],
    webhook: [
      ...['awa.example/hook', '//awa.example', 'ftp://awa.example', 'file:///etc/passwd', 'javascript:alert(1)'],
      ...[
        'http://',
        'https://awa:secret@awa.example/',
        'https://awa.example/#part',
        `https://a.example/${'a'.repeat(600)}`,
      ],
    ],
  };
  for (const [field, entries] of Object.entries(wrong)) {
    test(`never to a ${field} that is none, which is named`, async () => {
      const who = `/users/${ids['self']}`;
      const right = profile[field as 'phone'][0];
      for (const entry of entries) {
        const list = { as: 'self', call: `PUT ${who}/${field}`, json: [right, entry], expect: 400 };
        const { body } = await make(server, list);
        assert.equal(body.errors[0].pointer, `/${field}/1`, String(entry));
        await make(server, { as: 'self', call: `PUT ${who}`, json: { [field]: [entry] }, expect: 400 });
      }
    });
  }

  test('never to a choice of senders that is none', async () => {
    const who = `/users/${ids['self']}`;
    for (const text of ['nobody', 'Everyone', 'self,sharers', '__proto__']) {
      await make(server, { as: 'self', call: `PUT ${who}/messages_from`, text, expect: 400 });
      await make(server, { as: 'self', call: `PUT ${who}`, json: { messages_from: text }, expect: 400 });
    }
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
