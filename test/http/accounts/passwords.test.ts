// New passwords (contract 2): an admin needs the current one to change their own, and common passwords are refused.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const login = (username: string, secret: string, expect: number): Call => {
  return { call: 'POST /auth/token', json: { username, password: secret }, expect };
};

async function idsOf(server: TestServer): Promise<Record<string, string>> {
  const { body } = await server.call('admin', 'GET', '/users');
  return Object.fromEntries(body.map(({ id, username }: Record<string, string>) => [username, id]));
}

suite('an admin', () => {
  let server: TestServer;
  let ids: Record<string, string>;
  before(async () => {
    server = await TestServer.start();
    await addUsers(server.folder, ['admin-2', 'self'], server.clock);
    ids = await idsOf(server);
  });
  after(() => server.stop());

  test('changes their own password only with the present one, by every form of the body', async () => {
    const call = `PUT /users/${ids['admin']}/password`;
    await makeAll(server, [
      { as: 'admin', call, text: 'another drum', expect: 400 },
      { as: 'admin', call, json: 'another drum', expect: 400 },
      { as: 'admin', call, json: { password: 'another drum' }, expect: 400 },
      { as: 'admin', call, json: { current: 'wrong', password: 'another drum' }, expect: 403 },
      login('admin', password, 200),
    ]);
    const { body } = await make(server, { as: 'admin', call, text: 'another drum', expect: 400 });
    assert.equal(body.errors[0].pointer, '/current');
  });

  test('resets that of another, an admin among them, without any', async () => {
    await makeAll(server, [
      { as: 'admin', call: `PUT /users/${ids['admin-2']}/password`, text: 'another drum', expect: 204 },
      { as: 'admin', call: `PUT /users/${ids['self']}/password`, json: 'another drum', expect: 204 },
      login('admin-2', 'another drum', 200),
      login('self', 'another drum', 200),
    ]);
  });
});

suite('a new password', () => {
  let server: TestServer;
  let ids: Record<string, string>;
  before(async () => {
    server = await TestServer.start({ DUNDUN_SELF_REGISTRATION: 'on' });
    await addUsers(server.folder, ['self'], server.clock);
    ids = await idsOf(server);
  });
  after(() => server.stop());

  for (const common of ['password1', 'PassWord1', 'qwertyuiop', '1234567890', 'ｐａｓｓｗｏｒｄ１']) {
    test(`${common} is among the ten thousand commonest, and refused by every door`, async () => {
      const own = { current: password, password: common };
      const answers = await makeAll(server, [
        { as: 'admin', call: 'POST /users', json: { username: 'made', password: common }, expect: 400 },
        { as: 'guest', call: 'POST /users', json: { username: 'made', password: common }, expect: 400 },
        { as: 'admin', call: `PUT /users/${ids['self']}/password`, text: common, expect: 400 },
        { as: 'self', call: `PUT /users/${ids['self']}/password`, json: own, expect: 400 },
      ]);
      for (const { body } of answers) {
        assert.match(body.detail, /common/);
        assert.deepEqual([body.errors.length, body.errors[0].pointer], [1, '/password']);
        assert.doesNotMatch(JSON.stringify(body), /password1|qwerty/i);
      }
    });
  }

  test('that only holds a common one is taken', async () => {
    await make(server, {
      as: 'admin',
      call: 'POST /users',
      json: { username: 'long', password: 'password1 and a drum' },
      expect: 200,
    });
  });

  test('may be common where DUNDUN_COMMON_PASSWORDS allows it', async () => {
    await server.restart({ DUNDUN_COMMON_PASSWORDS: 'allow', DUNDUN_SELF_REGISTRATION: 'on' });
    await makeAll(server, [
      { as: 'guest', call: 'POST /users', json: { username: 'lenient', password: 'password1' }, expect: 200 },
      login('lenient', 'password1', 200),
    ]);
    await server.restart();
    // A password that is there already goes on.
    await make(server, login('lenient', 'password1', 200));
  });
});
