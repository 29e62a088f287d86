// Quotas: how much of each kind a user has, and how much is allowed. Triggers keep the counters in the transaction of
// each change, whichever code makes it, and roll back with it. Triggers also refuse a change that would exceed its
// owner's quota, and any growth while the disk is full.
import { type Kysely, sql } from 'kysely';
import { countedUsage, registryKinds } from '../../../shared/registry/accounts/usage-count.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = (row: string, columns: readonly string[]) =>
  columns.map((column) => `coalesce(octet_length(${row}.${column}), 0)`).join(' + ');

/** The columns that count as description, by table: every text that callers choose. */
const texts: Readonly<Record<string, readonly string[]>> = {
  device: ['id', 'gateway_id', 'name', 'domain', 'location', 'meta'],
  sensor: ['id', 'name', 'kind', 'quantity_kind', 'unit', 'calib', 'meta'],
  actuator: ['id', 'name', 'actuator_kind', 'value_type', 'value', 'meta'],
  gateway: ['id', 'name', 'location'],
  project: ['id', 'name', 'device_ids', 'gateway_ids'],
  notification: ['id', 'description', 'condition', 'action', 'recovery_message'],
  api_key: ['id', 'name', 'scopes', 'devices'],
};

/** Tables whose records belong to a user directly: table, column of the owner, kind of quota. */
const owned = [
  ['gateway', 'owner', 'gateways'],
  ['project', 'owner', 'projects'],
  ['notification', 'author', 'rules'],
  ['api_key', 'user', 'keys'],
] as const;

function add(user: string, amounts: Readonly<Record<string, string>>): string {
  const sets = Object.entries(amounts).map(([column, amount]) => `${column} = ${column} + (${amount})`);
  return `UPDATE usage SET ${sets.join(', ')} WHERE user = ${user};`;
}

function ownedTriggers([table, owner, kind]: (typeof owned)[number]): string[] {
  const bytes = (row: string) => text(row, texts[table] ?? []);
  const of = (row: string, sign: string) =>
    add(`${row}.${owner}`, { [kind]: `${sign}1`, description_bytes: `${sign}(${bytes(row)})` });
  return [
    `CREATE TRIGGER usage_${table}_added AFTER INSERT ON ${table} BEGIN ${of('new', '')} END`,
    `CREATE TRIGGER usage_${table}_removed AFTER DELETE ON ${table} BEGIN ${of('old', '-')} END`,
    `CREATE TRIGGER usage_${table}_handed_over AFTER UPDATE OF ${owner} ON ${table} WHEN new.${owner} <> old.${owner} BEGIN
      ${of('old', '-')} ${of('new', '')} END`,
    `CREATE TRIGGER usage_${table}_described AFTER UPDATE OF ${texts[table]} ON ${table} WHEN new.${owner} = old.${owner} BEGIN
      ${add(`new.${owner}`, { description_bytes: `(${bytes('new')}) - (${bytes('old')})` })} END`,
  ];
}

function deviceTriggers(): string[] {
  const bytes = (row: string) => text(row, texts['device'] ?? []);
  const partBytes = (table: string) =>
    `coalesce((SELECT sum(${text(table, texts[table] ?? [])}) FROM ${table} WHERE device = new.key), 0)`;
  const all = (user: string, sign: string) =>
    add(user, {
      devices: `${sign}1`,
      sensors: `${sign}(SELECT count(*) FROM sensor WHERE device = new.key)`,
      description_bytes: `${sign}((${bytes('old')}) + ${partBytes('sensor')} + ${partBytes('actuator')})`,
    });
  return [
    `CREATE TRIGGER usage_device_added AFTER INSERT ON device BEGIN
      ${add('new.owner', { devices: '1', description_bytes: bytes('new') })} END`,
    `CREATE TRIGGER usage_device_removed AFTER DELETE ON device BEGIN
      ${add('old.owner', { devices: '-1', description_bytes: `-(${bytes('old')})` })} END`,
    `CREATE TRIGGER usage_device_handed_over AFTER UPDATE OF owner ON device WHEN new.owner <> old.owner BEGIN
      ${all('old.owner', '-')} ${all('new.owner', '')} END`,
    `CREATE TRIGGER usage_device_described AFTER UPDATE OF ${texts['device']} ON device BEGIN
      ${add('new.owner', { description_bytes: `(${bytes('new')}) - (${bytes('old')})` })} END`,
  ];
}

