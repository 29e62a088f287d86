// What triggers do when a device with many sensors is removed, counted by PostgreSQL itself: how long it takes says little on a busy machine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';

interface Work {
  readonly scans: number;
  readonly changes: number;
}

suite('the sensors of a device that is removed on PostgreSQL', { skip: withoutPostgres }, () => {
  let database: PostgresDatabase;

  before(async () => {
    database = new PostgresDatabase(await createDatabase());
    await database.query(`INSERT INTO "user" (key, id, username, profile, admin, created_time)
      VALUES (77, 'u', 'u', '{}', 0, 0)`);
  });
  after(() => database?.close());

  async function addDevice(device: number, parts: number): Promise<void> {
    await database.query(`INSERT INTO device (key, id, owner, visibility, date_created, date_modified)
      VALUES (${device}, 'd${device}', 77, 'public', 0, 0)`);
    for (const columns of ['sensor (device, kind_name, id, meta)', 'actuator (device, value, id, meta)'])
      await database.query(`INSERT INTO ${columns}
        SELECT ${device}, 'x', 'p' || n, '{"slot":1}' FROM generate_series(1, ${parts}) AS n`);
  }

  const usage = async () => (await database.query('SELECT * FROM usage WHERE "user" = 77'))[0];

  /** Removes the parts of the device; how often sensors were looked through, and counts of usage changed. */
  const removeParts = (device: number) =>
    database.transaction(async (connection): Promise<Work> => {
      const look = async (): Promise<Work> => {
        const { rows } = await connection.query<{ relname: string; scans: string; changes: string }>(workSql);
        const of = (table: string) => rows.find(({ relname }) => relname === table);
        return { scans: Number(of('sensor')?.scans ?? 0), changes: Number(of('usage')?.changes ?? 0) };
      };
      // Counts of the connection's transactions before may be among them still.
      const first = await look();
      for (const table of ['actuator', 'sensor'])
        await connection.query(`DELETE FROM ${table} WHERE device = ${device}`);
      const last = await look();
      return { scans: last.scans - first.scans, changes: last.changes - first.changes };
    });

  test('are taken from the usage of its owner in one change, however many they are', async () => {
    await addDevice(1, 2);
    const before = await usage();
    for (const [device, parts] of [
      [2, 20],
      [3, 400],
    ] as const) {
      await addDevice(device, parts);
      const { changes } = await removeParts(device);
      assert.ok(changes <= 2, `${changes} changes for ${parts} sensors and ${parts} actuators`);
      await database.query(`DELETE FROM device WHERE key = ${device}`);
      assert.deepEqual(await usage(), before);
    }
  });

  test('are not looked through again for each of them, with or without datapoints of which somebody is charged', async () => {
    for (const [device, isCharged] of [
      [4, false],
      [5, true],
    ] as const) {
      await addDevice(device, 400);
      const before = await usage();
      if (isCharged) await database.query(`INSERT INTO push_charge VALUES (${device}, 77, 0, 400, 6400)`);
      const { scans } = await removeParts(device);
      assert.ok(scans < 10, `${scans} times for 400 sensors`);
      assert.deepEqual(await database.query('SELECT * FROM push_charge'), []);
      assert.equal((await usage())?.['datapoint_bytes'], before?.['datapoint_bytes']);
    }
  });
});

const workSql = `SELECT relname, coalesce(seq_scan, 0) + coalesce(idx_scan, 0) AS scans, n_tup_upd AS changes
  FROM pg_stat_xact_user_tables WHERE relname IN ('sensor', 'usage')`;
