// Quotas: how much of each kind a user has, and how much is allowed. Triggers keep the counters in the transaction of
// each change, whichever code makes it. They also refuse a change that would exceed its owner's quota, and any growth while
// the disk is full; database-error.ts knows their codes. A part of migration 0001.
import { registryKinds } from '../../../shared/registry/accounts/usage-count.ts';
import { onlyIf, trigger } from './triggers.ts';

const text = (row: string, columns: readonly string[]) =>
  columns.map((column) => `coalesce(octet_length(${row}.${column}), 0)`).join(' + ');

/** The columns that count as description, by table: every text that callers choose. */
const texts: Readonly<Record<string, readonly string[]>> = {
  device: ['id', 'gateway_id', 'name', 'domain', 'location', 'meta'],
  sensor: ['id', 'name', 'kind', 'quantity_kind', 'unit', 'calib', 'meta'],
  actuator: ['id', 'name', 'actuator_kind', 'value_type', 'value', 'meta'],
  gateway: ['id', 'name', 'location'],
  project: ['id', 'name', 'device_ids', 'gateway_ids'],
  notification: ['id', 'description', 'condition', 'action', 'hysteresis', 'recovery_message'],
  api_key: ['id', 'name', 'scopes', 'devices'],
};

/** Tables whose records belong to a user directly: table, column of the owner, kind of quota. */
const owned = [
  ['gateway', 'owner', 'gateways'],
  ['project', 'owner', 'projects'],
  ['notification', 'author', 'rules'],
  ['api_key', '"user"', 'keys'],
] as const;

function add(user: string, amounts: Readonly<Record<string, string>>): string {
  const sets = Object.entries(amounts).map(([column, amount]) => `${column} = ${column} + (${amount})`);
  return `UPDATE usage SET ${sets.join(', ')} WHERE "user" = ${user};`;
}

function ownedTriggers([table, owner, kind]: (typeof owned)[number]): string[] {
  const columns = texts[table] ?? [];
  const bytes = (row: string) => text(row, columns);
  const of = (row: string, sign: string) =>
    add(`${row}.${owner}`, { [kind]: `${sign}1`, description_bytes: `${sign}(${bytes(row)})` });
  const described = add(`new.${owner}`, { description_bytes: `(${bytes('new')}) - (${bytes('old')})` });
  return [
    ...trigger(`usage_${table}_added`, `AFTER INSERT ON ${table}`, of('new', '')),
    ...trigger(`usage_${table}_removed`, `AFTER DELETE ON ${table}`, of('old', '-')),
    ...trigger(
      `usage_${table}_handed_over`,
      `AFTER UPDATE OF ${owner} ON ${table}`,
      onlyIf(`new.${owner} <> old.${owner}`, `${of('old', '-')} ${of('new', '')}`),
    ),
    ...trigger(
      `usage_${table}_described`,
      `AFTER UPDATE OF ${columns} ON ${table}`,
      onlyIf(`new.${owner} = old.${owner}`, described),
    ),
  ];
}

function deviceTriggers(): string[] {
  const columns = texts['device'] ?? [];
  const bytes = (row: string) => text(row, columns);
  const partBytes = (table: string) =>
    `coalesce((SELECT sum(${text(table, texts[table] ?? [])}) FROM ${table} WHERE device = new.key), 0)`;
  const all = (user: string, sign: string) =>
    add(user, {
      devices: `${sign}1`,
      sensors: `${sign}(SELECT count(*) FROM sensor WHERE device = new.key)`,
      description_bytes: `${sign}((${bytes('old')}) + ${partBytes('sensor')} + ${partBytes('actuator')})`,
    });
  const described = add('new.owner', { description_bytes: `(${bytes('new')}) - (${bytes('old')})` });
  return [
    ...trigger(
      'usage_device_added',
      'AFTER INSERT ON device',
      add('new.owner', { devices: '1', description_bytes: bytes('new') }),
    ),
    ...trigger(
      'usage_device_removed',
      'AFTER DELETE ON device',
      add('old.owner', { devices: '-1', description_bytes: `-(${bytes('old')})` }),
    ),
    ...trigger(
      'usage_device_handed_over',
      'AFTER UPDATE OF owner ON device',
      onlyIf('new.owner <> old.owner', `${all('old.owner', '-')} ${all('new.owner', '')}`),
    ),
    ...trigger('usage_device_described', `AFTER UPDATE OF ${columns} ON device`, described),
  ];
}

