// The tables of the log on PostgreSQL where the process that tends them stands still, and another seals in its place.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setLimits } from '../../../../test/support/limits.ts';
import { batchOf } from '../../../../test/support/points.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { Caller } from '../../../domain/callers/caller.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { LogRings } from './log-rings.ts';

/** Stands still once its first question outside of a transaction is answered: which tables there are. */
class StandingStill extends PostgresDatabase {
  readonly hasRead = Promise.withResolvers<void>();
  readonly mayGoOn = Promise.withResolvers<void>();

  override async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const rows = await super.query<Row>(sql, parameters);
    this.hasRead.resolve();
    await this.mayGoOn.promise;
    return rows;
  }
}

suite('the tables of the log', { skip: withoutPostgres }, () => {
  setLimits({ logRingBytes: 1 });
  let url: string;
  let database: PostgresDatabase;
  let standing: StandingStill;
  let engine: PostgresEngine;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    standing = new StandingStill(url);
    engine = await openPostgresEngine(url, { clock: systemClock });
  });
  after(async () => {
    await engine?.close();
    await database?.close();
    await standing?.close();
    await dropDatabase(url);
  });

  test('are not emptied by a server that stood still, once another has put new rows there', async () => {
    const sensor = 1;
    const push = (value: number) => engine.commitLog.append(batchOf([{ sensor, timestamp: value, value }]));
    const end = async () => (await database.query<{ ring: number; number: number }>('SELECT * FROM log_end'))[0];
    await push(0);
    const stale = (await end())?.ring;
    await engine.seal();
    const [node] = await database.query<{ id: string }>('SELECT id FROM node');
    const rings = new LogRings({ database: standing, node: node?.id ?? '' });
    const failures: Error[] = [];
    rings.onFailure = (error) => failures.push(error);
    const tended = rings.tend(((await end())?.number ?? 0) + 1);
    await standing.hasRead.promise;
    // All tables in turn, up to that in which it has seen nothing but sealed rows.
    let value = 0;
    do {
      await push(++value);
      await engine.seal();
    } while ((await end())?.ring !== stale);
    await push(++value);
    standing.mayGoOn.resolve();
    await tended;
    assert.deepEqual(failures, []);
    await engine.close();
    engine = await openPostgresEngine(url, { clock: systemClock });
    const asker = { caller: new Caller('reader') };
    const { columns } = await engine.series.range({ sensor, descending: false, limit: 100 }, asker);
    assert.deepEqual([...columns.values], [...Array(value + 1).keys()]);
  });
});
