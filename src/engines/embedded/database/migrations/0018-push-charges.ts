// Who is charged for which datapoints: one row for each device and user who has pushed to it. Deletions reduce these
// rows in proportion. Existing datapoints are charged to the owners of their devices.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  // A folder of the earliest releases, with a row for each datapoint; they become chunks after the migrations.
  const { rows } = await sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'datapoint'`.execute(db);
  if (rows.length > 0) await sql.raw(chargesOfEarlierTable).execute(db);
}

const chargesOfEarlierTable = `INSERT INTO push_charge (device, user, stranger, datapoints, bytes)
  SELECT device.key, device.owner, 0, count(*), count(*) * 16 FROM datapoint
  JOIN sensor ON sensor.key = datapoint.sensor JOIN device ON device.key = sensor.device WHERE true GROUP BY device.key
  ON CONFLICT DO UPDATE SET datapoints = datapoints + excluded.datapoints, bytes = bytes + excluded.bytes`;

const add = (row: string, sign: string) =>
  `UPDATE usage SET datapoint_bytes = datapoint_bytes ${sign} ${row}.bytes WHERE user = ${row}.user;`;

const statements = [
  // Stranger 1: the user could push only because the device is public.
  `CREATE TABLE push_charge (
    device INTEGER NOT NULL,
    user INTEGER NOT NULL,
    stranger INTEGER NOT NULL,
    datapoints INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (device, user, stranger)) WITHOUT ROWID`,
  'CREATE INDEX push_charge_user ON push_charge (user)',
  `CREATE TRIGGER push_charge_added AFTER INSERT ON push_charge BEGIN ${add('new', '+')} END`,
  `CREATE TRIGGER push_charge_changed AFTER UPDATE OF bytes ON push_charge BEGIN ${add('old', '-')} ${add('new', '+')} END`,
  `CREATE TRIGGER push_charge_removed AFTER DELETE ON push_charge BEGIN ${add('old', '-')} END`,
  'CREATE TRIGGER push_charge_user_removed AFTER DELETE ON user BEGIN DELETE FROM push_charge WHERE user = old.key; END',
  // Removing a sensor credits its chunks in proportion; removing the last sensor of a device credits everything.
  `CREATE TRIGGER push_charge_sensor_removed AFTER DELETE ON sensor
    WHEN EXISTS (SELECT 1 FROM push_charge WHERE device = old.device) BEGIN
    DELETE FROM push_charge WHERE device = old.device AND NOT EXISTS (SELECT 1 FROM sensor WHERE device = old.device);
    UPDATE push_charge SET
      bytes = bytes - CAST(bytes * gone.share AS INTEGER), datapoints = datapoints - CAST(datapoints * gone.share AS INTEGER)
      FROM (SELECT min(1.0, (SELECT total(count) FROM chunk WHERE sensor = old.key)
        / max(1, (SELECT sum(datapoints) FROM push_charge WHERE device = old.device))) AS share) AS gone
      WHERE device = old.device;
  END`,
  `INSERT INTO push_charge (device, user, stranger, datapoints, bytes)
    SELECT device.key, device.owner, 0, sum(chunk.count), sum(max(chunk.count * 16, octet_length(chunk.bytes)))
    FROM chunk JOIN sensor ON sensor.key = chunk.sensor JOIN device ON device.key = sensor.device GROUP BY device.key`,
];
