// Random calls of version 1 with their equivalents of version 2, for fast-check: each pair must have the same effect.
// Written independently of the service's word map, so that a fault in it is found.
import fc from 'fast-check';
import type { Carries } from '../test-server.ts';

type Json = Record<string, unknown>;

/** A call and its twin; `{n}` of a path is the id of the n-th notification that both made, if there is one. */
export interface Twin {
  readonly as: string;
  readonly method: string;
  readonly older: string;
  readonly newer: string;
  readonly carries?: { readonly older: Carries; readonly newer: Carries };
  /** What is answered: a record or a list of records of this kind. */
  readonly answers?: 'device' | 'sensor' | 'rule' | 'permission' | 'same';
  /** The same call to version 2 on both: what version 1 has no words for. */
  readonly isSetUp?: true;
}

/** Ids that are words of either version among them: they are ids and nothing else. */
export const deviceIds = ['a', 'sensors', 'action'] as const;
const sensorIds = ['x', 'devices', 'measurements'] as const;

const as = fc.constantFrom('guest', 'owner', 'owner', 'owner', 'stranger', 'sharer', 'admin');
const device = fc.constantFrom(...deviceIds);
const sensor = fc.constantFrom(...sensorIds);
/** What a path of version 1.0 has before that of version 1.1. */
const domainPath = fc.constantFrom('', '', '/domains/any', '/domains/a%20%C3%A9');
const prefer = fc.constantFrom(undefined, 'return=representation');
const bad = (good: fc.Arbitrary<unknown>, ...others: unknown[]) =>
  fc.oneof({ weight: 9, arbitrary: good }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const newSensor = fc.record(
  {
    id: bad(sensor, 5, undefined, 'no id'),
    name: bad(fc.constantFrom('Soil', '', 'sensors'), 5, null),
    sensing_device: fc.constantFrom('thermometer', 'device'),
    quantity_kind: fc.constantFrom('temperature', null),
    unit: bad(fc.constantFrom('K', '%'), ['K']),
    meta: fc.constantFrom({ sensors: 1, action: { devices: 2 } }, null),
    value: fc.constantFrom(4, { value: 4 }),
  },
  { requiredKeys: ['id'] },
);
const newDevice = fc.record(
  {
    id: bad(device, 'no id', undefined, 7),
    name: bad(fc.constantFrom('Field', 'devices'), 5),
    gateway_id: bad(fc.constantFrom('g', ''), 'no id'),
    visibility: bad(fc.constantFrom('public', 'private', null), 'hidden'),
    domain: fc.constantFrom('irrigation', 'cold'),
    location: bad(fc.constantFrom({ latitude: 1, longitude: -2 }, null), 'here', { latitude: 'x' }),
    owner: fc.constant('sharer'),
    meta: fc.constant({ sensors: [1], devices: 'x' }),
    parts: fc.uniqueArray(newSensor, { maxLength: 2, selector: ({ id }) => id }),
  },
  { requiredKeys: ['id'] },
);

const create = fc
  .record({ as, domainPath, prefer, body: newDevice })
  .map(({ as: who, domainPath: path, prefer: wish, body: { parts, domain, ...fields } }): Twin => {
    const headers = wish === undefined ? {} : { headers: { prefer: wish } };
    // Version 1.0 ignores the domain, wherever it stands.
    const named = path === '' && domain !== undefined ? { domain } : {};
    const older = { ...fields, ...(domain === undefined ? {} : { domain }), ...(parts && { measurements: parts }) };
    return {
      ...{ as: who, method: 'POST', older: `${path}/sensors`, newer: '/devices', answers: 'device' },
      carries: {
        older: { json: { ...older, actuators: [{ id: 'never' }], devices: 1 }, ...headers },
        newer: { json: { ...fields, ...named, ...(parts && { sensors: parts }) }, ...headers },
      },
    };
  });

const condition = fc.constantFrom(
  ['', ''],
  ['measurements.id==x', 'sensors.id==x'],
  ['measurements.unit==K,%25;owner==owner', 'sensors.unit==K,%25;owner==owner'],
  ['measurements.sensing_device!=thermometer', 'sensors.sensing_device!=thermometer'],
  ['measurements.meta.sensors==1', 'sensors.meta.sensors==1'],
  ['meta.devices==x', 'meta.devices==x'],
  ['domain==irrigation', 'domain==irrigation'],
  ['sensors.id==x', 'nobody.id==x'],
  ['actuators.id==never', 'nobody.id==x'],
  ['location.latitude%3E0', 'location.latitude%3E0'],
  ['measurements.last_value==1', 'sensors.last_value==1'],
  ['measurements', 'sensors'],
  ['%3D%3Dx', '%3D%3Dx'],
);
const page = fc.constantFrom('', '&limit=1', '&limit=2&offset=1', '&limit=0', '&offset=-1', '&limit=1001');

const list = fc.record({ as, domainPath, condition, page }).map(
  (one): Twin => ({
    ...{ as: one.as, method: 'GET', answers: 'device' },
    older: `${one.domainPath}/sensors?q=${one.condition[0]}${one.page}`,
    newer: `/devices?q=${one.condition[1]}${one.page}`,
  }),
);

const permissions = fc.record({ as, domainPath, page }).map(
  (one): Twin => ({
    ...{ as: one.as, method: 'GET', answers: 'permission' },
    older: `${one.domainPath}/auth/permissions?${one.page}`,
    newer: `/auth/permissions/devices?${one.page}`,
  }),
);

const single = fc
  .record({ as, domainPath, device, method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'DELETE', 'PATCH') })
  .map((one): Twin => {
    const older = `${one.domainPath}/sensors/${one.device}`;
    return { as: one.as, method: one.method, older, newer: `/devices/${one.device}`, answers: 'device' };
  });

