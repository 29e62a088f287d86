// Claims of an Idempotency-Key on PostgreSQL, by which one of several servers stores a push.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';

suite('a claim that could not be given up', { skip: withoutPostgres }, () => {
  setLimits({ databaseBusyMs: 300, postgresOutcomeMs: 300, postgresRetryMsMax: 200 });

  const open = async (t: TestContext) => {
    const url = await createDatabase();
    const one = await openPostgresEngine(url, { clock: systemClock });
    const two = await openPostgresEngine(url, { clock: systemClock });
    const holder = new pg.Client(url);
    t.after(async () => {
      await holder.end();
      await one.close();
      await two.close();
      await dropDatabase(url);
    });
    await holder.connect();
    return { one, two, holder };
  };
  const claim = ({ commitLog }: PostgresEngine, key: string) =>
    commitLog.claimReceipt(key, { sinceMs: 0 }).then(
      (receipt) => receipt === undefined,
      () => false,
    );
  const lock = 'BEGIN; LOCK TABLE claim IN SHARE ROW EXCLUSIVE MODE';

  test('is given up when the database takes it, though the push came again and was refused meanwhile', async (t) => {
    const { one, two, holder } = await open(t);
    assert.equal(await claim(one, 'again'), true);
    await holder.query(lock);
    await one.commitLog.releaseClaim('again');
    assert.equal(await claim(one, 'again'), false);
    await holder.query('ROLLBACK');
    await until(() => claim(two, 'again'), { msMax: 15_000 });
  });

  test('is given up when the database takes it, so that another server stores the push; its own may claim it before', async (t) => {
    const { one, two, holder } = await open(t);
    for (const key of ['refused', 'repeated']) assert.equal(await claim(one, key), true);
    assert.equal(await claim(two, 'refused'), false);
    await holder.query(lock);
    // Its caller is to hear why the push was refused.
    for (const key of ['refused', 'repeated']) await one.commitLog.releaseClaim(key);
    const again = claim(one, 'repeated');
    await holder.query('ROLLBACK');
    await until(() => claim(two, 'refused'), { msMax: 15_000 });
    const isClaimed = (await again) || (await claim(one, 'repeated'));
    assert.equal(isClaimed, true);
    await until(async () => (await holder.query('SELECT 1 FROM claim')).rowCount === 2);
    assert.equal(await claim(two, 'repeated'), false);
  });
});
