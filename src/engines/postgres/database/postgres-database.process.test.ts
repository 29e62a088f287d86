import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { createDatabase, PostgresServer, sharedServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { limits } from '../../../config/limits.ts';
import { isConnectionLost, writeFailureOf } from './database-error.ts';
import { migrate } from './migrate.ts';
import { PostgresDatabase } from './postgres-database.ts';

suite('the database on PostgreSQL', { skip: withoutPostgres }, () => {
  let database: PostgresDatabase;
  let url: string;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
  });
  after(() => database?.close());

  const addUser = 'INSERT INTO "user" (id, username, profile, admin, created_time) VALUES ($1, $1, \'{}\', 0, 1)';

  test('numbers of 64 bits and truth values come as numbers', async () => {
    const [row] = await database.query(
      'SELECT CAST($1 AS bigint) AS big, count(*) AS many, sum(1::bigint) AS all, true AS yes',
      [2 ** 52],
    );
    assert.deepEqual({ ...row }, { big: 2 ** 52, many: 1, all: 1, yes: 1 });
  });

  test('a text with NUL, which nothing can have, is looked for and not found', async () => {
    const find = (one: string | string[]) =>
      database.query(`SELECT 1 FROM setting WHERE name = ${Array.isArray(one) ? 'ANY ($1::text[])' : '$1'}`, [one]);
    assert.deepEqual(await find('a\0b'), []);
    assert.deepEqual(await find(['a', 'a\0b']), []);
  });

  test('a transaction that fails leaves nothing, and says why', async () => {
    const failed = database.transaction(async (connection) => {
      await connection.query(addUser, ['ana']);
      await connection.query(addUser, ['ana']);
    });
    await assert.rejects(failed, (error) => writeFailureOf(error).kind === 'exists');
    assert.deepEqual(await database.query('SELECT * FROM "user"'), []);
    await database.transaction((connection) => connection.query(addUser, ['ana']));
    assert.equal((await database.query('SELECT * FROM "user"')).length, 1);
  });

  test('the server ends a statement that takes too long on its own, and a commit waits for the disk', async () => {
    const own = await database.connect('tests');
    const { rows } = await own.query(
      `SELECT current_setting('statement_timeout') AS statement, current_setting('synchronous_commit') AS commit,
        current_setting('application_name') AS name`,
    );
    assert.deepEqual(rows, [{ statement: '30s', commit: 'on', name: 'dundun tests' }]);
    await own.close();
  });

  test('migrations of several processes at once run once', async () => {
    const empty = await (await sharedServer()).createEmptyDatabase();
    await Promise.all([migrate(empty), migrate(empty), migrate(empty)]);
    await migrate(empty);
  });

  test('a database of a newer release is refused', async () => {
    const newer = await createDatabase();
    const later = new PostgresDatabase(newer);
    await later.transaction((connection) => connection.query("INSERT INTO kysely_migration VALUES ('9999-later', '')"));
    await later.close();
    await assert.rejects(migrate(newer), { code: 'conflict', message: /newer Dundun \(9999-later\)/ });
    // Who was refused keeps no connection: the database could not be dropped, nor this process end.
    const { pathname } = new URL(newer);
    const left = `SELECT application_name AS name FROM pg_stat_activity WHERE datname = '${pathname.slice(1)}'`;
    await until(async () => (await (await sharedServer()).query(url, left)).length === 0);
  });

  test('reads are refused while the server is away, and go on by themselves when it is back', async () => {
    const server = await PostgresServer.start();
    const other = new PostgresDatabase(await server.createDatabase());
    const own = await other.connect('tests');
    await other.query('SELECT 1');
    await server.stopImmediately();
    assert.ok(isConnectionLost(await own.lost));
    assert.equal(own.isLost, true);
    await assert.rejects(other.query('SELECT 1'), { code: 'storage' });
    await assert.rejects(
      other.transaction((connection) => connection.query('SELECT 1')),
      isConnectionLost,
    );
    const again = other.connectAgain('tests');
    await server.run();
    await (await again).query('SELECT 1');
    assert.deepEqual(await other.query('SELECT 1 AS one'), [{ one: 1 }]);
    await (await again).close();
    await other.close();
    server.remove();
  });

  test('a network that is cut without a word is a connection that is lost', async () => {
    const folder = decodeURIComponent(new URL(url).searchParams.get('host') ?? '');
    const passed = new Set<Socket>();
    const proxy = createServer((socket) => {
      const server = connect(join(folder, '.s.PGSQL.5432'));
      for (const end of [socket, server]) {
        passed.add(end);
        end.on('error', () => {});
      }
      socket.pipe(server).pipe(socket);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const usual = limits.postgresAnswerMs;
    Object.assign(limits, { postgresAnswerMs: 300 });
    const far = new PostgresDatabase(`postgres://dundun@127.0.0.1:${port}${new URL(url).pathname}`);
    const own = await far.connect('tests');
    await far.query('SELECT 1');
    for (const end of passed) end.unpipe().pause();
    await assert.rejects(far.query('SELECT 1'), { code: 'storage' });
    await assert.rejects(own.query('SELECT 1'), isConnectionLost);
    await own.lost;
    // Healed: later connections get through.
    assert.deepEqual(await far.query('SELECT 1 AS one'), [{ one: 1 }]);
    Object.assign(limits, { postgresAnswerMs: usual });
    for (const end of passed) end.destroy();
    await far.close();
    proxy.close();
  });
});