const text = fc.constantFrom('new', '', 'public', 'private', 'sensors', '{"latitude": 3, "longitude": 4}');
const field = fc.constantFrom('name', 'gateway_id', 'domain', 'location', 'visibility');
const setField = fc.record({ as, domainPath, device, field, text, isJson: fc.boolean() }).map((one): Twin => {
  const carries = one.isJson ? { json: one.text } : { text: one.text };
  return {
    ...{ as: one.as, method: 'PUT', carries: { older: carries, newer: carries } },
    older: `${one.domainPath}/sensors/${one.device}/${one.field}`,
    newer: `/devices/${one.device}/${one.field}`,
  };
});

const addSensor = fc.record({ as, domainPath, device, prefer, body: newSensor }).map((one): Twin => {
  const carries = { json: one.body, ...(one.prefer === undefined ? {} : { headers: { prefer: one.prefer } }) };
  return {
    ...{ as: one.as, method: 'POST', answers: 'sensor', carries: { older: carries, newer: carries } },
    older: `${one.domainPath}/sensors/${one.device}/measurements`,
    newer: `/devices/${one.device}/sensors`,
  };
});

const oneSensor = fc
  .record({ as, domainPath, device, sensor, method: fc.constantFrom('GET', 'GET', 'DELETE'), isList: fc.boolean() })
  .map(
    (one): Twin => ({
      ...{ as: one.as, method: one.method, answers: 'sensor' },
      older: `${one.domainPath}/sensors/${one.device}/measurements${one.isList ? '' : `/${one.sensor}`}`,
      newer: `/devices/${one.device}/sensors${one.isList ? '' : `/${one.sensor}`}`,
    }),
  );

const sensorField = fc.constantFrom('name', 'sensing_device', 'quantity_kind', 'unit');
const setSensorField = fc.record({ as, domainPath, device, sensor, field: sensorField, text }).map(
  (one): Twin => ({
    ...{ as: one.as, method: 'PUT', carries: { older: { text: one.text }, newer: { text: one.text } } },
    older: `${one.domainPath}/sensors/${one.device}/measurements/${one.sensor}/${one.field}`,
    newer: `/devices/${one.device}/sensors/${one.sensor}/${one.field}`,
  }),
);

const timestamp = fc.constantFrom(undefined, '2026-01-01T00:00:00Z', '2026-01-01T03:00:00+03:00', 'yesterday', 5);
const value = fc.oneof(
  fc.integer(),
  fc.constantFrom(null, true, 'devices', [1], { sensors: { devices: 1 } }, undefined),
);
const datapoint = fc.record({ value, timestamp });
const pushed: fc.Arbitrary<Carries> = fc.oneof(
  datapoint.map((json) => ({ json })),
  fc.array(datapoint, { maxLength: 4 }).map((json) => ({ json })),
  text.map((one) => ({ text: one })),
  fc.constant({ body: '{"value":', headers: { 'content-type': 'application/json' } }),
);
const push = fc
  .record({ as, domainPath, device, sensor, door: fc.constantFrom('value', 'values'), pushed, key: fc.nat({ max: 9 }) })
  .map((one): Twin => {
    const headers = { ...one.pushed.headers, ...(one.key < 3 ? { 'idempotency-key': `key-${one.key}` } : {}) };
    const carries = { ...one.pushed, headers };
    return {
      ...{ as: one.as, method: 'POST', carries: { older: carries, newer: carries } },
      older: `${one.domainPath}/sensors/${one.device}/measurements/${one.sensor}/${one.door}`,
      newer: `/devices/${one.device}/sensors/${one.sensor}/${one.door}`,
    };
  });

