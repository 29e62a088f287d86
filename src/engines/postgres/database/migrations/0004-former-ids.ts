// Ids that devices and sensors had before, by which they answer for a while. A row keeps the id taken for everybody but its
// device or sensor. Until when is in milliseconds since 1970 UTC.
import { type Kysely, sql } from 'kysely';
import { onlyIf, trigger } from './triggers.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = 'text COLLATE "C"';

/** Whoever may take the id removes its row before, in the same commit. As the violation of a unique index. */
const refuseTaken = (found: string) =>
  onlyIf(`EXISTS (SELECT 1 FROM ${found})`, `RAISE EXCEPTION USING ERRCODE = '23505', MESSAGE = 'exists';`);

const deviceTaken = refuseTaken('former_device_id WHERE id = new.id');
const sensorTaken = refuseTaken('former_sensor_id WHERE device = new.device AND id = new.id');

const statements = [
  `CREATE TABLE former_device_id (
    id ${text} PRIMARY KEY,
    device bigint NOT NULL REFERENCES device (key) ON DELETE CASCADE,
    until bigint NOT NULL)`,
  'CREATE INDEX former_device_id_device ON former_device_id (device)',
  ...trigger('former_device_id_taken', 'AFTER INSERT ON device', deviceTaken),
  ...trigger('former_device_id_kept', 'AFTER UPDATE OF id ON device', onlyIf('new.id <> old.id', deviceTaken)),
  `CREATE TABLE former_sensor_id (
    device bigint NOT NULL REFERENCES device (key) ON DELETE CASCADE,
    id ${text} NOT NULL,
    sensor bigint NOT NULL REFERENCES sensor (key) ON DELETE CASCADE,
    until bigint NOT NULL,
    PRIMARY KEY (device, id))`,
  'CREATE INDEX former_sensor_id_sensor ON former_sensor_id (sensor)',
  ...trigger('former_sensor_id_taken', 'AFTER INSERT ON sensor', sensorTaken),
  ...trigger(
    'former_sensor_id_kept',
    'AFTER UPDATE OF id, device ON sensor',
    // On another device a sensor has only its own id.
    `${onlyIf('new.device <> old.device', 'DELETE FROM former_sensor_id WHERE sensor = new.key;')}
    ${onlyIf('new.id <> old.id OR new.device <> old.device', sensorTaken)}`,
  ),
];