function partTriggers(table: 'sensor' | 'actuator'): string[] {
  const bytes = (row: string) => text(row, texts[table] ?? []);
  const owner = (row: string) => `(SELECT owner FROM device WHERE key = ${row}.device)`;
  const counted = (amount: string): Record<string, string> => (table === 'sensor' ? { sensors: amount } : {});
  return [
    `CREATE TRIGGER usage_${table}_added AFTER INSERT ON ${table} BEGIN
      ${add(owner('new'), { ...counted('1'), description_bytes: bytes('new') })} END`,
    `CREATE TRIGGER usage_${table}_removed AFTER DELETE ON ${table} BEGIN
      ${add(owner('old'), { ...counted('-1'), description_bytes: `-(${bytes('old')})` })} END`,
    `CREATE TRIGGER usage_${table}_described AFTER UPDATE OF ${texts[table]} ON ${table} BEGIN
      ${add(owner('new'), { description_bytes: `(${bytes('new')}) - (${bytes('old')})` })} END`,
  ];
}

/** The trigger's message names the kind, the use and the limit; database-error.ts parses it. */
function refusalTrigger(kind: string): string {
  return `CREATE TRIGGER quota_${kind} AFTER UPDATE OF ${kind} ON usage WHEN new.${kind} > old.${kind} BEGIN
    SELECT RAISE(ABORT, 'full') FROM growth WHERE allowed = 0;
    SELECT RAISE(ABORT, 'quota ${kind} ' || old.${kind} || ' ' || quota.max) FROM quota
      WHERE quota.user = new.user AND quota.kind = '${kind}' AND quota.max < new.${kind};
  END`;
}

const statements = [
  // Bytes as stored, uncompressed. The kinds of MQTT and of datapoints are counted by the code that stores them.
  `CREATE TABLE usage (
    user INTEGER PRIMARY KEY,
    devices INTEGER NOT NULL DEFAULT 0,
    sensors INTEGER NOT NULL DEFAULT 0,
    gateways INTEGER NOT NULL DEFAULT 0,
    projects INTEGER NOT NULL DEFAULT 0,
    rules INTEGER NOT NULL DEFAULT 0,
    keys INTEGER NOT NULL DEFAULT 0,
    description_bytes INTEGER NOT NULL DEFAULT 0,
    datapoint_bytes INTEGER NOT NULL DEFAULT 0,
    mqtt_sessions INTEGER NOT NULL DEFAULT 0,
    mqtt_session_bytes INTEGER NOT NULL DEFAULT 0,
    retained_bytes INTEGER NOT NULL DEFAULT 0,
    day INTEGER NOT NULL DEFAULT 0,
    day_datapoints INTEGER NOT NULL DEFAULT 0)`,
  // From the settings, written at every start. Max null: no bound.
  `CREATE TABLE quota_default (
    class TEXT NOT NULL, kind TEXT NOT NULL, max INTEGER, PRIMARY KEY (class, kind)) WITHOUT ROWID`,
  // Set by an admin for one user. Max null: no bound.
  `CREATE TABLE quota_exception (
    user INTEGER NOT NULL REFERENCES user (key) ON DELETE CASCADE,
    kind TEXT NOT NULL, max INTEGER, PRIMARY KEY (user, kind)) WITHOUT ROWID`,
  `CREATE VIEW quota AS
    SELECT user.key AS user, quota_default.kind AS kind,
      CASE WHEN quota_exception.user IS NULL THEN quota_default.max ELSE quota_exception.max END AS max,
      quota_exception.user IS NOT NULL AS is_exception
    FROM user
    JOIN quota_default ON quota_default.class =
      CASE WHEN user.username = 'guest' THEN 'guest' WHEN user.admin = 1 THEN 'admin' ELSE 'user' END
    LEFT JOIN quota_exception ON quota_exception.user = user.key AND quota_exception.kind = quota_default.kind`,
  // One row: 0 while the data may not grow, because the disk or the storage quota is full.
  'CREATE TABLE growth (allowed INTEGER NOT NULL)',
  'INSERT INTO growth (allowed) VALUES (1)',
  countedUsage.insert,
  `CREATE TRIGGER usage_user_added AFTER INSERT ON user BEGIN
    SELECT RAISE(ABORT, 'full') FROM growth WHERE allowed = 0;
    INSERT INTO usage (user) VALUES (new.key);
  END`,
  'CREATE TRIGGER usage_user_removed AFTER DELETE ON user BEGIN DELETE FROM usage WHERE user = old.key; END',
  ...deviceTriggers(),
  ...partTriggers('sensor'),
  ...partTriggers('actuator'),
  ...owned.flatMap(ownedTriggers),
  ...registryKinds.map(refusalTrigger),
];
