// MQTT sessions that survive a restart: owners of client ids, subscriptions, queued messages, QoS 2 handshakes, wills
// and retained messages.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE mqtt_session (
    key INTEGER PRIMARY KEY,
    client_id TEXT NOT NULL UNIQUE,
    username TEXT)`,
  // `options` holds MQTT 5 fields (retain handling and others) as JSON; null where there are none.
  `CREATE TABLE mqtt_subscription (
    session INTEGER NOT NULL,
    filter TEXT NOT NULL,
    qos INTEGER NOT NULL,
    options TEXT,
    PRIMARY KEY (session, filter)) WITHOUT ROWID`,
  // A message is stored once, however many sessions wait for it, and deleted with the last of them.
  `CREATE TABLE mqtt_message (
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    rest BLOB)`,
  `CREATE TABLE mqtt_queue (
    session INTEGER NOT NULL,
    message INTEGER NOT NULL,
    qos INTEGER NOT NULL,
    packet_id INTEGER,
    released INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, message)) WITHOUT ROWID`,
  'CREATE INDEX mqtt_queue_message ON mqtt_queue (message)',
  `CREATE TRIGGER mqtt_queue_gone AFTER DELETE ON mqtt_queue BEGIN
    DELETE FROM mqtt_message WHERE id = old.message
      AND NOT EXISTS (SELECT 1 FROM mqtt_queue WHERE message = old.message);
  END`,
  `CREATE TABLE mqtt_incoming (
    session INTEGER NOT NULL,
    packet_id INTEGER NOT NULL,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    qos INTEGER NOT NULL,
    retain INTEGER NOT NULL,
    rest BLOB,
    PRIMARY KEY (session, packet_id))`,
  // The broker id differs in each run of the service: a will with another id was not sent.
  `CREATE TABLE mqtt_will (
    client_id TEXT NOT NULL,
    broker_id TEXT NOT NULL,
    username TEXT,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    qos INTEGER NOT NULL,
    retain INTEGER NOT NULL,
    rest BLOB,
    PRIMARY KEY (client_id, broker_id))`,
  `CREATE TABLE mqtt_retained (
    topic TEXT PRIMARY KEY,
    payload BLOB NOT NULL,
    qos INTEGER NOT NULL,
    rest BLOB)`,
];
