// Starting: the ready line, ports, the data folder and its lock, the first password.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { isIntact, tamper } from '../support/database.ts';
import {
  call,
  login,
  makeDevice,
  makeFolder,
  readValues,
  runVerb,
  serveCommand,
  startDundun,
  startRefused,
} from '../support/process.ts';

suite('starting', { timeout: 1_800_000 }, () => {
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']) {
    test(`the ready line is the one line on stdout at log level ${level}`, async () => {
      const dundun = await startDundun({ settings: { DUNDUN_LOG_LEVEL: level } });
      const live = await call(dundun, '/health/live');
      assert.equal(live.status, 200);
      assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
      const { msg, ...ports } = JSON.parse(dundun.stdout);
      assert.equal(msg, 'ready');
      for (const [name, port] of Object.entries(ports)) assert.ok(Number(port) > 0, name);
      assert.equal(dundun.stdout.split('\n').length, 2);
      if (level === 'silent') assert.equal(dundun.stderr, '');
      for (const line of dundun.stderr.split('\n').slice(0, -1)) assert.ok(JSON.parse(line).msg, line);
    });
  }

  test('the data of a newer release is refused in one line, and left as it is', async () => {
    const folder = join(makeFolder(), 'data');
    await (await startDundun({ folder })).stop();
    tamper(folder, "INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01')");
    const contents = () => readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'base64')]);
    const before = contents();
    const refused = await startRefused({ folder });
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, '');
    assert.match(refused.stderr, /^dundun: .* was written by a newer Dundun \(9999-later\)\. Use that release .*\n$/);
    assert.deepEqual(contents(), before);
    const verb = await runVerb(['user', 'list'], { settings: { DUNDUN_DATA_DIR: folder } });
    assert.equal(verb.code, 1);
    assert.match(verb.stderr, /newer Dundun \(9999-later\)/);
    assert.deepEqual(contents(), before);
    tamper(folder, "DELETE FROM kysely_migration WHERE name = '9999-later'");
    await (await startDundun({ folder })).stop();
  });

  test('a port in use is named in one line, and the folder is left free and whole', async (t) => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    t.after(() => squatter.close());
    const port = (squatter.address() as { port: number }).port;
    const folder = join(makeFolder(), 'data');
    for (const name of ['DUNDUN_HTTP_PORT', 'DUNDUN_MQTT_PORT']) {
      const refused = await startRefused({ folder, settings: { [name]: String(port) } });
      assert.equal(refused.code, 1);
      assert.equal(refused.stdout, '');
      const line = refused.stderr.split('\n').find((text) => text.startsWith('dundun: '));
      assert.match(line ?? refused.stderr, new RegExp(`${name}.*${port}|${port}.*${name}`));
      assert.match(line ?? '', /in use/);
    }
    assert.ok(isIntact(folder));
    const dundun = await startDundun({ folder });
    assert.equal(typeof (await login(dundun)), 'string');
    await dundun.stop();
  });

  test('a port that another Dundun listens on is named in one line, and the first goes on', async () => {
    const first = await startDundun();
    for (const [name, port] of [
      ['DUNDUN_HTTP_PORT', first.ports.http],
      ['DUNDUN_MQTT_PORT', first.ports.mqtt],
    ] as const) {
      const second = await startRefused({ settings: { [name]: String(port) } });
      assert.equal(second.code, 1);
      assert.match(second.stderr, new RegExp(`^dundun: ${name}: port ${port} on 127\\.0\\.0\\.1 is in use\\.`, 'm'));
    }
    // More than once, for connections would be dealt out.
    for (let n = 0; n < 20; n += 1) {
      const live = await fetch(`${first.url}/health/live`, { headers: { connection: 'close' } });
      assert.equal(live.status, 200);
    }
    await first.stop();
  });

  test('an address that is not of this machine is named in one line', async () => {
    const refused = await startRefused({ settings: { DUNDUN_HTTP_HOST: '192.0.2.1' } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^dundun: .*DUNDUN_HTTP_HOST.*192\.0\.2\.1.*$/m);
  });

  test('a second server on the same folder is refused, and the first goes on', async () => {
    const first = await startDundun();
    await makeDevice(first, 'd', ['s']);
    const second = await startRefused({ folder: first.folder });
    assert.equal(second.code, 1);
    assert.equal(second.stderr.split('\n').length, 2);
    assert.match(second.stderr, /^dundun: Another Dundun already uses the data folder .*data\. Stop it, or choose/);
    const push = await call(first, '/api/v2/devices/d/sensors/s/value', { json: { value: 1 } });
    assert.equal(push.status, 204);
    await first.stop('SIGKILL');
    const third = await startDundun({ folder: first.folder });
    assert.deepEqual(await readValues(third, 'd', 's'), [1]);
    await third.stop();
  });

  test('a data folder that cannot be made or used is named in one line', async () => {
    const base = makeFolder();
    writeFileSync(join(base, 'file'), '');
    mkdirSync(join(base, 'garbage'));
    writeFileSync(
      join(base, 'garbage', 'dundun.sqlite'),
      'no database at all, but longer than its header. '.repeat(99),
    );
    mkdirSync(join(base, 'taken', 'dundun.sqlite'), { recursive: true });
    // /proc refuses with "no such file", at which a recursive mkdir would try for ever.
    for (const name of ['file', 'file/below', 'garbage', 'taken', '/proc/dundun/data']) {
      const folder = resolve(base, name);
      const refused = await startRefused({ folder });
      assert.equal(refused.code, 1, name);
      assert.match(refused.stderr, /^dundun: .*data folder .*\n$/, name);
      assert.ok(refused.stderr.includes(folder), refused.stderr);
      const verb = await runVerb(['user', 'list'], { settings: { DUNDUN_DATA_DIR: folder } });
      assert.equal(verb.code, 1);
      assert.match(verb.stderr, /^dundun: .*data folder .*\n$/, name);
    }
  });

  test('a data folder without the right to write is named in one line', async (t) => {
    const base = makeFolder();
    chmodSync(base, 0o755);
    const folder = join(base, 'data');
    const used = await startDundun({ folder });
    await used.stop();
    for (const path of [join(folder, 'dundun.sqlite'), join(folder, 'lock')]) chmodSync(path, 0o444);
    chmodSync(folder, 0o555);
    const command = asNobody(serveCommand);
    const reach = await startRefused({ folder: '/dev/null/data', command });
    // As root this needs setpriv, and a checkout that everybody may read.
    if (!reach.stderr.startsWith('dundun: ')) return t.skip('nobody cannot start the service here');
    const refused = await startRefused({ folder, command });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^dundun: .*data folder .*\n$/);
  });

  test('the password made up at first start is told once and is good', async () => {
    const settings = { DUNDUN_ADMIN_PASSWORD: '', DUNDUN_LOG_LEVEL: 'silent' };
    const first = await startDundun({ settings });
    const password = /^dundun: .*admin with the password (\S{20,}) /m.exec(first.stderr)?.[1] ?? '';
    assert.equal(first.stderr.split('\n').length, 2);
    assert.equal(typeof (await login(first, 'admin', password)), 'string');
    await first.stop();
    const second = await startDundun({ folder: first.folder, settings });
    assert.equal(typeof (await login(second, 'admin', password)), 'string');
    await second.stop();
    assert.equal(second.stderr, '');
    const third = await startDundun({ folder: first.folder, settings: { DUNDUN_ADMIN_PASSWORD: 'another password' } });
    assert.equal(await login(third, 'admin', 'another password'), 401);
    assert.equal(typeof (await login(third, 'admin', password)), 'string');
    await third.stop();
  });

  test('the password made up is as long as the setting asks for', async () => {
    const settings = { DUNDUN_ADMIN_PASSWORD: '', DUNDUN_PASSWORD_LENGTH_MIN: '64' };
    const dundun = await startDundun({ settings });
    const password = /admin with the password (\S{64,}) /.exec(dundun.stderr)?.[1] ?? '';
    assert.equal(typeof (await login(dundun, 'admin', password)), 'string');
    await dundun.stop();
  });
});

function asNobody(command: readonly string[]): readonly string[] {
  if (process.getuid?.() !== 0) return command;
  return ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...command];
}
