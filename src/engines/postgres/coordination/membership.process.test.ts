import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, PostgresServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { Membership } from './membership.ts';

suite('a server as a member of its database', { skip: withoutPostgres }, () => {
  setLimits({ databaseBusyMs: 300, nodeRenewMs: 20 });

  test('a second one is refused while the first runs, and may come when it has gone', async () => {
    const database = new PostgresDatabase(await createDatabase());
    const first = await Membership.join(database, 'first');
    await assert.rejects(Membership.join(database, 'second'), { code: 'conflict' });
    const second = Membership.join(database, 'second');
    await first.close();
    await (await second).close();
    assert.deepEqual(await database.query('SELECT * FROM node'), []);
    await database.close();
  });

  test('who was declared dead is told, and so is who finds another in its place', async () => {
    const server = await PostgresServer.start();
    const database = new PostgresDatabase(await server.createDatabase());
    const member = await Membership.join(database, 'first');
    let lost: Error | undefined;
    member.onLost = (error) => {
      lost = error;
    };
    await database.query('DELETE FROM node');
    await until(() => lost !== undefined);
    lost = undefined;
    await database.query("INSERT INTO node (id) VALUES ('first')");
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dundun node'",
    );
    await until(async () => (await database.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")).length === 1);
    await until(() => member.refusesBecause === undefined);
    assert.equal(lost, undefined, 'the lock was taken again');
    await member.close();
    await database.close();
    server.remove();
  });
});