const range = fc.constantFrom(
  '',
  'lastN=2',
  'lastN=0',
  'limit=1&offset=1',
  'sort=desc',
  'dateFrom=2026-01-02T00:00:00Z',
  'date_to=2026-01-02T00:00:00Z&format=csv',
  'format=ndjson',
  'bucket=1d&aggregate=min,count',
  'dateTo=tomorrow',
);
const read = fc.record({ as, domainPath, device, sensor, range }).map(
  (one): Twin => ({
    ...{ as: one.as, method: 'GET', answers: 'same' },
    older: `${one.domainPath}/sensors/${one.device}/measurements/${one.sensor}/values?${one.range}`,
    newer: `/devices/${one.device}/sensors/${one.sensor}/values?${one.range}`,
  }),
);

const ids = <T extends string>(names: readonly T[]) =>
  bad(fc.subarray([...names]), 'a', [5], null) as fc.Arbitrary<unknown>;
const ruleCondition = fc.record(
  {
    watched: ids(deviceIds),
    used: ids(sensorIds),
    expression: bad(fc.constantFrom('x>1', 'devices==1..2;measurements', ''), 'x>', 5),
    kept: fc.constant({ devices: 1, notification: 2 }),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    usernames: bad(fc.constant(['owner']), 'owner'),
    channels: bad(fc.constant(['none']), ['smoke']),
    message: fc.constant('{x} of {id}'),
  },
  { requiredKeys: ['usernames', 'channels'] },
);
/** An action by both their words. */
const action: fc.Arbitrary<readonly [older: unknown, newer: unknown]> = fc.oneof(
  message.map((flat) => [flat, flat] as const),
  message.map(
    (flat) =>
      [
        { type: 'SocialAction', value: flat },
        { type: 'SocialAction', value: flat },
      ] as const,
  ),
  device.map((id) => {
    const rest = { actuator_id: 'x', actuator_value: { devices: 1 } };
    const type = 'ActuationAction';
    return [
      { type, value: { sensor_id: id, ...rest } },
      { type, value: { device_id: id, ...rest } },
    ] as const;
  }),
  fc.constant(['shout', 'shout'] as const),
);
const ruleFields = fc.record(
  {
    description: bad(fc.constantFrom('hot', null), 5),
    condition: ruleCondition,
    action,
    throttling: bad(fc.constantFrom(0, 60, null), -1, 'x'),
    expires: fc.constantFrom('2026-01-15T12:00:30Z', '2036-01-01T00:00:00Z', 'never'),
    status: bad(fc.constantFrom('active', 'inactive'), 'asleep'),
  },
  { requiredKeys: [] },
);

function ruleOf(body: typeof ruleFields extends fc.Arbitrary<infer T> ? T : never): { older: Json; newer: Json } {
  const { condition: when, action: what, ...same } = body;
  const { watched, used, ...kept } = when ?? {};
  const parts = (devices: string, sensors: string) => ({
    ...kept,
    ...(watched === undefined ? {} : { [devices]: watched }),
    ...(used === undefined ? {} : { [sensors]: used }),
  });
  // What stays as it was given keeps the names that it has.
  const older = { ...same, ...(when && { condition: parts('sensors', 'measurements') }) };
  const newer = { ...same, ...(when && { condition: parts('devices', 'sensors') }) };
  if (what === undefined) return { older, newer };
  return { older: { ...older, notification: what[0], action: 'ignored' }, newer: { ...newer, action: what[1] } };
}

const createRule = fc
  .record({ as, domainPath, prefer, body: ruleFields.map((body) => ruleOf({ condition: {}, ...body })) })
  .map((one): Twin => {
    const headers = one.prefer === undefined ? {} : { headers: { prefer: one.prefer } };
    return {
      ...{ as: one.as, method: 'POST', older: `${one.domainPath}/notifications`, newer: '/notifications' },
      answers: 'rule',
      carries: { older: { json: one.body.older, ...headers }, newer: { json: one.body.newer, ...headers } },
    };
  });

