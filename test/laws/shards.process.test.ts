// The law of shards (docs/decisions/0062), as far as it shows without Citus: whatever servers that go by shard send to PostgreSQL touches one shard, or
// is one of the sweeps that are named; and the tables can be distributed by their columns. Whether Citus agrees, a reviewer sees by
// docs/scaling.md.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect } from 'mqtt';
import { distributedTables } from '../../src/engines/postgres/database/distributed-tables.ts';
import { createDatabase, dropDatabase, goByShard, sharedServer, withoutPostgres } from '../support/postgres.ts';
import { call, type Dundun, login, makeDevice, readValues, startDundun, withLimits } from '../support/process.ts';
import { isSweep, severalShards } from '../support/shard-law.ts';
import { StatementTap } from '../support/statement-tap.ts';
import { until } from '../support/until.ts';

const own = new RegExp(`\\b(${distributedTables.map(({ table }) => table).join('|')})\\b`);

suite('statements by shard', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let url: string;
  let tap: StatementTap;
  let one: Dundun;
  let two: Dundun;

  before(async () => {
    url = await createDatabase();
    await goByShard(url);
    tap = await StatementTap.open((await sharedServer()).folder);
    const options = withLimits(
      {
        sealRowsMin: 50,
        sealRowsMax: 50,
        sealQuietRowsMin: 1,
        sealQuietMs: 50,
        chunkDatapointsWanted: 20,
        logRingBytes: 4_096,
      },
      { DUNDUN_DATABASE_URL: tap.url(url) },
    );
    one = await startDundun(options);
    two = await startDundun(options);
    await makeDevice(one, 'd', ['a', 'b', 'c']);
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await tap?.close();
    await dropDatabase(url);
  });

  const sealedIn = async (table: string) => {
    const [row] = await (await sharedServer()).query(url, `SELECT count(*) AS n FROM ${table}`);
    return Number(row?.['n']);
  };

  test('pushes, MQTT, reads and sealing of two servers touch one shard with each statement', async () => {
    const client = connect(`mqtt://127.0.0.1:${two.ports.mqtt}`, {
      username: 'admin',
      password: 'correct horse battery',
    });
    for (let n = 0; n < 300; n++) {
      const server = n % 2 === 0 ? one : two;
      const path = `/api/v2/devices/d/sensors/${n % 3 === 0 ? 'a' : 'b'}/value`;
      assert.equal((await call(server, path, { json: { value: n } })).status, 204);
    }
    for (let n = 0; n < 50; n++) await client.publishAsync('devices/d/sensors/c/value', String(n), { qos: 1 });
    await client.endAsync();
    await until(async () => (await sealedIn('chunk')) > 0);
    for (const server of [one, two]) {
      assert.equal((await readValues(server, 'd', 'a', 'limit=1000')).length, 100);
      assert.equal((await readValues(server, 'd', 'b', 'limit=1000')).length, 200);
      assert.equal((await call(server, '/api/v2/devices/d/sensors/a')).status, 200);
    }
    const found = [...tap.statements].filter((sql) => own.test(sql));
    for (const word of [
      'INSERT INTO log_bytes_',
      'FROM log_bytes_',
      'INSERT INTO chunk',
      'INSERT INTO series',
      'FROM chunk',
    ])
      assert.ok(
        found.some((sql) => sql.includes(word)),
        `${word} was sent`,
      );
    const rest = found.filter((sql) => !/WHERE pass = |TRUNCATE|INTO heard/.test(sql));
    assert.deepEqual(rest.map(severalShards).filter((what) => what !== undefined), []); // biome-ignore format: short
  });

  test('edits, removals, lists and searches touch one shard, or are named as sweeps', async () => {
    const token = String(await login(one));
    const path = '/api/v2/devices/d';
    const ask = async (what: string, method = 'GET') => {
      const answer = await fetch(`${one.url}${path}${what}`, { method, headers: { authorization: `Bearer ${token}` } });
      await answer.arrayBuffer();
      return answer.status;
    };
    assert.equal(await ask('/sensors'), 200);
    assert.ok(
      (await ask('/sensors/b/values?dateFrom=2000-01-01T00:00:00Z&dateTo=2100-01-01T00:00:00Z', 'DELETE')) < 300,
    );
    assert.equal((await readValues(two, 'd', 'b', 'limit=1000')).length, 0);
    for (const query of ['?sort=-heard', '?q=sensors.last_value.value%3E20'])
      assert.equal((await call(one, `/api/v2/devices${query}`, { token })).status, 200, query);
    assert.ok((await ask('/sensors/a', 'DELETE')) < 300);
    await until(async () => (await sealedIn('purge')) === 0);
    const several = [...tap.statements].filter((sql) => severalShards(sql) !== undefined && !isSweep(sql));
    assert.deepEqual(several, []);
  });

  test('each key of a distributed table has its column, and none has a foreign key or a trigger', async () => {
    const server = await sharedServer();
    for (const { table, column } of distributedTables) {
      const keys = await server.query(
        url,
        `SELECT array_to_json(ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY(indkey))) AS columns
          FROM pg_index WHERE indrelid = '${table}'::regclass AND (indisunique OR indisprimary OR indisexclusion)`,
      );
      for (const { columns } of keys) assert.ok((columns as string[]).includes(column), `${table}: ${String(columns)}`);
      const others = await server.query(
        url,
        `SELECT conname FROM pg_constraint WHERE contype = 'f' AND '${table}'::regclass IN (conrelid, confrelid)
          UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = '${table}'::regclass`,
      );
      assert.deepEqual(others, [], table);
    }
  });
});

test('the look at statements refuses what may go to several shards', () => {
  const several = [
    'SELECT bytes FROM chunk',
    'SELECT bytes FROM chunk WHERE first = $1',
    'SELECT bytes FROM chunk WHERE sensor = ANY($1)',
    'SELECT bytes FROM chunk WHERE sensor = $1 OR first = $2',
    'SELECT bytes FROM chunk JOIN sensor ON sensor.key = chunk.sensor WHERE sensor.key = $1',
    'SELECT (SELECT max(first) FROM chunk) FROM series WHERE sensor = $1',
    'SELECT 1 FROM unnest($1) AS one(sensor) JOIN chunk ON chunk.sensor = one.sensor',
    'INSERT INTO chunk (sensor, first) SELECT sensor, first FROM unnest($1, $2) AS one(sensor, first)',
    'INSERT INTO chunk (first) VALUES ($1)',
    'INSERT INTO chunk (first, sensor) VALUES ($1, (SELECT 1))',
    'DELETE FROM series WHERE pass < $1',
    'SELECT bytes FROM log_bytes_0 WHERE seq = $1',
    'UPDATE series SET version = $1',
    'TRUNCATE chunk',
  ];
  for (const sql of several) assert.notEqual(severalShards(sql), undefined, sql);
  const single = [
    'SELECT bytes FROM chunk WHERE sensor = $1 AND first > (SELECT max(first) FROM chunk WHERE sensor = $1)',
    'INSERT INTO chunk (sensor, first) VALUES ($1, $2)',
    'INSERT INTO damaged_chunk (sensor, first) SELECT sensor, first FROM chunk WHERE sensor = $1',
    'UPDATE series SET version = version + 1 WHERE sensor = $1',
    'SELECT count(*) FROM sensor',
  ];
  for (const sql of single) assert.equal(severalShards(sql), undefined, sql);
});
