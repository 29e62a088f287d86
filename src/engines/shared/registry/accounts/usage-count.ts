// Counts from the records what each user has in the registry: initializes the counters of the table `usage` (migration
// 0017), and lets `dundun check` verify them.

/** The kinds counted from registry records, by their columns in `usage`. */
export const registryKinds = [
  ...(['devices', 'sensors', 'gateways', 'projects', 'rules', 'keys'] as const),
  'description_bytes' as const,
];

const size = (...columns: readonly string[]) =>
  columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');

const deviceText = size('device.id', 'gateway_id', 'device.name', 'domain', 'location', 'device.meta');
const sensorText = size(...['sensor.id', 'sensor.name', 'kind', 'quantity_kind', 'unit', 'calib', 'sensor.meta']);
const actuatorText = size(...['actuator.id', 'actuator.name', 'actuator_kind', 'value_type', 'value', 'actuator.meta']);

const gatewayText = size('id', 'name', 'location');

const sums = [
  ['gateway', 'owner', gatewayText],
  ['project', 'owner', size('id', 'name', 'device_ids', 'gateway_ids')],
  ['notification', 'author', size('id', 'description', 'condition', 'action', 'hysteresis', 'recovery_message')],
  ['api_key', 'user', size('id', 'name', 'scopes', 'devices')],
] as const;

const count = (table: string, owner: string) => `(SELECT count(*) FROM ${table} WHERE ${table}.${owner} = "user".key)`;

const partsOf = (table: string, text: string) =>
  `coalesce((SELECT sum(${text}) FROM ${table} WHERE ${table}.device = device.key), 0)`;

/** The description bytes of a device with its parts, in a query on `device`, and of a gateway, in one on `gateway`. */
export const descriptionBytes = {
  device: `${deviceText} + ${partsOf('sensor', sensorText)} + ${partsOf('actuator', actuatorText)}`,
  gateway: gatewayText,
};

/** One row for each user: `user`, and a column for each registry kind. */
const select = `SELECT "user".key AS "user",
  ${count('device', 'owner')} AS devices,
  (SELECT count(*) FROM sensor JOIN device ON device.key = sensor.device WHERE device.owner = "user".key) AS sensors,
  ${count('gateway', 'owner')} AS gateways,
  ${count('project', 'owner')} AS projects,
  ${count('notification', 'author')} AS rules,
  ${count('api_key', 'user')} AS keys,
  coalesce((SELECT sum(${deviceText}) FROM device WHERE device.owner = "user".key), 0)
  + coalesce((SELECT sum(${sensorText}) FROM sensor JOIN device ON device.key = sensor.device WHERE device.owner = "user".key), 0)
  + coalesce((SELECT sum(${actuatorText}) FROM actuator JOIN device ON device.key = actuator.device WHERE device.owner = "user".key), 0)
  ${sums.map(([table, owner, text]) => `+ coalesce((SELECT sum(${text}) FROM ${table} WHERE ${table}.${owner} = "user".key), 0)`).join('\n  ')}
  AS description_bytes
FROM "user"`;

/** SQL that counts the usage of all users, and that stores it in the table `usage`. */
export const countedUsage = {
  select,
  insert: `INSERT INTO usage ("user", ${registryKinds.join(', ')})
    SELECT "user", ${registryKinds.join(', ')} FROM (${select}) AS counted`,
};
