// The command line where the data are in PostgreSQL: verbs that open the registry work beside the server, those about files say what does
// their work there.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createDatabase, withoutPostgres } from '../../support/postgres.ts';
import { call, type Dundun, login, runVerb, startDundun, withLimits } from '../../support/process.ts';

suite('the command line on PostgreSQL', { skip: withoutPostgres }, () => {
  let settings: { readonly DUNDUN_DATABASE_URL: string };
  let dundun: Dundun;

  before(async () => {
    settings = { DUNDUN_DATABASE_URL: await createDatabase() };
    // What the server knows of users it does not read anew by itself: it has to be told.
    dundun = await startDundun(withLimits({ userFreshMs: 3_600_000 }, settings));
  });
  after(() => dundun?.stop());

  test('makes accounts beside the running server', async () => {
    const added = await runVerb(['user', 'add', 'ana', '--password-stdin'], { settings, input: 'talking drum\n' });
    assert.equal(added.code, 0, added.stderr);
    assert.equal(typeof (await login(dundun, 'ana', 'talking drum')), 'string');
  });

  test('what it changes holds in the running server before it ends', async () => {
    const token = await login(dundun, 'ana', 'talking drum');
    assert.equal((await call(dundun, '/api/v2/users/me', { token: String(token) })).status, 200);
    const set = await runVerb(['user', 'password', 'ana', '--password-stdin'], { settings, input: 'other drum\n' });
    assert.equal(set.code, 0, set.stderr);
    assert.equal((await call(dundun, '/api/v2/users/me', { token: String(token) })).status, 401);
    assert.equal(await login(dundun, 'ana', 'talking drum'), 401);
    assert.equal(typeof (await login(dundun, 'ana', 'other drum')), 'string');
  });

  for (const verb of [['backup', 'file'], ['restore', 'file'], ['check'], ['check', '--forget-damaged']]) {
    test(`says of ${verb.join(' ')} that PostgreSQL has programs for it, and nothing of the address`, async () => {
      const { code, stdout, stderr } = await runVerb(verb, { settings });
      assert.notEqual(code, 0);
      assert.match(stderr, /The data are in PostgreSQL/);
      assert.doesNotMatch(stdout + stderr, /postgres:\/\//);
    });
  }

  test('refuses an address that is none, without showing it', async () => {
    const { code, stderr } = await runVerb(['user', 'list'], { settings: { DUNDUN_DATABASE_URL: 'mysql://a:b@c/d' } });
    assert.equal(code, 2);
    assert.match(stderr, /DUNDUN_DATABASE_URL/);
    assert.doesNotMatch(stderr, /a:b/);
  });
});
