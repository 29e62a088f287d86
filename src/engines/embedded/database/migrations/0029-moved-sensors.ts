// What follows a sensor that is moved to another device, in the commit of the move: what was charged for its datapoints,
// its owner's usage where that is another user, and the end of what is remembered of arrays pushed to it.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** The texts of a sensor that count as description (migration 0017). */
const bytes = ['id', 'name', 'kind', 'quantity_kind', 'unit', 'calib', 'meta']
  .map((column) => `coalesce(octet_length(new.${column}), 0)`)
  .join(' + ');
const ownerOf = (row: string) => `(SELECT owner FROM device WHERE key = ${row}.device)`;
const count = (row: string, sign: string) =>
  `UPDATE usage SET sensors = sensors ${sign} 1, description_bytes = description_bytes ${sign} (${bytes})
    WHERE user = ${ownerOf(row)};`;

/** The part of the device's datapoints that are the sensor's, as a removal reckons it (migration 0018). */
const share = `(SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM sensor WHERE device = old.device) THEN 1.0
  ELSE min(1.0, (SELECT total(count) FROM chunk WHERE sensor = old.key)
    / max(1, (SELECT sum(datapoints) FROM push_charge WHERE device = old.device))) END AS share) AS moved`;

const statements = [
  `CREATE TRIGGER usage_sensor_moved AFTER UPDATE OF device ON sensor WHEN ${ownerOf('new')} <> ${ownerOf('old')} BEGIN
    ${count('old', '-')} ${count('new', '+')} END`,
  `CREATE TRIGGER push_charge_sensor_moved AFTER UPDATE OF device ON sensor WHEN new.device <> old.device BEGIN
    INSERT INTO push_charge (device, user, stranger, datapoints, bytes)
      SELECT new.device, user, stranger, CAST(datapoints * share AS INTEGER), CAST(bytes * share AS INTEGER)
      FROM push_charge, ${share} WHERE device = old.device
      ON CONFLICT DO UPDATE SET datapoints = datapoints + excluded.datapoints, bytes = bytes + excluded.bytes;
    UPDATE push_charge SET
      bytes = bytes - CAST(bytes * moved.share AS INTEGER), datapoints = datapoints - CAST(datapoints * moved.share AS INTEGER)
      FROM ${share} WHERE device = old.device;
  END`,
  `CREATE TRIGGER receipt_sensor_moved AFTER UPDATE OF device ON sensor WHEN new.device <> old.device BEGIN
    DELETE FROM receipt WHERE id >= char(10) || old.key || char(10) AND id < char(10) || old.key || char(10, 1114111);
  END`,
];
