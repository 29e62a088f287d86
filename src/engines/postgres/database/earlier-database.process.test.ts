// A database that a release for one server has left: all of it is there, and goes on, when several servers can be on it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg from 'pg';
import { setLimits } from '../../../../test/support/limits.ts';
import { batchOf } from '../../../../test/support/points.ts';
import { createDatabase, dropDatabase, sharedServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { Caller } from '../../../domain/callers/caller.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { connectionSettings } from './connection-settings.ts';
import { migrations } from './migrations/migrations.ts';
import { PostgresDatabase } from './postgres-database.ts';

const asker = { caller: new Caller('reader') };
/** More than a pass stores in two transactions. */
const sensors = Array.from({ length: 2_500 }, (_, n) => n + 1);
const looked = [1, 999, 2_399, 2_400, 2_500];
const confirmed = 1_000;

/** What is read of the sensors that are looked at, and by the watcher of rules behind the position that it has confirmed. */
async function read({ series, commitLog }: PostgresEngine) {
  const ofSensor = async (sensor: number) => {
    const { columns } = await series.range({ sensor, descending: false, limit: 100 }, asker);
    return { values: [...columns.values], latest: (await series.latest([sensor])).get(sensor)?.value };
  };
  const unread: [sensor: number, seq: number, value: unknown][] = [];
  for (let behind = confirmed; behind < commitLog.lastPosition; ) {
    const step = await commitLog.readAfter(behind);
    for (const { sensor, seq, value } of step) if (looked.includes(sensor)) unread.push([sensor, seq, value]);
    behind = step.at(-1)?.seq ?? commitLog.lastPosition;
  }
  return { sensors: await Promise.all(looked.map(ofSensor)), unread, last: commitLog.lastPosition };
}

const push = ({ commitLog }: PostgresEngine, timestamp: number, to: readonly number[] = sensors) =>
  commitLog.append(batchOf(to.map((sensor) => ({ sensor, timestamp, value: timestamp }))));

/**
 * Two writers' rows: sealed ones that rules have not read, a removal and a correction that are not sealed, a pass of sealing that
 * broke off behind its second transaction, and a row behind it.
 */
async function fill(url: string, database: PostgresDatabase) {
  const first = await openPostgresEngine(url, { clock: systemClock });
  const lease = await first.coordination.acquire('rules/0');
  assert.ok(lease !== undefined);
  await push(first, 1);
  first.commitLog.confirm(confirmed, lease);
  assert.equal(await first.commitLog.confirmedPosition(), confirmed);
  await first.seal();
  await push(first, 2);
  assert.equal(await first.series.remove({ sensor: 1, fromMs: 2, toMs: 2 }, asker), 1);
  await first.close();
  const second = await openPostgresEngine(url, { clock: systemClock });
  await push(second, 3);
  assert.equal(await second.series.correct({ sensor: 999, atMs: 3, value: 33 }, asker), 1);
  await database.query('ALTER TABLE chunk ADD CONSTRAINT broken CHECK (sensor <> 2400) NOT VALID');
  await assert.rejects(second.seal());
  await push(second, 4);
  const found = await read(second);
  await second.close();
  return found;
}

/** A database with the tables of the last release for one server. */
async function createEarlier(): Promise<string> {
  const url = await (await sharedServer()).createEmptyDatabase();
  const pool = new pg.Pool({ ...connectionSettings(url, 'tests'), max: 1 });
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateTo('0008-mqtt5');
  await db.destroy();
  assert.equal(error, undefined);
  return url;
}

/** Columns that the earlier release had, of tables that have something. */
const copied = {
  ...Object.fromEntries([0, 1, 2, 3].map((ring) => [`log_${ring}`, 'writer, seq, position, count, bytes'])),
  chunk: 'sensor, first, last, id, count, numbers, min, max, sum, bytes',
  series: 'sensor, version, pass, at, position, stamped, received, number, text',
  counter: 'name, value',
};

async function copy(from: PostgresDatabase, to: PostgresDatabase): Promise<void> {
  for (const [table, columns] of Object.entries(copied)) {
    const rows = `SELECT CAST(jsonb_agg(to_jsonb(one)) AS text) AS rows FROM (SELECT ${columns} FROM ${table}) AS one`;
    const [found] = await from.query<{ rows: string | null }>(rows);
    await to.query(
      `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM jsonb_populate_recordset(CAST(NULL AS ${table}), CAST($1 AS jsonb))`,
      [found?.rows ?? '[]'],
    );
  }
  await to.query("SELECT setval(pg_get_serial_sequence('chunk', 'id'), (SELECT max(id) FROM chunk))");
  // The former form of how far a pass goes: the last row of each writer.
  const passes = await from.query<{
    values: string[];
    positions: string;
  }>(`SELECT ARRAY[number, up_to, is_whole, newest_received]::text[] AS values,
      (SELECT json_agg(json_build_array(writer, seq))::text FROM (SELECT writer, max(seq) AS seq FROM log
        WHERE log.number <= up_to_row GROUP BY writer) AS one) AS positions FROM seal_pass`);
  for (const { values, positions } of passes)
    await to.query(
      'INSERT INTO seal_pass (number, up_to, is_whole, newest_received, positions) VALUES ($1, $2, $3, $4, $5)',
      [...values, positions],
    );
  // The second server was killed: its fence is there.
  for (const _ of [1, 2]) await to.query('INSERT INTO log_writer DEFAULT VALUES');
  await to.query('DELETE FROM log_writer WHERE writer = 1');
}

suite('a database of a release for one server', { skip: withoutPostgres }, () => {
  setLimits({ logRingBytes: 1 });

  test('has all its datapoints, edits and positions, and a pass that broke off is gone on with', async (t) => {
    const [from, to] = [await createDatabase(), await createEarlier()];
    const [source, database] = [new PostgresDatabase(from), new PostgresDatabase(to)];
    let engine: PostgresEngine | undefined;
    t.after(async () => {
      await engine?.close();
      for (const one of [source, database]) await one.close();
      for (const url of [from, to]) await dropDatabase(url);
    });
    const expected = await fill(from, source);
    assert.deepEqual(expected.sensors[0], { values: [1, 3, 4], latest: 4 });
    assert.deepEqual(expected.sensors[1], { values: [1, 2, 33, 4], latest: 4 });
    await copy(source, database);
    const rows = async (where = '') =>
      (await database.query<{ n: number }>(`SELECT count(*) AS n FROM log ${where}`))[0]?.n ?? 0;
    assert.equal(await rows(), 6);
    assert.ok((await rows('WHERE ring = 0')) > 0 && (await rows('WHERE ring = 1')) > 0, 'in two tables');

    const opened = await openPostgresEngine(to, { clock: systemClock });
    engine = opened;
    const damage: string[] = [];
    opened.observe({ onDamaged: (what) => damage.push(what) });
    assert.deepEqual(await read(opened), expected);
    assert.equal(await opened.commitLog.confirmedPosition(), confirmed);
    await until(async () => opened.seal().then(() => true, () => false)); // biome-ignore format: short
    assert.deepEqual(await read(opened), expected);
    assert.equal(opened.figures.logDatapoints, 0);
    assert.equal(await push(opened, 5, [1]), expected.last + 1);
    await opened.close();

    engine = await openPostgresEngine(to, { clock: systemClock });
    engine.observe({ onDamaged: (what) => damage.push(what) });
    const [one, ...others] = expected.sensors;
    assert.deepEqual(await read(engine), {
      sensors: [{ values: [...(one?.values ?? []), 5], latest: 5 }, ...others],
      unread: [...expected.unread, [1, expected.last + 1, 5]],
      last: expected.last + 1,
    });
    assert.deepEqual(damage, []);
  });
});