function partTriggers(table: 'sensor' | 'actuator'): string[] {
  const columns = texts[table] ?? [];
  const bytes = (row: string) => text(row, columns);
  const owner = (row: string) => `(SELECT owner FROM device WHERE key = ${row}.device)`;
  const counted = (amount: string): Record<string, string> => (table === 'sensor' ? { sensors: amount } : {});
  const change = (row: string, sign: string) =>
    add(owner(row), { ...counted(`${sign}1`), description_bytes: `${sign}(${bytes(row)})` });
  return [
    ...trigger(`usage_${table}_added`, `AFTER INSERT ON ${table}`, change('new', '')),
    ...trigger(`usage_${table}_removed`, `AFTER DELETE ON ${table}`, change('old', '-')),
    ...trigger(
      `usage_${table}_described`,
      `AFTER UPDATE OF ${columns} ON ${table}`,
      add(owner('new'), { description_bytes: `(${bytes('new')}) - (${bytes('old')})` }),
    ),
    ...(table === 'actuator'
      ? []
      : trigger(
          'usage_sensor_moved',
          'AFTER UPDATE OF device ON sensor',
          onlyIf(
            `${owner('new')} <> ${owner('old')}`,
            `${add(owner('old'), { sensors: '-1', description_bytes: `-(${bytes('new')})` })}
            ${add(owner('new'), { sensors: '1', description_bytes: bytes('new') })}`,
          ),
        )),
  ];
}

const refuseGrowth = onlyIf(
  'EXISTS (SELECT 1 FROM growth WHERE allowed = 0)',
  "RAISE EXCEPTION USING ERRCODE = 'DU001', MESSAGE = 'full';",
);

/** The trigger's message names the kind, the use and the limit; write-failure.ts parses it. */
function refusalTrigger(kind: string): string[] {
  const refuse = `${refuseGrowth}
    SELECT quota.max INTO bound FROM quota
      WHERE quota."user" = new."user" AND quota.kind = '${kind}' AND quota.max < new.${kind};
    IF FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'DU002', MESSAGE = 'quota ${kind} ' || old.${kind} || ' ' || bound;
    END IF;`;
  return trigger(
    `quota_${kind}`,
    `AFTER UPDATE OF ${kind} ON usage`,
    `DECLARE bound bigint; BEGIN ${onlyIf(`new.${kind} > old.${kind}`, refuse)} END;`,
  );
}

const chargeOf = (row: string, sign: string) =>
  `UPDATE usage SET datapoint_bytes = datapoint_bytes ${sign} ${row}.bytes WHERE "user" = ${row}."user";`;

/** The part of a device's datapoints that the sensor has, as far as they are sealed. */
const sensorShare = `least(1.0, CAST(sealed_datapoints(old.key) AS double precision)
  / greatest(1, (SELECT sum(datapoints) FROM push_charge WHERE device = old.device)))`;

const reduceCharges = `UPDATE push_charge SET
    bytes = bytes - CAST(trunc(bytes * share) AS bigint), datapoints = datapoints - CAST(trunc(datapoints * share) AS bigint)
  WHERE device = old.device;`;

