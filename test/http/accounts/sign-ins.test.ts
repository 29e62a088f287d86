// The keys and sessions of a user (contract 3): who sees and ends them, and what ends with them.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { addUsers, password } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

let server: TestServer;
let who: string;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['self'], server.clock);
  const { body } = await server.call('admin', 'GET', '/users?username=self');
  who = `/users/${body[0].id}`;
});
after(() => server.stop());

const cookieOf = ({ headers }: Answer) => String(headers['set-cookie']).split(';')[0] as string;
const signIn = (agent = 'Test') => {
  const call = { call: 'POST /auth/session', json: { username: 'self', password } };
  return make(server, { ...call, headers: { 'user-agent': agent }, expect: 200 });
};
const withToken = (token: string, call: string, expect: number) =>
  make(server, { call, headers: { authorization: `Bearer ${token}` }, expect });
const makeKey = async (as: string, json: object = {}) => {
  return (await make(server, { as, call: 'POST /auth/keys', json: { name: 'k', ...json }, expect: 200 })).body;
};
const everybody = [
  ['guest', 403],
  ['stranger', 403],
  ['owner', 403],
] as const;

suite('keys of a user', () => {
  test('are seen by the user and admins, one or all are revoked by them, and by nobody else', async () => {
    const [one, two, three] = [await makeKey('self'), await makeKey('self'), await makeKey('self')];
    const adminsKey = await makeKey('admin', { scopes: ['admin'] });
    const refused: Call[] = everybody.flatMap(([as, expect]) => [
      { as, call: `GET ${who}/keys`, expect },
      { as, call: `DELETE ${who}/keys/${one.id}`, expect },
      { as, call: `DELETE ${who}/keys`, expect },
    ]);
    await makeAll(server, refused);
    for (const { key } of [one, adminsKey]) {
      await withToken(key, `GET ${who}/keys`, 403);
      await withToken(key, `DELETE ${who}/keys/${one.id}`, 403);
      await withToken(key, `DELETE ${who}/keys`, 403);
    }
    for (const as of ['self', 'admin']) {
      const { body, text } = await make(server, { as, call: `GET ${who}/keys`, expect: 200 });
      assert.deepEqual(
        body.map(({ id }: { id: string }) => id),
        [one.id, two.id, three.id],
      );
      assert.doesNotMatch(text, /dundun_|hash/);
    }
    await makeAll(server, [
      { as: 'admin', call: `DELETE ${who}/keys/${adminsKey.id}`, expect: 404 },
      { as: 'admin', call: `DELETE ${who}/keys/nothing`, expect: 404 },
      { as: 'admin', call: `GET /users/${crypto.randomUUID()}/keys`, expect: 404 },
      { as: 'admin', call: `DELETE ${who}/keys/${one.id}`, expect: 204 },
    ]);
    await withToken(one.key, 'GET /devices', 401);
    await withToken(two.key, 'GET /devices', 200);
    const byKey = await Client.connect(server, '', { password: two.key, clientId: 'by-key' });
    const byPassword = await Client.connect(server, 'self', { clientId: 'by-password' });
    await make(server, { as: 'self', call: `DELETE ${who}/keys`, expect: 204 });
    await byKey.closed;
    await byPassword.roundTrip();
    await byPassword.end();
    for (const { key } of [two, three]) await withToken(key, 'GET /devices', 401);
    await withToken(adminsKey.key, 'GET /devices', 200);
  });

  test('end with a reset of the password by an admin, and stay when the user changes it', async () => {
    const kept = await makeKey('self');
    await make(server, {
      ...{
        as: 'self',
        call: `PUT ${who}/password`,
        json: { current: password, password: 'another drum' },
        expect: 204,
      },
    });
    await withToken(kept.key, 'GET /devices', 200);
    const byKey = await Client.connect(server, '', { password: kept.key, clientId: 'by-key' });
    await make(server, { as: 'admin', call: `PUT ${who}/password`, text: password, expect: 204 });
    await withToken(kept.key, 'GET /devices', 401);
    await byKey.closed;
    server.clock.advance(600_000);
    const { body } = await make(server, { as: 'self', call: `GET ${who}/keys`, expect: 200 });
    assert.deepEqual(body, []);
  });
});

