// `dundun secret rotate token` beside a running server, and without one.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { call, type Dundun, login, makeFolder, runVerb, startDundun } from '../../support/process.ts';
import { until } from '../../support/until.ts';

suite('the key of tokens is rotated from the command line', { timeout: 600_000 }, () => {
  let dundun: Dundun;
  const rotate = (args: readonly string[], folder = dundun.folder) =>
    runVerb(['secret', 'rotate', ...args], { settings: { DUNDUN_DATA_DIR: folder } });
  const use = async (token: string) => (await call(dundun, '/api/v2/users/me/quota', { token })).status;
  const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;

  before(async () => {
    dundun = await startDundun();
  });
  after(() => dundun.stop());

  test('a running server signs with the new key, and takes tokens of the one before', async () => {
    const first = String(await login(dundun));
    assert.equal(await use(first), 200);
    const rotated = await rotate(['token']);
    assert.equal(rotated.stderr, '');
    assert.match(rotated.stdout, /^Tokens are signed with a new key; those signed before are good until \d{4}-/);
    assert.equal(rotated.code, 0);
    await until(async () => kidOf(String(await login(dundun))) !== kidOf(first));
    const second = String(await login(dundun));
    assert.deepEqual([await use(first), await use(second)], [200, 200]);
    assert.equal((await rotate(['token', '--overlap', '0'])).code, 0);
    await until(async () => (await use(second)) === 401);
    assert.equal(await use(first), 401);
    assert.equal(await use(String(await login(dundun))), 200);
  });

  test('what cannot be rotated is refused in one line', async () => {
    for (const args of [
      ['webhook'],
      ['token', '--overlap', '10'],
      ['token', '--overlap', '25h'],
      ['token', '--overlap=-1s'],
    ]) {
      const refused = await rotate(args);
      assert.equal(refused.code, 1, args.join(' '));
      assert.match(refused.stderr, /^dundun: (There is no secret webhook|An overlap is)[^\n]*\n$/);
    }
  });

  test('it works without a server, in a new folder too', async () => {
    const folder = makeFolder();
    assert.equal((await rotate(['token'], folder)).code, 0);
  });
});
