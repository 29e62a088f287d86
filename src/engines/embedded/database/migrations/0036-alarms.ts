// Alarms: what is wrong with a device, a gateway or the storage, since when, and what people did about it.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // subject: what the alarm is about; of one subject at most one alarm is open. keeper: the user whom the row counts for.
  // author: set where only the author of the rule sees it. changed: the count of changes by which live streams go on.
  `CREATE TABLE alarm (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    keeper INTEGER REFERENCES user (key) ON DELETE CASCADE,
    author INTEGER REFERENCES user (key) ON DELETE CASCADE,
    notification INTEGER REFERENCES notification (key) ON DELETE CASCADE,
    device INTEGER REFERENCES device (key) ON DELETE CASCADE,
    sensor INTEGER REFERENCES sensor (key) ON DELETE CASCADE,
    gateway INTEGER REFERENCES gateway (key) ON DELETE CASCADE,
    since INTEGER NOT NULL,
    cleared INTEGER,
    times INTEGER NOT NULL,
    value TEXT,
    condition TEXT,
    threshold TEXT,
    usual INTEGER,
    acknowledged INTEGER,
    acknowledged_by INTEGER REFERENCES user (key) ON DELETE SET NULL,
    note TEXT,
    snoozed INTEGER,
    assignee INTEGER REFERENCES user (key) ON DELETE SET NULL,
    changed INTEGER NOT NULL)`,
  'CREATE INDEX alarm_subject ON alarm (subject, key)',
  'CREATE INDEX alarm_open ON alarm (kind, key) WHERE cleared IS NULL',
  'CREATE INDEX alarm_cleared ON alarm (cleared) WHERE cleared IS NOT NULL',
  'CREATE INDEX alarm_changed ON alarm (changed, key)',
  ...['keeper', 'author', 'notification', 'device', 'sensor', 'gateway', 'acknowledged_by', 'assignee'].map(
    (column) => `CREATE INDEX alarm_${column} ON alarm (${column}, key) WHERE ${column} IS NOT NULL`,
  ),
  ...(['device', 'gateway'] as const).map(
    (kind) => `CREATE TRIGGER alarm_${kind}_owner AFTER UPDATE OF owner ON ${kind} WHEN new.owner <> old.owner BEGIN
      UPDATE alarm SET keeper = new.owner, assignee = NULL WHERE ${kind} = new.key AND author IS NULL; END`,
  ),
  // What a rule of the former device said of the sensor no longer holds there; the rest of its history goes with it.
  `CREATE TRIGGER alarm_sensor_moved AFTER UPDATE OF device ON sensor WHEN new.device <> old.device BEGIN
    DELETE FROM alarm WHERE sensor = new.key AND (author IS NOT NULL OR (kind = 'rule' AND cleared IS NULL));
    UPDATE alarm SET device = new.device, keeper = (SELECT owner FROM device WHERE device.key = new.device)
      WHERE sensor = new.key; END`,
];