suite('sessions of a user', () => {
  test('are seen by the user and admins, with where they were begun, and this one is marked', async () => {
    const [first, second] = [await signIn('Phone'), await signIn('Desktop')];
    server.clock.advance(1000);
    await make(server, {
      call: 'PUT /auth/session',
      headers: { cookie: cookieOf(first), 'user-agent': 'Phone 2' },
      expect: 200,
    });
    const { body, text } = await withToken(second.text, `GET ${who}/sessions`, 200);
    const seen = body.map(({ user_agent, address, current }: Record<string, unknown>) => [
      user_agent,
      address,
      current,
    ]);
    assert.deepEqual(seen, [
      ['Phone 2', '127.0.0.1', false],
      ['Desktop', '127.0.0.1', true],
    ]);
    assert.equal(Date.parse(body[0].last_used) - Date.parse(body[0].date_created), 1000);
    assert.doesNotMatch(text, /hash|family|previous/);
    const byAdmin = await make(server, { as: 'admin', call: `GET ${who}/sessions`, expect: 200 });
    assert.equal(byAdmin.body.length, 2);
    const key = await makeKey('self');
    await makeAll(
      server,
      everybody.map(([as, expect]) => ({ as, call: `GET ${who}/sessions`, expect })),
    );
    await withToken(key.key, `GET ${who}/sessions`, 403);
    await withToken(key.key, `DELETE ${who}/sessions`, 403);
    await makeAll(
      server,
      everybody.flatMap(([as, expect]) => [
        { as, call: `DELETE ${who}/sessions`, expect },
        { as, call: `DELETE ${who}/sessions/${body[0].id}`, expect },
      ]),
    );
  });

  test('end at once, one or all, with the tokens that were got by them', async () => {
    await make(server, { as: 'admin', call: `DELETE ${who}/sessions`, expect: 204 });
    const [one, two, three] = [await signIn(), await signIn(), await signIn()];
    const { body } = await withToken(one.text, `GET ${who}/sessions`, 200);
    const own = body.find(({ current }: { current: boolean }) => current).id;
    await withToken(two.text, `DELETE ${who}/sessions/${own}`, 204);
    await withToken(one.text, 'GET /users/me', 401);
    await make(server, { call: 'PUT /auth/session', headers: { cookie: cookieOf(one) }, expect: 401 });
    await withToken(two.text, 'GET /users/me', 200);
    await withToken(two.text, `DELETE ${who}/sessions/${own}`, 404);
    await make(server, { as: 'stranger', call: `DELETE ${who}/sessions/${own}`, expect: 403 });
    await withToken(three.text, `DELETE ${who}/sessions`, 204);
    for (const { text } of [two, three]) await withToken(text, 'GET /users/me', 401);
    await make(server, { as: 'self', call: 'GET /users/me', expect: 200 });
  });
});

suite('the secret of a session', () => {
  const renew = (cookie: string, expect: number) =>
    make(server, { call: 'PUT /auth/session', headers: { cookie }, expect });

  test('is another one after each use', async () => {
    const cookies = [cookieOf(await signIn())];
    for (let n = 0; n < 3; n++) {
      server.clock.advance(limits.refreshSessionGraceMs);
      cookies.push(cookieOf(await renew(cookies.at(-1) as string, 200)));
    }
    assert.equal(new Set(cookies).size, 4);
  });

  test('that was replaced is good for a moment, and gives all who ask at once the same', async () => {
    const first = cookieOf(await signIn());
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => server.send('PUT', '/api/v2/auth/session', { headers: { cookie: first } })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(8).fill(200),
    );
    const [second, ...others] = new Set(answers.map(cookieOf));
    assert.deepEqual(others, []);
    server.clock.advance(limits.refreshSessionGraceMs - 1);
    assert.equal(cookieOf(await renew(first, 200)), second);
    await renew(second as string, 200);
  });

  test('that was stolen ends the session when either of the two uses an old one', async () => {
    const first = cookieOf(await signIn());
    const second = cookieOf(await renew(first, 200));
    server.clock.advance(limits.refreshSessionGraceMs);
    const third = await renew(second, 200);
    server.clock.advance(1);
    // This ends the session, so rows do change.
    const stolen = await server.send('PUT', '/api/v2/auth/session', { headers: { cookie: first } });
    assert.equal(stolen.status, 401);
    await renew(cookieOf(third), 401);
    await withToken(third.text, 'GET /users/me', 401);
  });

  test('is over after its longest time, however much it is used', async () => {
    let cookie = cookieOf(await signIn());
    const stepMs = limits.refreshSessionIdleMs - 1;
    for (let leftMs = limits.refreshSessionLifetimeMs - 1; leftMs > 0; leftMs -= stepMs) {
      server.clock.advance(Math.min(stepMs, leftMs));
      cookie = cookieOf(await renew(cookie, 200));
    }
    server.clock.advance(1);
    await renew(cookie, 401);
  });

  test('made up for a session that is not there is nobody’s, and ends nothing', async () => {
    const cookie = cookieOf(await signIn());
    await renew(`dundun_renewal=${'A'.repeat(43)}`, 401);
    await renew(cookie, 200);
  });
});
