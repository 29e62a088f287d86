// Signing in (contract 2): wrong logins, slowing down after repeated failures, and logins that are cached.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { addUsers, password, setPassword } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['victim', 'other', 'remembered', 'crowd', 'forgetful'], server.clock);
});
after(() => server.stop());

const login = (username: unknown, secret: unknown, expect: number) => {
  return make(server, { call: 'POST /auth/token', json: { username, password: secret }, expect });
};

suite('a login that is wrong', () => {
  test('says the same whether the name or the password is', async () => {
    const { body: wrongPassword } = await login('owner', 'wrong', 401);
    const { body: wrongName } = await login('nobody', password, 401);
    assert.deepEqual(wrongPassword, wrongName);
  });

  const malformed: readonly (readonly [what: string, json: unknown, pointer: string])[] = [
    ['without a name', { password }, '/username'],
    ['without a password', { username: 'owner' }, '/password'],
    ['with a number for a name', { username: 5, password }, '/username'],
    ['with null for a password', { username: 'owner', password: null }, '/password'],
    ['that is a list', ['owner', password], ''],
    ['that is a string', 'owner', ''],
  ];
  for (const [what, json, pointer] of malformed) {
    test(`${what} is 400`, async () => {
      const { body } = await make(server, { call: 'POST /auth/token', json, expect: 400 });
      assert.equal(body.errors[0].pointer, pointer);
    });
  }

  test('is wrong by a letter, a space or a case', async () => {
    for (const near of [
      `${password} `,
      ` ${password}`,
      password.toUpperCase(),
      password.slice(1),
      '',
      'x'.repeat(limits.knownPasswordCharsMax),
    ]) {
      await login('other', near, 401);
    }
    await login('other', 'x'.repeat(limits.knownPasswordCharsMax + 1), 400);
    await login('Other', password, 401);
    await login('x'.repeat(limits.knownUsernameCharsMax), password, 401);
    await login('x'.repeat(limits.knownUsernameCharsMax + 1), password, 400);
    await login('other', password, 200);
  });
});

suite('after repeated failures', () => {
  test('a name is slowed down, more with each further failure, and others are not', async () => {
    for (let failure = 0; failure < limits.loginFailuresMax; failure++) await login('victim', 'guess', 401);
    const { headers } = await login('victim', 'guess', 429);
    assert.equal(headers['retry-after'], '1');
    // The right password does not help before the time is over.
    await login('victim', password, 429);
    await login('owner', password, 200);
    for (const waitS of [1, 2, 4, 8]) {
      server.clock.advance(waitS * 1000 - 1);
      await login('victim', 'guess', 429);
      server.clock.advance(1);
      await login('victim', 'guess', 401);
    }
    const last = await login('victim', 'guess', 429);
    assert.equal(last.headers['retry-after'], '16');
    server.clock.advance(16_000);
    await login('victim', password, 200);
    // A good login wipes the slate.
    await login('victim', 'guess', 401);
    await login('victim', 'guess', 401);
  });

  test('the failures of a name nobody has are slowed down as well', async () => {
    for (let failure = 0; failure < limits.loginFailuresMax; failure++) await login('no-such-name', 'guess', 401);
    await login('no-such-name', 'guess', 429);
  });

  test('many at once are no way around it', async () => {
    const guesses = Array.from({ length: 40 }, (_, n) => {
      return server.send('POST', '/api/v2/auth/token', { json: { username: 'crowd', password: `guess ${n}` } });
    });
    const answers = await Promise.all(guesses);
    const tried = answers.filter(({ status }) => status === 401).length;
    assert.ok(tried <= limits.loginFailuresMax + limits.hashesAtOnceMax, `${tried} guesses were answered`);
    assert.equal(answers.filter(({ status }) => status === 429).length, 40 - tried);
  });

  test('equal guesses at once count each, and the right password beside them signs in', async () => {
    await addUsers(server.folder, ['beside'], server.clock);
    const guesses = Array.from({ length: limits.loginFailuresMax - 1 }, () => login('beside', 'guess', 401));
    await Promise.all([...guesses, login('beside', password, 200)]);
    // The success wiped the slate at a moment that is not known.
    server.clock.advance(limits.loginFailureForgetMs + 1);
    await Promise.all(Array.from({ length: limits.loginFailuresMax }, () => login('beside', 'guess', 401)));
    await login('beside', 'guess', 429);
  });

  test('they are forgotten after a quarter of an hour', async () => {
    for (let failure = 0; failure < limits.loginFailuresMax; failure++) await login('forgetful', 'guess', 401);
    server.clock.advance(limits.loginFailureForgetMs + 1);
    await login('forgetful', 'guess', 401);
    await login('forgetful', 'guess', 401);
  });
});

suite('a login that was right', () => {
  // Whoever is remembered is let in while the name is slowed down; that tells it from being checked again.
  const slowDown = async () => {
    for (let failure = 0; failure < limits.loginFailuresMax; failure++) await login('remembered', 'guess', 401);
    await login('remembered', 'guess', 429);
  };

  test('is remembered for ten minutes, whatever others try under that name', async () => {
    await login('remembered', password, 200);
    server.clock.advance(limits.loginRememberedMs - 1);
    await slowDown();
    await login('remembered', password, 200);
    server.clock.advance(1);
    await login('remembered', password, 429);
    server.clock.advance(1_000);
    await login('remembered', password, 200);
  });

  test('is remembered no more when the password has changed', async () => {
    await login('remembered', password, 200);
    await setPassword(server.folder, 'remembered', 'another one');
    server.clock.advance(limits.userFreshMs);
    await login('remembered', password, 401);
    await login('remembered', 'another one', 200);
  });

  test('is not remembered over a restart', async () => {
    await login('remembered', 'another one', 200);
    await server.restart();
    await slowDown();
    await login('remembered', 'another one', 429);
  });
});
