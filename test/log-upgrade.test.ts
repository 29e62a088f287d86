// A data folder from before the log held many datapoints a row: its datapoints are all there after the upgrade.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { migrations } from '../src/storage/sql/migrations/migrations.ts';
import { databaseFile, openConnection } from '../src/storage/sqlite/connection.ts';
import { NodeSqliteDialect } from '../src/storage/sqlite/dialect.ts';
import { openEmbeddedStore } from '../src/storage/sqlite/open.ts';

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dundun-upgrade-'));
});
after(() => rm(folder, { recursive: true, force: true }));

test('datapoints of a log of single rows are read in their order, and seqs go on', async () => {
  await makeEarlierFolder();
  const opened = await openEmbeddedStore(folder);
  const read = (sensor: number) => opened.datapoints.read({ sensor, descending: false, limit: 100 });
  assert.deepEqual(
    (await read(1)).map(({ seq, timestampMs, receivedMs, value }) => [seq, timestampMs, receivedMs, value]),
    [
      [2, 100, 1000, 1.5],
      [1, 200, 1000, '"text"'],
      [3, undefined, 2000, -0],
    ],
  );
  assert.deepEqual(
    (await read(2)).map(({ seq }) => seq),
    [4],
  );
  const latest = await opened.datapoints.latest([1, 2]);
  assert.deepEqual([latest.get(1)?.seq, latest.get(2)?.seq], [3, 4]);
  const rows = Float64Array.from([2, Number.NaN, 3000, 5]);
  const seq = await opened.datapoints.append({
    rows,
    texts: [],
    quiet: [],
    receipts: [],
    publishes: new Float64Array(),
  });
  assert.equal(seq, 5);
  await opened.close();
});

async function makeEarlierFolder(): Promise<void> {
  const database = openConnection(join(folder, databaseFile), { readOnly: false });
  const db = new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) });
  const earlier = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '0003'));
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => earlier } }).migrateToLatest();
  assert.equal(error, undefined);
  const insert = database.prepare(
    'INSERT INTO log (seq, sensor, at, stamped, received, value) VALUES (?, ?, ?, ?, ?, ?)',
  );
  insert.run(1, 1, 200, 1, 1000, '"text"');
  insert.run(2, 1, 100, 1, 1000, 1.5);
  insert.run(3, 1, 2000, 0, 2000, new Uint8Array(0));
  insert.run(4, 2, 2000, 0, 2000, 4);
  database.close();
}
