// Getting and using a token (spec 5, contract 2): forms, lifetimes, and when it is no longer valid.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SignJWT } from 'jose';
import { make, makeAll } from '../../support/api/calls.ts';
import { addUsers, password, removeUser, setAdmin, setPassword } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['changing', 'leaving', 'rising'], server.clock);
  await server.call('owner', 'POST', '/devices', { json: { id: 'private' } });
  await server.call('owner', 'POST', '/devices', { json: { id: 'public', visibility: 'public' } });
});
after(() => server.stop());

const login = (username: string, headers: Record<string, string> = {}) => {
  return { call: 'POST /auth/token', json: { username, password }, headers, expect: 200 };
};
const use = (authorization: string, expect: number, path = '/devices/private') => {
  return make(server, { call: `GET ${path}`, headers: { authorization }, expect });
};
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

suite('the token comes', () => {
  const forms: readonly (readonly [accept: string | undefined, isJson: boolean])[] = [
    [undefined, false],
    ['*/*', false],
    ['text/plain', false],
    ['application/json', true],
    ['application/json, text/plain, */*', false],
    ['application/json, */*;q=0.1', true],
    ['text/plain;q=0.5, application/json', true],
    ['text/plain, application/json;q=0.9', false],
    ['text/*;q=0.2, application/json;q=0.3', true],
    ['application/*', true],
    ['text/html', false],
    ['nonsense', false],
  ];
  for (const [accept, isJson] of forms) {
    test(`${isJson ? 'as a JSON string' : 'bare'} where Accept is ${accept}`, async () => {
      const headers = accept === undefined ? {} : { accept };
      const answer = await make(server, login('owner', headers));
      const type = isJson ? 'application/json; charset=utf-8' : 'text/plain;charset=utf-8';
      assert.equal(answer.headers['content-type'], type);
      const token = isJson ? (JSON.parse(answer.text) as string) : answer.text;
      assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
      assert.equal(answer.headers['cache-control'], 'no-store');
      await use(`Bearer ${token}`, 200);
    });
  }

  test('with who it is for and ten minutes to live', async () => {
    const nowS = Math.floor(server.clock.now() / 1000);
    const claims = claimsOf((await make(server, login('admin'))).text);
    assert.match(claims.sub, /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    assert.deepEqual([claims.preferred_username, claims.admin], ['admin', true]);
    assert.deepEqual([claims.iat, claims.exp], [nowS, nowS + 600]);
  });
});

test('a token is taken bare, in quotes, and whatever the case of Bearer', async () => {
  const { text: token } = await make(server, login('owner'));
  for (const header of [`Bearer ${token}`, `Bearer "${token}"`, `bearer ${token}`, `BEARER   ${token}`]) {
    await use(header, 200);
  }
});

suite('401 on every kind of route is the answer to', () => {
  const sign = (claims: object, key = new Uint8Array(32), alg = 'HS256') => {
    const nowS = Math.floor(server.clock.now() / 1000);
    return new SignJWT({ pv: 1, iss: 'dundun', sub: crypto.randomUUID(), iat: nowS, exp: nowS + 600, ...claims })
      .setProtectedHeader({ alg })
      .sign(key);
  };
  const none = (token: string) => {
    const header = Buffer.from('{"alg":"none"}').toString('base64url');
    return `${header}.${token.split('.')[1]}.`;
  };
  const bad: Readonly<Record<string, (good: string) => string | Promise<string>>> = {
    'an empty header': () => '',
    'Bearer alone': () => 'Bearer',
    'Bearer with an empty token': () => 'Bearer ""',
    'a login instead of a token': () => `Basic ${Buffer.from(`owner:${password}`).toString('base64')}`,
    'a bare token': (good) => good,
    'what is no token': () => 'Bearer drum',
    'a token with something behind it': (good) => `Bearer ${good} x`,
    'a token cut short': (good) => `Bearer ${good.slice(0, -2)}`,
    'a token signed by somebody else': async () => `Bearer ${await sign({})}`,
    'a token without a signature': (good) => `Bearer ${none(good)}`,
    'a token with other claims under an old signature': (good) => {
      const claims = Buffer.from(JSON.stringify({ ...claimsOf(good), admin: true })).toString('base64url');
      return `Bearer ${good.split('.').with(1, claims).join('.')}`;
    },
    'two tokens': (good) => `Bearer ${good}, Bearer ${good}`,
    'a very long token': () => `Bearer ${'x'.repeat(8000)}`,
  };
  for (const [what, header] of Object.entries(bad)) {
    test(what, async () => {
      const { text } = await make(server, login('owner'));
      const headers = { authorization: await header(text) };
      await makeAll(server, [
        { call: 'GET /devices/public', headers, expect: 401 },
        { call: 'GET /devices/none', headers, expect: 401 },
        { call: 'GET /devices', headers, expect: 401 },
        { call: 'POST /devices', json: { id: 'x' }, headers, expect: 401 },
        { call: 'PUT /devices/public/name', text: 'x', headers, expect: 401 },
        { call: 'DELETE /devices/public', headers, expect: 401 },
        { call: 'GET /auth/permissions/devices', headers, expect: 401 },
      ]);
    });
  }
});

test('a token expires after ten minutes to the second, used before or not', async () => {
  const { text: used } = await make(server, login('owner'));
  await use(`Bearer ${used}`, 200);
  server.clock.advance(1);
  const { text: unused } = await make(server, login('owner'));
  server.clock.advance(599_000 - 1);
  await use(`Bearer ${used}`, 200);
  server.clock.advance(1_000);
  const { body } = await use(`Bearer ${used}`, 401);
  assert.match(body.detail, /expired/);
  await use(`Bearer ${unused}`, 401);
  await use(`Bearer ${used}`, 401, '/devices/public');
});

test('a token outlives a restart', async () => {
  const token = await server.token('owner');
  await server.restart();
  await use(`Bearer ${token}`, 200);
});

test('a new password ends the tokens made before, within the same second too', async () => {
  const { text: before } = await make(server, login('changing'));
  await use(`Bearer ${before}`, 200, '/devices');
  await setPassword(server.folder, 'changing', 'a new password');
  server.clock.advance(1_000);
  await use(`Bearer ${before}`, 401, '/devices');
  await makeAll(server, [
    { call: 'POST /auth/token', json: { username: 'changing', password }, expect: 401 },
    { call: 'POST /auth/token', json: { username: 'changing', password: 'a new password' }, expect: 200 },
  ]);
  await setPassword(server.folder, 'changing', password);
  server.clock.advance(1_000);
  const { text: after } = await make(server, login('changing'));
  assert.equal(claimsOf(after).iat - claimsOf(before).iat, 2);
  await use(`Bearer ${after}`, 200, '/devices');
  await use(`Bearer ${before}`, 401, '/devices');
});

test('the token of a user who is gone is no good, not even when one of that name comes', async () => {
  const { text: token } = await make(server, login('leaving'));
  await use(`Bearer ${token}`, 200, '/devices');
  await removeUser(server.folder, 'leaving');
  server.clock.advance(1_000);
  await use(`Bearer ${token}`, 401, '/devices');
  await make(server, { ...login('leaving'), expect: 401 });
  await addUsers(server.folder, ['leaving'], server.clock);
  server.clock.advance(1_000);
  await use(`Bearer ${token}`, 401, '/devices');
  await make(server, login('leaving'));
});

test('being an admin is looked up now, not taken from the token', async () => {
  const { text: token } = await make(server, login('rising'));
  await use(`Bearer ${token}`, 403);
  await setAdmin(server.folder, 'rising', true);
  server.clock.advance(1_000);
  await use(`Bearer ${token}`, 200);
  const { text: admins } = await make(server, login('rising'));
  assert.equal(claimsOf(admins).admin, true);
  await setAdmin(server.folder, 'rising', false);
  server.clock.advance(1_000);
  await use(`Bearer ${admins}`, 403);
});