const charges = [
  // Who is charged for which datapoints. Stranger 1: the user could push only because the device is public.
  `CREATE TABLE push_charge (
    device bigint NOT NULL,
    "user" bigint NOT NULL,
    stranger bigint NOT NULL,
    datapoints bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (device, "user", stranger))`,
  'CREATE INDEX push_charge_user ON push_charge ("user")',
  ...trigger('push_charge_added', 'AFTER INSERT ON push_charge', chargeOf('new', '+')),
  ...trigger(
    'push_charge_changed',
    'AFTER UPDATE OF bytes ON push_charge',
    `${chargeOf('old', '-')} ${chargeOf('new', '+')}`,
  ),
  ...trigger('push_charge_removed', 'AFTER DELETE ON push_charge', chargeOf('old', '-')),
  ...trigger('push_charge_user_removed', 'AFTER DELETE ON "user"', 'DELETE FROM push_charge WHERE "user" = old.key;'),
  // How many datapoints of a sensor are in chunks; the migration that makes chunks replaces it.
  `CREATE FUNCTION sealed_datapoints(sensor bigint) RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT CAST(0 AS bigint) $$`,
  // Removing a sensor credits its chunks in proportion; removing the last sensor of a device credits everything.
  ...trigger(
    'push_charge_sensor_removed',
    'AFTER DELETE ON sensor',
    `DECLARE share double precision; BEGIN
      DELETE FROM push_charge WHERE device = old.device AND NOT EXISTS (SELECT 1 FROM sensor WHERE device = old.device);
      IF FOUND OR NOT EXISTS (SELECT 1 FROM push_charge WHERE device = old.device) THEN RETURN NULL; END IF;
      share := ${sensorShare};
      ${reduceCharges}
    END;`,
  ),
  ...trigger(
    'push_charge_sensor_moved',
    'AFTER UPDATE OF device ON sensor',
    `DECLARE share double precision; BEGIN
      IF new.device = old.device THEN RETURN NULL; END IF;
      share := CASE WHEN NOT EXISTS (SELECT 1 FROM sensor WHERE device = old.device) THEN 1.0 ELSE ${sensorShare} END;
      INSERT INTO push_charge (device, "user", stranger, datapoints, bytes)
        SELECT new.device, "user", stranger, CAST(trunc(datapoints * share) AS bigint), CAST(trunc(bytes * share) AS bigint)
        FROM push_charge WHERE device = old.device
        ON CONFLICT (device, "user", stranger) DO UPDATE SET
          datapoints = push_charge.datapoints + excluded.datapoints, bytes = push_charge.bytes + excluded.bytes;
      ${reduceCharges}
    END;`,
  ),
];

export const quotaStatements: readonly string[] = [
  // Bytes as stored, uncompressed. The kinds of MQTT and of datapoints are counted by the code that stores them.
  `CREATE TABLE usage (
    "user" bigint PRIMARY KEY,
    devices bigint NOT NULL DEFAULT 0,
    sensors bigint NOT NULL DEFAULT 0,
    gateways bigint NOT NULL DEFAULT 0,
    projects bigint NOT NULL DEFAULT 0,
    rules bigint NOT NULL DEFAULT 0,
    keys bigint NOT NULL DEFAULT 0,
    description_bytes bigint NOT NULL DEFAULT 0,
    datapoint_bytes bigint NOT NULL DEFAULT 0,
    mqtt_sessions bigint NOT NULL DEFAULT 0,
    mqtt_session_bytes bigint NOT NULL DEFAULT 0,
    retained_bytes bigint NOT NULL DEFAULT 0,
    day bigint NOT NULL DEFAULT 0,
    day_datapoints bigint NOT NULL DEFAULT 0)
    WITH (fillfactor = 50)`,
  // From the settings, written at every start. Max null: no bound.
  `CREATE TABLE quota_default (class text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, max bigint, PRIMARY KEY (class, kind))`,
  // Set by an admin for one user. Max null: no bound.
  `CREATE TABLE quota_exception (
    "user" bigint NOT NULL REFERENCES "user" (key) ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL, max bigint, PRIMARY KEY ("user", kind))`,
  `CREATE VIEW quota AS
    SELECT "user".key AS "user", quota_default.kind AS kind,
      CASE WHEN quota_exception."user" IS NULL THEN quota_default.max ELSE quota_exception.max END AS max,
      CAST(quota_exception."user" IS NOT NULL AS integer) AS is_exception
    FROM "user"
    JOIN quota_default ON quota_default.class =
      CASE WHEN "user".username = 'guest' THEN 'guest' WHEN "user".admin = 1 THEN 'admin' ELSE 'user' END
    LEFT JOIN quota_exception ON quota_exception."user" = "user".key AND quota_exception.kind = quota_default.kind`,
  // One row: 0 while the data may not grow, because the disk or the storage quota is full.
  'CREATE TABLE growth (allowed bigint NOT NULL)',
  'INSERT INTO growth (allowed) VALUES (1)',
  ...trigger(
    'usage_user_added',
    'AFTER INSERT ON "user"',
    `${refuseGrowth} INSERT INTO usage ("user") VALUES (new.key);`,
  ),
  ...trigger('usage_user_removed', 'AFTER DELETE ON "user"', 'DELETE FROM usage WHERE "user" = old.key;'),
  ...deviceTriggers(),
  ...partTriggers('sensor'),
  ...partTriggers('actuator'),
  ...owned.flatMap(ownedTriggers),
  ...registryKinds.flatMap(refusalTrigger),
  ...charges,
];
