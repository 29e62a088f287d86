// Refresh sessions (contract 2): the cookie gives new tokens and nothing else, and who cannot use it.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { addUsers, password } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['changing', 'leaving', 'many'], server.clock);
});
after(() => server.stop());

const signIn = (username: string, headers: Record<string, string> = {}) => {
  return make(server, { call: 'POST /auth/session', json: { username, password }, headers, expect: 200 });
};
const cookieOf = ({ headers }: Answer) => String(headers['set-cookie']).split(';')[0] as string;
const renew = (cookie: string, expect: number, headers: Record<string, string> = {}) => {
  return make(server, { call: 'PUT /auth/session', headers: { cookie, ...headers }, expect });
};

suite('a session', () => {
  test('begins with a token and a cookie that no script and no other site gets at', async () => {
    const answer = await signIn('owner');
    await make(server, { call: 'GET /users/me', headers: { authorization: `Bearer ${answer.text}` }, expect: 200 });
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['set-cookie']?.length, 1);
    assert.match(
      String(answer.headers['set-cookie']),
      /^dundun_renewal=[\w-]{43}; Path=\/api\/v2\/auth\/session; Max-Age=1209600; HttpOnly; SameSite=Strict$/,
    );
    assert.doesNotMatch(JSON.stringify(await server.rows()), new RegExp(cookieOf(answer).split('=')[1] ?? ''));
  });

  test('renews the token by the cookie, as text or JSON, over a restart too', async () => {
    const cookie = cookieOf(await signIn('owner'));
    server.clock.advance(limits.tokenLifetimeS * 1000);
    const { text, headers } = await renew(`other=1; ${cookie}; more=2`, 200);
    assert.match(String(headers['set-cookie']), /^dundun_renewal=[\w-]{43}; /);
    const me = await make(server, { call: 'GET /users/me', headers: { authorization: `Bearer ${text}` }, expect: 200 });
    assert.equal(me.body.username, 'owner');
    assert.match((await renew(cookie, 200, { accept: 'application/json' })).body, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    await server.restart();
    await renew(cookie, 200);
  });

  test('is good for nothing but a new token', async () => {
    const cookie = cookieOf(await signIn('owner'));
    const secret = cookie.split('=')[1] ?? '';
    await server.call('owner', 'POST', '/devices', { json: { id: 'mine' } });
    await makeAll(server, [
      { call: 'GET /devices/mine', headers: { cookie }, expect: 403 },
      { call: 'GET /auth/keys', headers: { cookie }, expect: 403 },
      { call: 'GET /devices', headers: { authorization: `Bearer ${secret}` }, expect: 401 },
      { call: 'POST /auth/token', json: { username: 'owner', password: secret }, expect: 401 },
    ]);
    const { body } = await make(server, { call: 'GET /users/me', headers: { cookie }, expect: 200 });
    assert.equal(body.username, 'guest');
  });

  test('ends with DELETE, once or twice', async () => {
    const cookie = cookieOf(await signIn('owner'));
    for (const headers of [{ cookie }, { cookie }, {}]) {
      const ended = await make(server, { call: 'DELETE /auth/session', headers, expect: 204 });
      assert.match(String(ended.headers['set-cookie']), /^dundun_renewal=; .*Max-Age=0/);
    }
    await renew(cookie, 401);
  });

  test('ends with the password, with the user, and when it is not used', async () => {
    for (const name of ['changing', 'leaving']) {
      const cookie = cookieOf(await signIn(name));
      const { body } = await server.call('admin', 'GET', `/users?username=${name}`);
      const who = `/users/${body[0].id}`;
      const end = { as: 'admin', call: name === 'leaving' ? `DELETE ${who}` : `PUT ${who}/password`, expect: 204 };
      await make(server, name === 'leaving' ? end : { ...end, text: 'another drum' });
      await renew(cookie, 401);
    }
    const [idle, used] = [cookieOf(await signIn('owner')), cookieOf(await signIn('owner'))];
    server.clock.advance(limits.refreshSessionIdleMs - 1);
    const moved = await renew(used, 200);
    server.clock.advance(1);
    await renew(idle, 401);
    await renew(cookieOf(moved), 200);
  });

  test('is one of so many a user: the oldest gives way', async () => {
    const cookies: string[] = [];
    for (let n = 0; n <= limits.refreshSessionsPerUserMax; n++) cookies.push(cookieOf(await signIn('many')));
    await renew(cookies[0] as string, 401);
    await renew(cookies[1] as string, 200);
    await renew(cookies.at(-1) as string, 200);
  });
});

suite('a session is refused', () => {
  test('with a wrong login, as at the other door, and slowed down alike', async () => {
    const wrong = { call: 'POST /auth/session', json: { username: 'stranger', password: 'wrong' } };
    for (let n = 0; n < limits.loginFailuresMax; n++) {
      const { headers } = await make(server, { ...wrong, expect: 401 });
      assert.equal(headers['set-cookie'], undefined);
    }
    await make(server, { ...wrong, expect: 429 });
    await make(server, { call: 'POST /auth/token', json: { username: 'stranger', password }, expect: 429 });
  });

  test('to who has no cookie, or one that is none', async () => {
    await make(server, { call: 'PUT /auth/session', expect: 401 });
    for (const value of ['', 'x', 'A'.repeat(43), 'A'.repeat(5000), '%00', '"']) {
      await renew(`dundun_renewal=${value}`, 401);
    }
  });

  test('to pages of other sites', async () => {
    const cookie = cookieOf(await signIn('owner'));
    for (const site of ['cross-site', 'same-site']) {
      await renew(cookie, 403, { 'sec-fetch-site': site });
      await makeAll(server, [
        { call: 'DELETE /auth/session', headers: { cookie, 'sec-fetch-site': site }, expect: 403 },
        {
          call: 'POST /auth/session',
          json: { username: 'owner', password },
          headers: { 'sec-fetch-site': site },
          expect: 403,
        },
      ]);
    }
    // What a form of another site can send is not taken for a login.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const body = JSON.stringify({ username: 'owner', password });
      await make(server, { call: 'POST /auth/session', body, headers: { 'content-type': type }, expect: 415 });
    }
    // CORS lets no page of elsewhere send the cookie or see the answer.
    const origin = 'https://evil.example';
    const preflight = await server.send('OPTIONS', '/api/v2/auth/session', {
      headers: { origin, 'access-control-request-method': 'PUT' },
    });
    const answer = await renew(cookie, 200, { origin });
    for (const { headers } of [preflight, answer]) assert.equal(headers['access-control-allow-credentials'], undefined);
    await renew(cookie, 200, { 'sec-fetch-site': 'same-origin' });
  });

  test('and its cookie is Secure where the page came by TLS', async () => {
    await server.restart({ DUNDUN_TRUST_PROXY: '127.0.0.1' });
    const { headers } = await signIn('owner', { 'x-forwarded-proto': 'https' });
    assert.match(String(headers['set-cookie']), /; Secure$/);
  });
});
