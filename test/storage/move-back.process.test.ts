// What an engine knows of data that were moved from PostgreSQL to a folder, where no answer of the service shows it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/base/time/clock.ts';
import { Caller } from '../../src/domain/callers/caller.ts';
import { BatchBuilder } from '../../src/domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../src/domain/devices/sensor.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';
import { moveData } from '../../src/engines/open.ts';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { openPostgresEngine } from '../../src/engines/postgres/open.ts';
import { nowMs } from '../support/points.ts';
import { createDatabase, withoutPostgres } from '../support/postgres.ts';
import { makeFolder } from '../support/process.ts';

const sensor = 7 as SensorKey;
const values = [1, -0, 'null', '"text"', 2 ** 53, '12345678901234567890', 3];

test('what rules have not read comes along, with its place and what no rule evaluates', {
  skip: withoutPostgres,
}, async () => {
  const url = await createDatabase();
  const database = new PostgresDatabase(url);
  // A watcher has read nothing yet.
  await database.query("INSERT INTO counter (name, value) VALUES ('followed_seq', 0)");
  await database.close();
  const source = await openPostgresEngine(url, { clock: systemClock });
  const batch = new BatchBuilder(values.length);
  for (const [n, value] of values.entries()) {
    batch.add(sensor, n, nowMs + n, value);
    if (n === 1) batch.addRulesSkipped(2);
  }
  await source.commitLog.append(batch.build());
  const before = await source.commitLog.readAfter(0);
  assert.equal(before.length, values.length);
  const { lastPosition } = source.commitLog;
  await source.close();
  const folder = join(makeFolder(), 'back');
  const { moved } = await moveData({ dataDir: '', databaseUrl: url, to: folder, onStep: () => {} });
  assert.deepEqual({ ...moved }, { sensors: 1, datapoints: values.length });
  const engine = await openEmbeddedEngine(folder);
  try {
    assert.deepEqual(await engine.commitLog.readAfter(0), before);
    assert.equal(await engine.commitLog.confirmedPosition(), 0);
    assert.equal(engine.commitLog.lastPosition, lastPosition);
    assert.equal(await engine.commitLog.newestReceivedMs(), nowMs + values.length - 1);
    const { columns } = await engine.series.range(
      { sensor, descending: false, limit: 100 },
      { caller: new Caller('reader') },
    );
    assert.equal(columns.count, values.length);
  } finally {
    await engine.close();
  }
});
