// The command line where the data are in PostgreSQL: verbs that open the registry work beside the server, those about files say what does
// their work there.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { NodesReport } from '../../../src/domain/ports/nodes.ts';
import { createDatabase, sharedServer, withoutPostgres } from '../../support/postgres.ts';
import {
  call,
  type Dundun,
  login,
  makeFolder,
  runVerb,
  startDundun,
  startRefused,
  withLimits,
} from '../../support/process.ts';

suite('the command line on PostgreSQL', { skip: withoutPostgres }, () => {
  let settings: { readonly DUNDUN_DATABASE_URL: string };
  let dundun: Dundun;

  before(async () => {
    settings = { DUNDUN_DATABASE_URL: await createDatabase() };
    // What the server knows of users it does not read anew by itself: it has to be told. It declares nobody dead, so that a server which
    // is silent stays to be seen.
    dundun = await startDundun(withLimits({ userFreshMs: 3_600_000, nodeDeadMs: 24 * 3_600_000 }, settings));
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

  test('lists the server with what it holds, one that is silent, and the connections; of a folder it lists none', async () => {
    const listed = async () => {
      const { code, stdout, stderr } = await runVerb(['nodes', '--json'], { settings });
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout) as NodesReport;
    };
    const { nodes, connections } = await listed();
    const [node] = nodes;
    assert.ok(nodes.length === 1 && node !== undefined);
    assert.deepEqual([node.isAlive, node.behind, node.leases.includes('outbox')], [true, 0, true]);
    assert.ok(node.startedMs <= Date.now() && Date.now() - node.startedMs < 600_000);
    for (const name of ['log', 'node', 'mqtt'])
      assert.equal(connections.find((one) => one.name === name)?.count, 1, name);
    await (await sharedServer()).query(
      settings.DUNDUN_DATABASE_URL,
      "INSERT INTO node (id, renewed) VALUES ('gone', now() - interval '1 minute')",
    );
    assert.equal((await listed()).nodes.find(({ id }) => id === 'gone')?.isAlive, false);
    const { stdout } = await runVerb(['nodes'], { settings });
    assert.match(stdout, /alive, since .*\n {2}holds: .*outbox/);
    const told = `on \\S+:${dundun.ports.http}, release \\d.*: \\d+ connections of HTTP, 0 of MQTT, [\\d.]+ datapoints a second`;
    assert.match(stdout, new RegExp(told));
    assert.match(stdout, /gone {2}silent for \d\d+ s/);
    await (await sharedServer()).query(settings.DUNDUN_DATABASE_URL, "DELETE FROM node WHERE id = 'gone'");
    const inFolder = await runVerb(['nodes'], { settings: { DUNDUN_DATA_DIR: makeFolder() } });
    assert.equal(inFolder.code, 1);
    assert.match(inFolder.stderr, /The data are in a folder/);
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

suite('a database that has tables of another program', { skip: withoutPostgres }, () => {
  for (const [name, sql, told] of [
    [
      'of names that ours have, too',
      'CREATE TABLE "user" (id integer); CREATE TABLE device (id integer)',
      'device, user',
    ],
    [
      'of other names, and its own notes of migrations',
      'CREATE TABLE a (n integer); CREATE TABLE b (n integer); CREATE TABLE c (n integer); CREATE VIEW d AS SELECT * FROM a; CREATE TABLE kysely_migration (name text)',
      'a, b, c …',
    ],
  ] as const) {
    test(`is refused with their names, and nothing is changed: ${name}`, async () => {
      const server = await sharedServer();
      const url = await server.createEmptyDatabase();
      await server.query(url, sql);
      const relations = () =>
        server.query(url, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`);
      const before = await relations();
      const settings = { DUNDUN_DATABASE_URL: url };
      const start = await startRefused({ settings });
      for (const { code, stdout, stderr } of [start, await runVerb(['user', 'list'], { settings })]) {
        assert.deepEqual([code, stdout], [1, '']);
        assert.ok(
          stderr.startsWith(`dundun: The database has tables of another program (${told}), and none of Dundun. `),
        );
        assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
      }
      assert.deepEqual(await relations(), before);
    });
  }
});
