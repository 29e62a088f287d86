import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseLink } from '../../../../test/support/crash/database-link.ts';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, PostgresServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { limits } from '../../../config/limits.ts';
import { locks } from '../database/advisory-locks.ts';
import { migrate } from '../database/migrate.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { declareDead } from './death.ts';
import { Membership } from './membership.ts';

suite('servers as members of their database', { skip: withoutPostgres }, () => {
  setLimits({ databaseBusyMs: 300, nodeRenewMs: 50, nodeDeadMs: 400 });

  test('a second one joins, and each knows of the other before it is ready', async () => {
    const database = new PostgresDatabase(await createDatabase());
    const first = await Membership.join(database, 'first');
    assert.deepEqual([first.isAlone, first.isSure], [true, true]);
    const [second, third] = await Promise.all([
      Membership.join(database, 'second'),
      Membership.join(database, 'third'),
    ]);
    assert.deepEqual([first, second, third].map(({ isAlone }) => isAlone), [false, false, false]); // biome-ignore format: short
    await third.close();
    await second.close();
    await until(() => first.isAlone);
    await first.close();
    assert.deepEqual(await database.query('SELECT * FROM node'), []);
    await database.close();
  });

  test('a server of a release that has the database alone is respected, and so are servers by what changes the tables', async () => {
    const url = await createDatabase();
    const database = new PostgresDatabase(url);
    const former = await database.connect('former');
    await former.query(`SELECT pg_advisory_lock(${locks.servers})`);
    await assert.rejects(Membership.join(database, 'first'), { code: 'conflict' });
    await former.close();
    const member = await Membership.join(database, 'first');
    await database.query("DELETE FROM kysely_migration WHERE name LIKE '0009%'");
    await assert.rejects(migrate(url), { code: 'conflict', message: /Stop them first/ });
    await member.close();
    await database.close();
  });

  test('one that gives no sign of life is declared dead with its fences; sooner where its connection is gone', async () => {
    const database = new PostgresDatabase(await createDatabase());
    const living = await Membership.join(database, 'living');
    let lost: Error | undefined;
    living.onLost = (error) => {
      lost = error;
    };
    const stopped = await database.connect('stopped');
    const { rows } = await stopped.query<{ number: number }>(
      "INSERT INTO node (id) VALUES ('stopped') RETURNING number",
    );
    await stopped.query(`SELECT pg_advisory_lock(${locks.nodeNumbers}, ${rows[0]?.number})`);
    await database.query("INSERT INTO log_writer (node) VALUES ('stopped'), ('living')");
    await database.query("INSERT INTO node (id) VALUES ('gone')");
    const others = async () =>
      (await database.query("SELECT id FROM node WHERE id <> 'living' ORDER BY id")).map(({ id }) => id);
    const startMs = performance.now();
    await until(async () => !(await others()).includes('gone'), { msMax: 10_000, everyMs: 10 });
    // The machine may be slow: then both are gone.
    if (performance.now() - startMs < 300) assert.deepEqual(await others(), ['stopped']);
    await until(async () => (await others()).length === 0, { msMax: 10_000 });
    assert.deepEqual(await database.query('SELECT node FROM log_writer'), [{ node: 'living' }]);
    assert.equal(lost, undefined);
    await stopped.close();
    await living.close();
    await database.close();
  });

  test('one that foresees its silence is not declared dead meanwhile, and is as any other from its next sign of life on', async () => {
    const database = new PostgresDatabase(await createDatabase());
    const member = await Membership.join(database, 'busy');
    const aheadS = async () => {
      const sql = 'SELECT CAST(extract(epoch FROM renewed - clock_timestamp()) AS double precision) AS ahead FROM node';
      return (await database.query<{ ahead: number }>(sql))[0]?.ahead ?? Number.NaN;
    };
    // Its next sign of life does not come by itself.
    Object.assign(limits, { nodeRenewMs: 600_000 });
    await member.foreseeSilence(60_000);
    Object.assign(limits, { nodeRenewMs: 50 });
    assert.ok((await aheadS()) > 30, `${await aheadS()} s`);
    await pause(500);
    assert.deepEqual(await declareDead(database, { isNew: false }), []);
    await member.lookAtOthers();
    assert.ok((await aheadS()) <= 0, `${await aheadS()} s`);
    await member.close();
    await database.close();
  });

  test('whoever finds its row gone is told, and one whose connection is ended goes on', async () => {
    const server = await PostgresServer.start();
    const database = new PostgresDatabase(await server.createDatabase());
    const member = await Membership.join(database, 'first');
    let lost: Error | undefined;
    member.onLost = (error) => {
      lost = error;
    };
    for (let n = 0; n < 3; n++) {
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dundun node'",
      );
      await pause(200);
    }
    await until(async () => (await database.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")).length === 2);
    assert.equal(lost, undefined);
    await database.query('DELETE FROM node');
    await until(() => lost !== undefined);
    assert.match(String(lost), /declared this one dead/);
    assert.equal(member.isSure, false);
    await assert.rejects(member.makeSure());
    await member.close();
    await database.close();
    server.remove();
  });
});

suite('servers that were cut off together', { skip: withoutPostgres }, () => {
  setLimits({ nodeRenewMs: 100, nodeDeadMs: 4_000, postgresRetryMsMax: 100 });

  const untilOld = (database: PostgresDatabase) => {
    const sql =
      "SELECT 1 FROM pg_postmaster_start_time() AS start WHERE start < clock_timestamp() - interval '4 seconds'";
    return until(async () => (await database.query(sql)).length > 0, { everyMs: 100 });
  };

  test('have time to come back, one after the other', async (t) => {
    const url = await createDatabase();
    const links = [await DatabaseLink.open(url), await DatabaseLink.open(url)] as const;
    const databases = links.map((link) => new PostgresDatabase(link.url));
    const [first, second] = (await Promise.all(
      databases.map((database, n) => Membership.join(database, `member ${n}`)),
    )) as [Membership, Membership];
    t.after(async () => {
      for (const member of [first, second]) await member.close();
      for (const database of databases) await database.close();
      for (const link of links) link.close();
    });
    const lost: Error[] = [];
    for (const member of [first, second]) member.onLost = (error) => lost.push(error);
    await untilOld(databases[0] as PostgresDatabase);
    for (const link of links) link.cut({ isTold: true });
    await until(() => !second.isSure && !first.isSure);
    await pause(300);
    links[0].heal();
    await until(() => first.isSure);
    await first.lookAtOthers();
    links[1].heal();
    await until(() => second.isSure || lost.length > 0);
    assert.deepEqual(lost, []);
  });

  test('are not declared dead by one that comes just after a standby took the place of the primary', async () => {
    const primary = await PostgresServer.start();
    const url = await primary.createDatabase();
    const standby = await PostgresServer.startStandby(primary);
    const gone = "INSERT INTO node (id, renewed) VALUES ('gone', clock_timestamp() - interval '3 seconds')";
    const declaredBy = async (database: PostgresDatabase, isNew: boolean) => {
      await database.query(`${gone} ON CONFLICT DO NOTHING`);
      return declareDead(database, { isNew });
    };
    const former = new PostgresDatabase(url);
    await untilOld(former);
    assert.deepEqual(await declaredBy(former, true), ['gone']);
    await former.close();
    await primary.stopImmediately();
    await standby.promote();
    const database = new PostgresDatabase(standby.url(new URL(url).pathname.slice(1)));
    await untilOld(database);
    assert.deepEqual(await declaredBy(database, true), []);
    assert.deepEqual(await declaredBy(database, false), ['gone']);
    await database.close();
    for (const server of [primary, standby]) server.remove();
  });
});