const which = fc.constantFrom('{0}', '{0}', '{1}', '{2}', 'no-id', '0123456789abcdef01234567');
const changeRule = fc.record({ as, domainPath, which, body: ruleFields.map(ruleOf) }).map((one): Twin => {
  const carries = { older: { json: one.body.older }, newer: { json: one.body.newer } };
  const path = `/notifications/${one.which}`;
  return { as: one.as, method: 'PATCH', older: `${one.domainPath}${path}`, newer: path, carries };
});

const oneRule = fc
  .record({ as, domainPath, which, method: fc.constantFrom('GET', 'GET', 'DELETE', 'PUT'), text })
  .map((one): Twin => {
    const isStatus = one.method === 'PUT';
    const carries = { text: one.text === 'new' ? 'inactive' : one.text };
    const path = `/notifications/${one.which}${isStatus ? '/status' : ''}`;
    return {
      ...{ as: one.as, method: one.method, older: `${one.domainPath}${path}`, newer: path, answers: 'rule' },
      ...(isStatus ? { carries: { older: carries, newer: carries } } : {}),
    };
  });

const ruleFilter = fc.constantFrom(
  ['', ''],
  ['condition.sensors==a', 'condition.devices==a'],
  ['condition.measurements==x;status==active', 'condition.sensors==x;status==active'],
  ['notification.usernames==owner', 'action.usernames==owner'],
  ['notification.value.sensor_id==a', 'action.value.device_id==a'],
  ['condition.devices==a', 'condition.nothing==a'],
  ['throttling%3E1', 'throttling%3E1'],
);
const listRules = fc.record({ as, domainPath, ruleFilter, page }).map(
  (one): Twin => ({
    ...{ as: one.as, method: 'GET', answers: 'rule' },
    older: `${one.domainPath}/notifications?q=${one.ruleFilter[0]}${one.page}`,
    newer: `/notifications?q=${one.ruleFilter[1]}${one.page}`,
  }),
);

const share = fc
  .record({ device, scopes: fc.subarray(['device:view', 'device:update', 'device-data:view', 'device-data:create']) })
  .map((one): Twin => {
    const path = `/devices/${one.device}/shares/sharer`;
    const carries = { json: { scopes: one.scopes } };
    return {
      as: 'admin',
      method: 'PUT',
      older: path,
      newer: path,
      carries: { older: carries, newer: carries },
      isSetUp: true,
    };
  });
const valve = device.map((id): Twin => {
  const path = `/devices/${id}/actuators`;
  const carries = { json: { id: 'never', value: 1 } };
  return {
    as: 'admin',
    method: 'POST',
    older: path,
    newer: path,
    carries: { older: carries, newer: carries },
    isSetUp: true,
  };
});

/** Version 1 knows one name for the kind of a sensor. */
const kind = fc.record({ device, sensor }).map((one): Twin => {
  const path = `/devices/${one.device}/sensors`;
  const carries = { json: { id: one.sensor, sensor_kind: 'probe' } };
  return {
    ...{ as: 'admin', method: 'POST', older: path, newer: path, isSetUp: true },
    carries: { older: carries, newer: carries },
  };
});

const call = fc.oneof(
  { weight: 4, arbitrary: create },
  { weight: 2, arbitrary: addSensor },
  { weight: 4, arbitrary: push },
  { weight: 2, arbitrary: fc.oneof(share, valve, kind) },
  { weight: 8, arbitrary: fc.oneof(list, permissions, single, setField, oneSensor, setSensorField, read) },
  { weight: 2, arbitrary: createRule },
  { weight: 3, arbitrary: fc.oneof(changeRule, oneRule, listRules) },
);
/** Begins with what the calls are about, so that most of them find something; an admin looks at the end. */
export const calls = fc
  .record({
    first: create,
    sensor: addSensor,
    rule: createRule,
    others: fc.array(call, { minLength: 4, maxLength: 12 }),
    looks: fc.tuple(list, listRules, listRules),
  })
  .map(({ first, sensor: second, rule, others, looks }) => [
    ...[first, second, rule],
    ...others,
    ...looks.map((look) => ({ ...look, as: 'admin' })),
  ]);
