// Leases on PostgreSQL where the database fails the process that has one, or takes one: nobody else can take it while that lives.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import pg from 'pg';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';

suite('leases of several servers where the database fails', { skip: withoutPostgres }, () => {
  setLimits({ databaseBusyMs: 300, postgresOutcomeMs: 300 });
  let url: string;
  let one: PostgresEngine;
  let two: PostgresEngine;
  let holder: pg.Client | undefined;

  before(async () => {
    url = await createDatabase();
    one = await openPostgresEngine(url, { clock: systemClock });
    two = await openPostgresEngine(url, { clock: systemClock });
  });
  afterEach(() => letGo());
  after(async () => {
    await one?.close();
    await two?.close();
    await dropDatabase(url);
  });

  const hold = async () => {
    holder = new pg.Client(url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE lease IN SHARE ROW EXCLUSIVE MODE');
  };
  const letGo = async () => {
    await holder?.end();
    holder = undefined;
  };

  test('one that could not be given back is taken again by its process, under a greater epoch, and given back for all', async () => {
    const lease = await one.coordination.acquire('retention');
    assert.ok(lease !== undefined);
    await hold();
    await lease.release();
    await letGo();
    assert.equal(lease.isHeld, false);
    assert.equal(await two.coordination.acquire('retention'), undefined);
    const again = await one.coordination.acquire('retention');
    assert.ok(again !== undefined && again.epoch > lease.epoch);
    assert.equal(await one.coordination.acquire('retention'), undefined);
    await again.release();
    const others = await two.coordination.acquire('retention');
    assert.ok(others !== undefined && others.epoch > again.epoch);
    await others.release();
  });

  test('one that could not be taken is asked for again', async () => {
    await hold();
    await assert.rejects(one.coordination.acquire('outbox'), { code: 'storage' });
    await letGo();
    const lease = await one.coordination.acquire('outbox');
    assert.ok(lease !== undefined);
    await lease.release();
  });
});
