// `dundun database distribute` where Citus is not: it says so and changes nothing, prints what it would run, and servers that go by shard keep what they
// had. With Citus it is not run here: docs/scaling.md has how.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createDatabase, dropDatabase, goByShard, sharedServer, withoutPostgres } from '../../support/postgres.ts';
import {
  call,
  type Dundun,
  makeDevice,
  makeFolder,
  readValues,
  runVerb,
  startDundun,
  withLimits,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';

const distribute = ['database', 'distribute'];

test('where the data are in a folder, nothing is distributed', async () => {
  const { code, stderr } = await runVerb(distribute, { settings: { DUNDUN_DATA_DIR: makeFolder() } });
  assert.deepEqual([code, /The data are in a folder/.test(stderr)], [1, true], stderr);
});

suite('distributing a database', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let url: string;
  let settings: { readonly DUNDUN_DATABASE_URL: string };
  let one: Dundun;
  let two: Dundun;

  before(async () => {
    url = await createDatabase();
    settings = { DUNDUN_DATABASE_URL: url };
    const options = withLimits(
      { sealRowsMin: 30, sealRowsMax: 30, sealQuietRowsMin: 1, sealQuietMs: 50, logRingBytes: 8_192 },
      settings,
    );
    one = await startDundun(options);
    two = await startDundun(options);
    await makeDevice(one, 'd', ['a']);
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await dropDatabase(url);
  });

  const ask = async (sql: string) => (await sharedServer()).query(url, sql);

  test('without the extension it says so, ends with 1 and changes nothing', async () => {
    const { code, stdout, stderr } = await runVerb(distribute, { settings });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^dundun: The database has not the extension Citus\. .*CREATE EXTENSION citus\n$/);
    assert.deepEqual(await ask('SELECT distribution FROM log_end'), [{ distribution: 0 }]);
  });

  test('--dry-run prints each statement in its order, and what stands in the way', async () => {
    const { code, stdout, stderr } = await runVerb([...distribute, '--dry-run', '--shards', '64'], { settings });
    assert.equal(code, 1);
    assert.match(stderr, /has not the extension Citus/);
    const create = (table: string, column: string, rest: string) =>
      `SELECT create_distributed_table('${table}', '${column}', ${rest});`;
    const first = "colocate_with => 'none', shard_count => 64";
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      'BEGIN;',
      "DELETE FROM adding_migration WHERE name = '0012-distribution';",
      'UPDATE log_end SET distribution = 1 WHERE distribution = 0;',
      'COMMIT;',
      'BEGIN;',
      create('log_bytes_0', 'writer', first),
      ...[1, 2, 3].map((n) => create(`log_bytes_${n}`, 'writer', "colocate_with => 'log_bytes_0'")),
      'COMMIT;',
      'BEGIN;',
      create('chunk', 'sensor', first),
      create('series', 'sensor', "colocate_with => 'chunk'"),
      'ALTER TABLE damaged_chunk REPLICA IDENTITY FULL;',
      create('damaged_chunk', 'sensor', "colocate_with => 'chunk'"),
      'COMMIT;',
      'UPDATE log_end SET distribution = 2;',
      ...['log_bytes_0', 'log_bytes_1', 'log_bytes_2', 'log_bytes_3', 'chunk', 'series', 'damaged_chunk'].map(
        (table) => `SELECT truncate_local_data_after_distributing_table('${table}');`,
      ),
    ]);
    assert.deepEqual(await ask('SELECT distribution FROM log_end'), [{ distribution: 0 }]);
  });

  test('beside a server of a release that cannot go by shard nothing is distributed', async () => {
    await ask("INSERT INTO node (id, knows) VALUES ('former', '0011-releases')");
    const { code, stderr } = await runVerb(distribute, { settings });
    assert.equal(code, 1);
    assert.match(stderr, /^dundun: The server former is of a release that cannot go by shard\. Update it first/);
    await assert.rejects(goByShard(url), { code: 'conflict', message: /^The server former is of a release that/ });
    assert.deepEqual(await ask('SELECT distribution FROM log_end'), [{ distribution: 0 }]);
    await ask("DELETE FROM node WHERE id = 'former'");
  });

  test('of a database that a newer release wrote nothing is planned', async () => {
    await ask("INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01')");
    for (const verb of [distribute, [...distribute, '--dry-run']]) {
      const { code, stdout, stderr } = await runVerb(verb, { settings });
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(
        stderr,
        /^dundun: The database was written by a newer Dundun \(9999-later\)\. Use that release .*\n$/,
      );
    }
    await ask("DELETE FROM kysely_migration WHERE name = '9999-later'");
  });

  test('a number of shards that is none is refused', async () => {
    for (const shards of ['0', '-1', '1.5', 'many', '100000']) {
      const { code, stderr } = await runVerb([...distribute, `--shards=${shards}`], { settings });
      assert.deepEqual([code, /from 1 to 1024/.test(stderr)], [1, true], shards);
    }
  });

  test('servers go by shard within seconds, say so, and lose nothing of what they take before, meanwhile and after', async () => {
    let value = 0;
    const push = async () => {
      const server = value % 2 === 0 ? one : two;
      const { status } = await call(server, '/api/v2/devices/d/sensors/a/value', { json: { value } });
      assert.equal(status, 204);
      value += 1;
    };
    while (value < 100) await push();
    await goByShard(url);
    await until(async () => {
      await push();
      return (await ask('SELECT 1 FROM node WHERE distribution = 0')).length === 0;
    });
    const from = value;
    while (value < from + 300) await push();
    // The log has turned to another table, more than once.
    const [end] = await ask('SELECT turn FROM log_end');
    assert.ok(Number(end?.['turn']) > 1);
    for (const server of [one, two]) {
      await until(async () => (await readValues(server, 'd', 'a', 'limit=10000')).length === value);
      assert.deepEqual(await readValues(server, 'd', 'a', 'limit=10000'), [...Array(value).keys()]);
    }
    await two.stop();
    two = await startDundun({ settings });
    assert.deepEqual(await readValues(two, 'd', 'a', 'limit=10000'), [...Array(value).keys()]);
  });
});
