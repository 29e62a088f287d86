// The history of actuators: each value set, by whom, by which door, and what became of it; and for how long a value may
// be handed to a gateway that was offline.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE actuator ADD COLUMN valid_for INTEGER',
  // user: without a reference, because keys of users are never used again; a removed user has no name any more.
  // bytes: what the row counts for. The value is the last column, so that others are read without it.
  `CREATE TABLE actuator_setting (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    device INTEGER NOT NULL REFERENCES device (key),
    actuator INTEGER NOT NULL REFERENCES actuator (key),
    at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    downlink TEXT NOT NULL,
    delivered INTEGER,
    confirmed INTEGER,
    user INTEGER,
    api_key TEXT,
    door TEXT NOT NULL,
    rule TEXT,
    ack TEXT,
    value TEXT NOT NULL)`,
  'CREATE INDEX actuator_setting_actuator ON actuator_setting (actuator, key)',
  // Has all that the bound of a device's history asks for.
  'CREATE INDEX actuator_setting_device ON actuator_setting (device, key, bytes)',
  // Few rows: the last setting of an actuator, and what waits in stored sessions.
  `CREATE INDEX actuator_setting_downlink ON actuator_setting (device, key) WHERE downlink <> 'none'`,
];
