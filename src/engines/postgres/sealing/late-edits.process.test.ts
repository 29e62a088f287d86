// Edits of datapoints in chunks on PostgreSQL by a process that stood still, while another went on in its place.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { batchOf } from '../../../../test/support/points.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { Caller } from '../../../domain/callers/caller.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { correctInChunks } from './datapoint-correction.ts';
import { removeFromChunks } from './datapoint-removal.ts';

suite('an edit of datapoints', { skip: withoutPostgres }, () => {
  let url: string;
  let database: PostgresDatabase;
  let engine: PostgresEngine;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    engine = await openPostgresEngine(url, { clock: systemClock });
  });
  after(async () => {
    await engine?.close();
    await database?.close();
    await dropDatabase(url);
  });

  test('that removes some removes nothing more once its note is gone: it was completed, and what is there was pushed since then', async () => {
    const sensor = 1;
    await engine.commitLog.append(batchOf([{ sensor, timestamp: 5, value: 7 }]));
    await engine.seal();
    const removal = { sensor, fromMs: 0, toMs: 10 };
    const note = { writer: 1, seq: 1_000 };
    assert.deepEqual(await removeFromChunks(database, { removal, note }), [0, 0]);
    const asker = { caller: new Caller('reader') };
    const read = () => engine.series.range({ sensor, descending: false, limit: 100 }, asker);
    assert.deepEqual([...(await read()).columns.values], [7]);
    await database.query('INSERT INTO deletion (writer, seq, sensor, first, last) VALUES (1, 1000, 1, 0, 10)');
    assert.deepEqual(await removeFromChunks(database, { removal, note }), [1, 0]);
    assert.deepEqual([...(await read()).columns.values], []);
    assert.deepEqual(await database.query('SELECT * FROM deletion'), []);
  });

  test('that corrects one is refused once the process is taken for dead', async () => {
    const sensor = 2;
    await engine.commitLog.append(batchOf([{ sensor, timestamp: 5, value: 7 }]));
    await engine.seal();
    const correction = { sensor, atMs: 5, value: 8 };
    await assert.rejects(correctInChunks(database, { correction, writer: 999 }), /has taken this one for dead/);
    const latest = async () => (await engine.series.latest([sensor])).get(sensor)?.value;
    assert.equal(await latest(), 7);
    const [fence] = await database.query<{ writer: number }>('SELECT writer FROM log_writer');
    assert.deepEqual(await correctInChunks(database, { correction, writer: fence?.writer ?? 0 }), [1, 0]);
    const { columns } = await engine.series.range(
      { sensor, descending: false, limit: 100 },
      { caller: new Caller('reader') },
    );
    assert.deepEqual([...columns.values], [8]);
  });
});
