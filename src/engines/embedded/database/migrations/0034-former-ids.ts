// Ids that devices had before, by which they answer for a while; and what names a device by its id, which follows
// in the commit of a new id.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** The old id as it stands in JSON: with its quotation marks, so that no longer id is found. */
const quoted = 'json_quote(old.id)';

/**
 * Whether a user may see the device. The lists and rules of others keep the old id: a new one would tell them of a private
 * device, and naming it gives them nothing.
 */
const maySee = (user: string, { device = 'new', ids = 'old.id, new.id' } = {}) => `(${device}.visibility = 'public'
  OR ${user} = ${device}.owner
  OR EXISTS (SELECT 1 FROM user WHERE key = ${user} AND admin = 1)
  OR EXISTS (SELECT 1 FROM share WHERE share.device = ${device}.key AND user = ${user})
  OR EXISTS (SELECT 1 FROM gateway JOIN gateway_share ON record = gateway.key
    WHERE gateway.id = ${device}.gateway_id AND gateway.owner = ${device}.owner AND gateway_share.user = ${user})
  OR EXISTS (SELECT 1 FROM project_device JOIN project_share ON record = project
    WHERE device_id IN (${ids}) AND project_device.owner = ${device}.owner AND project_share.user = ${user}))`;

/** A list of ids in JSON, with the new one in the place of the old. */
const renamed = (
  list: string,
) => `(SELECT json_group_array(CASE entry.value WHEN old.id THEN new.id ELSE entry.value END)
  FROM json_each(${list}) AS entry)`;

/** A list of ids in JSON, with present ids in the place of former ones. */
const present = (list: string, user: string) => `(SELECT json_group_array(coalesce((
    SELECT device.id FROM former_device_id JOIN device ON device.key = former_device_id.device
      WHERE former_device_id.id = entry.value AND ${maySee(user, { device: 'device', ids: 'device.id' })}), entry.value))
  FROM json_each(${list}) AS entry)`;

/** Whoever names a device by a former id names its present one. */
function namedLater(
  table: string,
  column: string,
  { user, path = '' }: { readonly user: string; readonly path?: string },
): string[] {
  const at = path === '' ? '' : `, '${path}'`;
  const list = (row: string) => (path === '' ? `${row}.${column}` : `json_extract(${row}.${column}, '${path}')`);
  const value = present(list(table), `${table}.${user}`);
  return ['INSERT', `UPDATE OF ${column}`].map(
    (event) => `CREATE TRIGGER ${table}_former_ids_${event.slice(0, 6).toLowerCase()} AFTER ${event} ON ${table}
      WHEN json_valid(new.${column}) AND json_type(new.${column}${at}) = 'array' AND EXISTS
        (SELECT 1 FROM json_each(new.${column}${at}) AS entry JOIN former_device_id ON former_device_id.id = entry.value) BEGIN
      UPDATE ${table} SET ${column} = ${path === '' ? value : `json_set(${column}, '${path}', json(${value}))`}
        WHERE key = new.key; END`,
  );
}

/** The device id of an actuation stands flat in the action, or in its `value` (contract 7). */
const actuation = (path: string) => `UPDATE notification SET action = json_replace(action, '${path}', new.id)
  WHERE instr(action, ${quoted}) > 0 AND json_valid(action) AND json_extract(action, '$.type') = 'ActuationAction'
    AND json_extract(action, '${path}') = old.id AND ${maySee('author')};`;

/** The retained messages of the sensors and actuators of a device; `0` comes after `/`. */
const retainedOf = (
  root: string,
  id: string,
) => `topic >= '${root}' || ${id} || '/' AND topic < '${root}' || ${id} || '0'
      AND (topic LIKE '%/sensors/%/value' OR topic LIKE '%/sensors/%/values' OR topic LIKE '%/actuators/%/value')`;

/** What is retained under the new id was of a device that is gone: deleted by itself, because REPLACE would count nothing. */
const retained = (root: string) => `DELETE FROM mqtt_retained WHERE ${retainedOf(root, 'new.id')};
    UPDATE mqtt_retained SET topic = '${root}' || new.id || substr(topic, length('${root}' || old.id) + 1)
      WHERE ${retainedOf(root, 'old.id')};`;

/**
 * Which devices a project names (migration 0032), taken from the row as it is: in which order triggers run is not said, and
 * those below change the list.
 */
const projectDevices = ['INSERT', 'UPDATE OF device_ids, owner'].flatMap((event) => {
  const name = event === 'INSERT' ? 'project_device_added' : 'project_device_changed';
  return [
    `DROP TRIGGER ${name}`,
    `CREATE TRIGGER ${name} AFTER ${event} ON project BEGIN
      DELETE FROM project_device WHERE project = new.key;
      INSERT INTO project_device (device_id, owner, project) SELECT DISTINCT entry.value, project.owner, project.key
        FROM project, json_each(CASE WHEN json_valid(project.device_ids) THEN project.device_ids ELSE '[]' END) AS entry
        WHERE project.key = new.key; END`,
  ];
});

const statements = [
  // until: milliseconds since 1970 UTC.
  `CREATE TABLE former_device_id (
    id TEXT PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device (key) ON DELETE CASCADE,
    until INTEGER NOT NULL) WITHOUT ROWID`,
  'CREATE INDEX former_device_id_device ON former_device_id (device)',
  // An id that still answers is taken for everybody but its device.
  `CREATE TRIGGER former_device_id_taken BEFORE INSERT ON device BEGIN
    SELECT RAISE(ABORT, 'exists') FROM former_device_id WHERE id = new.id AND until > new.date_created;
    DELETE FROM former_device_id WHERE id = new.id; END`,
  `CREATE TRIGGER former_device_id_back BEFORE UPDATE OF id ON device WHEN new.id <> old.id BEGIN
    SELECT RAISE(ABORT, 'exists') FROM former_device_id
      WHERE id = new.id AND device <> new.key AND until > new.date_modified;
    DELETE FROM former_device_id WHERE id = new.id; END`,
  // Rules come before projects, whose shares say who may see the device.
  `CREATE TRIGGER device_id_named AFTER UPDATE OF id ON device WHEN new.id <> old.id BEGIN
    UPDATE api_key SET devices = ${renamed('api_key.devices')}
      WHERE devices IS NOT NULL AND instr(devices, ${quoted}) > 0 AND json_valid(devices) AND ${maySee('api_key.user')};
    UPDATE OR REPLACE notification_memory SET device = new.id
      WHERE device = old.id AND ${maySee('(SELECT author FROM notification WHERE key = notification_memory.notification)')};
    UPDATE notification SET condition = json_set(condition, '$.devices', json(${renamed("json_extract(notification.condition, '$.devices')")}))
      WHERE instr(condition, ${quoted}) > 0 AND json_valid(condition) AND json_type(condition, '$.devices') = 'array'
        AND old.id IN (SELECT value FROM json_each(condition, '$.devices')) AND ${maySee('author')};
    ${actuation('$.device_id')}
    ${actuation('$.value.device_id')}
    UPDATE project SET device_ids = ${renamed('project.device_ids')}
      WHERE key IN (SELECT project FROM project_device WHERE device_id = old.id) AND json_valid(device_ids)
        AND ${maySee('project.owner')};
    ${retained('devices/')}
    ${retained('/devices/')}
  END`,
  ...projectDevices,
  ...namedLater('api_key', 'devices', { user: 'user' }),
  ...namedLater('project', 'device_ids', { user: 'owner' }),
  ...namedLater('notification', 'condition', { user: 'author', path: '$.devices' }),
];
