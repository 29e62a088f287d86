// Ids that sensors had before on their device, by which they answer for a while. A row keeps the id taken for every other
// sensor of the device.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const taken = (
  event: string,
  name: string,
  when = '',
) => `CREATE TRIGGER ${name} BEFORE ${event} ON sensor ${when} BEGIN
    SELECT RAISE(ABORT, 'exists') FROM former_sensor_id WHERE device = new.device AND id = new.id; END`;

const statements = [
  // until: milliseconds since 1970 UTC.
  `CREATE TABLE former_sensor_id (
    device INTEGER NOT NULL REFERENCES device (key) ON DELETE CASCADE,
    id TEXT NOT NULL,
    sensor INTEGER NOT NULL REFERENCES sensor (key) ON DELETE CASCADE,
    until INTEGER NOT NULL,
    PRIMARY KEY (device, id)) WITHOUT ROWID`,
  'CREATE INDEX former_sensor_id_sensor ON former_sensor_id (sensor)',
  // Whoever may take the id removes its row before, in the same commit.
  taken('INSERT', 'former_sensor_id_taken'),
  taken('UPDATE OF id, device', 'former_sensor_id_kept', 'WHEN new.id <> old.id OR new.device <> old.device'),
  // On another device a sensor has only its own id.
  `CREATE TRIGGER former_sensor_id_moved AFTER UPDATE OF device ON sensor WHEN new.device <> old.device BEGIN
    DELETE FROM former_sensor_id WHERE sensor = new.key; END`,
];
