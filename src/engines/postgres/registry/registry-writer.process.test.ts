import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createDatabase, PostgresServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { RegistryWriter } from './registry-writer.ts';

suite('the writer of the registry on PostgreSQL', { skip: withoutPostgres }, () => {
  let database: PostgresDatabase;
  let writer: RegistryWriter;

  before(async () => {
    database = new PostgresDatabase(await createDatabase());
    writer = new RegistryWriter({ database, writer: 'one' });
  });
  after(async () => {
    await writer?.close();
    await database?.close();
  });

  const put = (name: string, value = 'x') => ({
    sql: 'INSERT INTO setting (name, value) VALUES ($1, $2)',
    parameters: [name, value],
  });
  const namesIn = async (from: PostgresDatabase) =>
    (await from.query<{ name: string }>('SELECT name FROM setting ORDER BY name')).map(({ name }) => name);

  test('of units that wait together one that fails is left out alone', async () => {
    const outcomes = await Promise.allSettled([
      writer.write([put('a')]),
      writer.write([put('b'), put('a')]),
      writer.write([put('c'), put('d')]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(await namesIn(database), ['a', 'c', 'd']);
    await assert.rejects(writer.write([put('a')]), { code: 'exists' });
    assert.deepEqual(await writer.write([put('e')]), [1]);
  });

  test('units of several processes hold a condition until they commit', async () => {
    const other = new RegistryWriter({ database, writer: 'two' });
    const addWhereFew = {
      sql: `INSERT INTO secret (name, value) SELECT CAST($1 AS text), '' WHERE (SELECT count(*) FROM secret) < 5`,
    };
    const writes = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? writer : other).write([{ ...addWhereFew, parameters: [`s${n}`] }]),
    );
    const changes = (await Promise.all(writes)).flat();
    assert.equal(changes.filter((count) => count === 1).length, 5);
    assert.equal((await database.query('SELECT 1 FROM secret')).length, 5);
    await other.close();
  });

  test('whatever is acknowledged is stored, and whatever is refused is not, when the server crashes in between', async (t) => {
    const server = await PostgresServer.start({ isDurable: true });
    t.after(() => server.remove());
    const crashing = new PostgresDatabase(await server.createDatabase());
    const writing = new RegistryWriter({ database: crashing, writer: 'one' });
    // Also where it fails: an open connection would keep this process.
    t.after(async () => {
      await writing.close();
      await crashing.close();
    });
    const acknowledged: string[] = [];
    for (let crash = 0; crash < 2; crash++) {
      let isOver = false;
      const pushing = Array.from({ length: 6 }, async (_, pusher) => {
        for (let n = 0; !isOver; n++) {
          const name = `${crash}-${pusher}-${n}`;
          await writing.write([put(name)]).then(
            () => acknowledged.push(name),
            async (error: { readonly code?: string }) => {
              assert.equal(error.code, 'storage');
              await new Promise((resolve) => setTimeout(resolve, 5));
            },
          );
        }
      });
      const before = acknowledged.length;
      await until(() => acknowledged.length > before + 20 + 7 * crash, { everyMs: 1 });
      await server.stopImmediately();
      await server.run();
      const then = acknowledged.length;
      await until(() => acknowledged.length > then);
      isOver = true;
      await Promise.all(pushing);
    }
    assert.deepEqual(await namesIn(crashing), acknowledged.toSorted());
  });
});
