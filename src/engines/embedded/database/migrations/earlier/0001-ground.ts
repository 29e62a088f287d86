// The first tables: users, devices with their parts and shares, the drop log, secrets, the log of datapoints and their
// clustered table.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE user (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    username TEXT NOT NULL UNIQUE,
    profile TEXT NOT NULL,
    admin INTEGER NOT NULL,
    created_time INTEGER NOT NULL,
    password_hash TEXT,
    password_version INTEGER NOT NULL DEFAULT 1)`,
  `CREATE TABLE device (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner INTEGER NOT NULL REFERENCES user (key),
    visibility TEXT NOT NULL,
    gateway_id TEXT, name TEXT, domain TEXT, location TEXT, meta TEXT, deployed INTEGER,
    date_created INTEGER NOT NULL,
    date_modified INTEGER NOT NULL)`,
  'CREATE INDEX device_owner ON device (owner)',
  'CREATE INDEX device_visibility ON device (visibility)',
  'CREATE INDEX device_gateway ON device (gateway_id)',
  `CREATE TABLE sensor (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    device INTEGER NOT NULL REFERENCES device (key),
    id TEXT NOT NULL,
    name TEXT, kind TEXT, kind_name TEXT NOT NULL, quantity_kind TEXT, unit TEXT, calib TEXT, meta TEXT,
    UNIQUE (device, id))`,
  `CREATE TABLE actuator (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    device INTEGER NOT NULL REFERENCES device (key),
    id TEXT NOT NULL,
    name TEXT, actuator_kind TEXT, value_type TEXT, value TEXT, meta TEXT,
    UNIQUE (device, id))`,
  `CREATE TABLE share (
    device INTEGER NOT NULL REFERENCES device (key),
    user INTEGER NOT NULL REFERENCES user (key),
    scopes INTEGER NOT NULL,
    PRIMARY KEY (device, user)) WITHOUT ROWID`,
  'CREATE INDEX share_user ON share (user)',
  `CREATE TABLE drop_log (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    device INTEGER NOT NULL REFERENCES device (key),
    at INTEGER NOT NULL, topic TEXT NOT NULL, username TEXT NOT NULL, reason TEXT NOT NULL)`,
  'CREATE INDEX drop_log_device ON drop_log (device, key)',
  'CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID',
  'CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE purge (sensor INTEGER PRIMARY KEY)',
  // No second index: each commit appends to its end, and reads use the head in memory.
  `CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    sensor INTEGER NOT NULL, at INTEGER NOT NULL, stamped INTEGER NOT NULL, received INTEGER NOT NULL, value REAL NOT NULL)`,
  // A REAL column stores numbers as numbers and JSON text as text; no stored JSON text reads as a number.
  `CREATE TABLE datapoint (
    sensor INTEGER NOT NULL, at INTEGER NOT NULL, seq INTEGER NOT NULL,
    stamped INTEGER NOT NULL, received INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (sensor, at, seq)) WITHOUT ROWID`,
  `CREATE TABLE latest (
    sensor INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL, at INTEGER NOT NULL, stamped INTEGER NOT NULL, received INTEGER NOT NULL, value REAL NOT NULL)`,
  'CREATE TABLE receipt (id TEXT PRIMARY KEY, caller TEXT NOT NULL, body_hash TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE INDEX receipt_caller ON receipt (caller, at)',
  'CREATE INDEX receipt_at ON receipt (at)',
  'CREATE TABLE mqtt_publish (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, marks BLOB NOT NULL)',
];
