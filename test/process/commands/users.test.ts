// `dundun user`: accounts from the command line, beside a running server and without one; and the text of --help.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { query } from '../../support/database.ts';
import { connectOnce } from '../../support/mqtt/mqtt-connection.ts';
import { call, type Dundun, login, makeFolder, Running, root, runVerb, startDundun } from '../../support/process.ts';
import { until } from '../../support/until.ts';

/** Plays a terminal; of util-linux. */
const hasScript = spawnSync('script', ['--version']).status === 0;

suite('accounts from the command line', { timeout: 1_800_000 }, () => {
  let dundun: Dundun;
  const user = (args: readonly string[], input?: string) =>
    runVerb(['user', ...args], {
      settings: { DUNDUN_DATA_DIR: dundun.folder },
      ...(input === undefined ? {} : { input }),
    });

  before(async () => {
    dundun = await startDundun();
  });
  after(() => dundun.stop());

  test('an account made beside a running server can sign in at once', async () => {
    // The server has looked for the name and remembers that there was none.
    assert.equal(await login(dundun, 'awa', 'awa-password'), 401);
    const made = await user(['add', 'awa', '--password-stdin', '--email', 'awa@dundun.example'], 'awa-password\n');
    assert.equal(made.stderr, '');
    assert.match(made.stdout, /^Made the account awa with id [0-9a-f-]{36}\.\n$/);
    assert.equal(made.code, 0);
    await until(async () => typeof (await login(dundun, 'awa', 'awa-password')) === 'string', { everyMs: 50 });
    if (dundun.ports.mqtt !== undefined)
      assert.equal(await connectOnce(dundun.ports, { username: 'awa', password: 'awa-password' }), 0);
  });

  test('an admin made beside a running server is one', async () => {
    const made = await user(['add', 'root', '--admin'], 'root-password');
    assert.match(made.stdout, /^Made the account root \(admin\)/);
    const token = await login(dundun, 'root', 'root-password');
    assert.ok(typeof token === 'string');
    await call(dundun, '/api/v2/devices', { token: String(await login(dundun)), json: { id: 'private' } });
    assert.equal((await call(dundun, '/api/v2/devices/private', { token })).status, 200);
  });

  test('a new password ends old tokens and old logins within a second', async () => {
    await user(['add', 'binta'], 'first-password');
    const token = await login(dundun, 'binta', 'first-password');
    assert.ok(typeof token === 'string');
    const permissions = () => call(dundun, '/api/v2/auth/permissions/devices', { token });
    assert.equal((await permissions()).status, 200);
    const set = await user(['password', 'binta', '--password-stdin'], 'second-password\r\n');
    assert.match(set.stdout, /^The password of binta is set/);
    assert.equal(set.code, 0);
    await until(async () => (await permissions()).status === 401, { everyMs: 50 });
    assert.equal(await login(dundun, 'binta', 'first-password'), 401);
    assert.equal(typeof (await login(dundun, 'binta', 'second-password')), 'string');
    if (dundun.ports.mqtt !== undefined) {
      assert.equal(await connectOnce(dundun.ports, { username: 'binta', password: 'first-password' }), 4);
      assert.equal(await connectOnce(dundun.ports, { username: 'binta', password: 'second-password' }), 0);
    }
  });

  test('what is refused is said in one line, with exit code 1, and leaves no account', async () => {
    await user(['add', 'taken'], 'good-password');
    const refused: readonly { args: readonly string[]; input: string; says: RegExp }[] = [
      { args: ['add', 'taken'], input: 'good-password', says: /There is a user taken already/ },
      { args: ['add', 'admin'], input: 'good-password', says: /There is a user admin already/ },
      { args: ['add', 'guest'], input: 'good-password', says: /There is a user guest already/ },
      { args: ['add', 'short'], input: 'seven77', says: /at least 8 characters/ },
      { args: ['add', 'none'], input: '', says: /at least 8 characters/ },
      { args: ['add', 'long'], input: 'x'.repeat(257), says: /256 characters/ },
      { args: ['add', ''], input: 'good-password', says: /1 to 64 characters/ },
      { args: ['add', '../x'], input: 'good-password', says: /none of \/ \+ # \?/ },
      { args: ['add', 'a/b'], input: 'good-password', says: /none of \/ \+ # \?/ },
      { args: ['add', 'a+b'], input: 'good-password', says: /none of \/ \+ # \?/ },
      { args: ['add', '#'], input: 'good-password', says: /none of \/ \+ # \?/ },
      { args: ['add', ' a'], input: 'good-password', says: /1 to 64 characters/ },
      { args: ['add', 'a\nb'], input: 'good-password', says: /do not show/ },
      { args: ['add', '..'], input: 'good-password', says: /is not \. or \.\. alone/ },
      { args: ['add', '.'], input: 'good-password', says: /is not \. or \.\. alone/ },
      { args: ['add', 'x'.repeat(65)], input: 'good-password', says: /1 to 64 characters/ },
      {
        args: ['add', 'caller', '--phone', '0771234567'],
        input: 'good-password',
        says: /phone number with country code/,
      },
      { args: ['add', 'mail', '--email', 'a@b\nBcc: c@d'], input: 'good-password', says: /control characters/ },
      { args: ['password', 'nobody'], input: 'good-password', says: /There is no user nobody/ },
      { args: ['password', 'taken'], input: 'seven77', says: /at least 8 characters/ },
      { args: ['password', 'guest'], input: 'good-password', says: /Guest has no password/ },
    ];
    const names = async () => (await user(['list'])).stdout.split('\n').map((line) => line.split(' ')[0]);
    const before = await names();
    const outcomes = [];
    // Some at a time, for each takes a process of its own.
    for (let i = 0; i < refused.length; i += 4)
      outcomes.push(...(await Promise.all(refused.slice(i, i + 4).map(({ args, input }) => user(args, input)))));
    for (const [i, { code, stdout, stderr }] of outcomes.entries()) {
      const { args, says } = refused[i] as (typeof refused)[number];
      assert.match(stderr, says, args.join(' '));
      assert.match(stderr, /^dundun: .*\n$/);
      assert.equal(stdout, '');
      assert.equal(code, 1);
    }
    assert.deepEqual(await names(), before);
    assert.equal(typeof (await login(dundun, 'taken', 'good-password')), 'string');
  });

  test('an unusual name is a good one', async () => {
    const name = 'Aïssatou N’Diaye (Thiès) @ferme';
    assert.equal((await user(['add', name], 'good-password')).code, 0);
    await until(async () => typeof (await login(dundun, name, 'good-password')) === 'string', { everyMs: 50 });
  });

  test('the list has every account and no hash', async () => {
    const { stdout } = await user(['list']);
    assert.match(stdout, /^admin +admin {2}\d{4}-\d\d-\d\dT\S+Z {2}[0-9a-f-]{36}$/m);
    assert.match(stdout, /^guest +user /m);
    assert.doesNotMatch(stdout, /argon2/);
    const json = (await user(['list', '--json'])).stdout.trimEnd().split('\n');
    const accounts = json.map((line) => JSON.parse(line));
    assert.deepEqual(Object.keys(accounts[0]), ['id', 'username', 'admin', 'createdTime']);
    assert.equal(accounts.length, stdout.trimEnd().split('\n').length);
  });

  test('a file of users is imported with ids and hashes, told line by line, and again without harm', async () => {
    const id = '0b8f9a52-6c1d-4e0f-8a77-2f6f5f5d9c10';
    await user(['add', 'source'], 'brought-along');
    const [row] = query(dundun.folder, "SELECT password_hash AS hash FROM user WHERE username = 'source'");
    const passwordHash = row?.['hash'];
    const file = join(makeFolder(), 'users.json');
    const records: unknown[] = [
      { username: 'moussa', id: id.toUpperCase(), passwordHash, createdTime: 1465410027000, phone: ['+221770000000'] },
      { username: 'locked' },
      { username: 'moussa', passwordHash },
      { username: 'clash', id },
      { username: 'a/b' },
      { username: 'bad-hash', passwordHash: '$2b$10$x' },
      { username: 'bad-phone', phone: '+221' },
      { username: 'no-country', phone: ['0771234567'] },
      { username: 'bad-choice', messages_from: 'nobody' },
      { username: 'bad-webhook', webhook: ['ftp://awa.example'] },
      { username: 'guest' },
      { username: '\u001b[2Jtrick' },
      ['no user'],
      null,
    ];
    writeFileSync(file, JSON.stringify(records));
    const before = (await user(['list', '--json'])).stdout;
    const dry = await user(['import', file, '--dry-run']);
    assert.equal((await user(['list', '--json'])).stdout, before);
    const real = await user(['import', file]);
    const kinds = (stdout: string) => stdout.split('\n').map((line) => line.split('\t')[2]);
    assert.deepEqual(
      kinds(dry.stdout).map((kind) => (kind === 'would be made' ? 'made' : kind)),
      kinds(real.stdout),
    );
    const lines = real.stdout.trimEnd().split('\n');
    assert.equal(lines[0], '1\tmoussa\tmade');
    assert.match(lines[1] ?? '', /^2\tlocked\tmade\twithout a password/);
    for (const line of lines.slice(2, -1)) assert.match(line, /^\d+\t.*\trefused\t./);
    assert.equal(lines.at(-1), '14 users: 2 made, 0 there already, 12 refused.');
    assert.deepEqual([dry.code, real.code, real.stderr], [1, 1, '']);
    // Neither a hash nor what moves a terminal's cursor is printed.
    assert.ok(!real.stdout.includes(String(passwordHash)) && !real.stdout.includes('\u001b'));
    await until(async () => typeof (await login(dundun, 'moussa', 'brought-along')) === 'string', { everyMs: 50 });
    assert.equal(await login(dundun, 'locked', ''), 401);
    const [stored] = query(dundun.folder, "SELECT id, created_time AS at FROM user WHERE username = 'moussa'");
    assert.deepEqual({ ...stored }, { id, at: 1465410027000 });
    writeFileSync(file, JSON.stringify(records.slice(0, 1)));
    const again = await user(['import', file]);
    assert.equal(again.stdout, '1\tmoussa\tthere already\n1 users: 0 made, 1 there already, 0 refused.\n');
    assert.equal(again.code, 0);
    for (const text of ['{}', 'no json', '']) {
      writeFileSync(file, text);
      const { code, stderr } = await user(['import', file]);
      assert.equal(code, 1);
      assert.match(stderr, /^dundun: .*\n$/);
    }
    assert.equal((await user(['import', join(makeFolder(), 'none.json')])).code, 1);
  });

  test('two verbs at once make both accounts, and one of two of the same name', async () => {
    const [one, two, ...same] = await Promise.all([
      user(['add', 'twin-1'], 'good-password'),
      user(['add', 'twin-2'], 'good-password'),
      user(['add', 'twin'], 'good-password'),
      user(['add', 'twin'], 'good-password'),
    ]);
    assert.deepEqual([one.code, two.code], [0, 0]);
    assert.deepEqual(same.map(({ code }) => code).sort(), [0, 1]);
  });
});

suite('accounts without a server', { timeout: 1_800_000 }, () => {
  test('an account made before the first start is there after it, and admin is still made', async () => {
    const folder = join(makeFolder(), 'data');
    const made = await runVerb(['user', 'add', 'awa'], {
      settings: { DUNDUN_DATA_DIR: folder },
      input: 'awa-password',
    });
    assert.equal(made.code, 0);
    const dundun = await startDundun({ folder });
    assert.equal(typeof (await login(dundun, 'awa', 'awa-password')), 'string');
    assert.equal(typeof (await login(dundun)), 'string');
    await dundun.stop();
    const [row] = query(folder, "SELECT password_hash AS hash FROM user WHERE username = 'awa'");
    assert.match(String(row?.['hash']), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  test('verbs and a server that meet on a new folder all find it complete', async () => {
    const folder = join(makeFolder(), 'data');
    const settings = { DUNDUN_DATA_DIR: folder };
    const add = (name: string) => runVerb(['user', 'add', name], { settings, input: 'good-password' });
    const [dundun, ...made] = await Promise.all([startDundun({ folder }), ...['a', 'b', 'c'].map(add)]);
    assert.deepEqual(
      made.map(({ code, stderr }) => ({ code, stderr })),
      made.map(() => ({ code: 0, stderr: '' })),
    );
    for (const name of ['a', 'b', 'c']) assert.equal(typeof (await login(dundun, name, 'good-password')), 'string');
    await dundun.stop();
  });

  test('nobody can be made guest, even before the first start has made it', async () => {
    const settings = { DUNDUN_DATA_DIR: join(makeFolder(), 'data') };
    const made = await runVerb(['user', 'add', 'guest'], { settings, input: 'good-password' });
    assert.equal(made.code, 1);
    assert.match(made.stderr, /There is a user guest already/);
  });

  test('at a terminal it asks, and shows nothing of the answer', { skip: !hasScript && 'needs script' }, async () => {
    const folder = join(makeFolder(), 'data');
    const password = 'typed-password';
    const command = `${process.execPath} ${join(root, 'src/main.ts')} user add awa`;
    const settings = { DUNDUN_DATA_DIR: folder, TERM: 'xterm' };
    const terminal = new Running(['script', '-qfec', command, '/dev/null'], { settings });
    await new Promise<void>((resolve) => {
      terminal.child.stdout.on('data', () => {
        if (terminal.stdout.endsWith('Password: ')) resolve();
      });
      void terminal.exit.then(() => resolve());
    });
    terminal.child.stdin.write(`${password}\r`);
    assert.equal((await terminal.exit).code, 0);
    assert.match(terminal.stdout, /^Password: \s+Made the account awa/);
    const dundun = await startDundun({ folder });
    assert.equal(typeof (await login(dundun, 'awa', password)), 'string');
    await dundun.stop();
  });

  test('an admin made by hand before the first start keeps the password', async () => {
    const folder = join(makeFolder(), 'data');
    const settings = { DUNDUN_DATA_DIR: folder };
    await runVerb(['user', 'add', 'admin', '--admin'], { settings, input: 'made-by-hand' });
    const dundun = await startDundun({ folder });
    assert.equal(typeof (await login(dundun, 'admin', 'made-by-hand')), 'string');
    await dundun.stop();
  });

  test('--help of each verb says what it does and shows an example or its options', async () => {
    const verbs: readonly [readonly string[], RegExp][] = [
      [['--help'], /dundun user add awa --admin/],
      [['serve', '--help'], /"msg":"ready"/],
      [['config', '--help'], /DUNDUN_CONFIG/],
      [['user', '--help'], /add.*list.*password/s],
      [['user', 'add', '--help'], /--password-stdin/],
      [['user', 'list', '--help'], /--json/],
      [['user', 'password', '--help'], /--password-stdin/],
      [['user', 'import', '--help'], /--dry-run/],
    ];
    for (const [args, shows] of verbs) {
      const { code, stdout, stderr } = await runVerb(args);
      assert.equal(code, 0);
      assert.equal(stderr, '');
      assert.match(stdout, shows, args.join(' '));
      assert.match(stdout, /Example/, args.join(' '));
    }
  });

  test('an unknown verb or option is named, with a way to help', async () => {
    for (const args of [['sevre'], ['serve', '--port=1'], ['user', 'ad', 'x'], ['user', 'add']]) {
      const { code, stderr } = await runVerb(args);
      assert.equal(code, 1);
      assert.match(stderr, /^error: .*\n(\(Did you mean.*\)\n)?.*--help/);
    }
  });
});
