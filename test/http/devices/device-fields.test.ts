// Changing one field of a device, sensor or actuator by PUT, in both types of bodies (spec 4.1, contract 1 and 4).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', name: 'N', gateway_id: 'g', domain: 'D', sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
  await server.call('owner', 'POST', '/devices', { json });
});
after(() => server.stop());
beforeEach(() => server.clock.advance(1000));

/** `reads` is what the field reads as afterwards, undefined where it is absent; a refusal leaves it as it was. */
interface Change {
  readonly put: string;
  readonly text?: string;
  readonly json?: unknown;
  readonly reads?: unknown;
  readonly expect?: number;
}

/** At the bound, and beyond it: of a name in characters, of any other description in bytes (contract 1). */
const bounds = {
  name: { long: '場'.repeat(limits.nameCharsMax), beyond: 'x'.repeat(limits.nameCharsMax + 1), expect: 400 },
  description: {
    long: '場'.repeat(limits.descriptionBytesMax / 3),
    beyond: '場'.repeat(limits.descriptionBytesMax / 3 + 1),
    expect: 413,
  },
};
const texts = (
  put: string,
  { long, beyond, expect } = put.endsWith('name') ? bounds.name : bounds.description,
): readonly Change[] => [
  { put, text: 'bare', reads: 'bare' },
  { put, json: 'string', reads: 'string' },
  { put, text: '"quoted"', reads: '"quoted"' },
  { put, text: ' spaces ', reads: ' spaces ' },
  { put, text: 'unicode ☂ 場 🥁', reads: 'unicode ☂ 場 🥁' },
  { put, json: 'a "quote" \\ and \n', reads: 'a "quote" \\ and \n' },
  { put, text: long, reads: long },
  { put, text: beyond, expect },
  { put, json: beyond, expect },
  { put, json: 5, expect: 400 },
  { put, json: true, expect: 400 },
  { put, json: ['a'], expect: 400 },
  { put, json: { name: 'a' }, expect: 400 },
  { put, json: null, expect: 400 },
];
const objects = (put: string): readonly Change[] => [
  { put, json: { a: [1, { b: null }], c: 'x' }, reads: { a: [1, { b: null }], c: 'x' } },
  { put, text: '{"as": "text"}', reads: { as: 'text' } },
  { put, json: {}, reads: {} },
  { put, json: [1], expect: 400 },
  { put, json: 'text', expect: 400 },
  { put, json: 1, expect: 400 },
  { put, text: 'no JSON', expect: 400 },
  { put, text: '', expect: 400 },
  {
    put,
    json: { a: 'x'.repeat(limits.descriptionBytesMax - 8) },
    reads: { a: 'x'.repeat(limits.descriptionBytesMax - 8) },
  },
  { put, json: { a: 'x'.repeat(limits.descriptionBytesMax - 7) }, expect: 413 },
];
const retention = (put: string): readonly Change[] => [
  { put, json: 30, reads: 30 },
  { put, text: '7', reads: 7 },
  { put, json: 0, reads: 0 },
  { put, json: 36_525, reads: 36_525 },
  { put, json: 36_526, expect: 400 },
  { put, json: -1, expect: 400 },
  { put, json: 1.5, expect: 400 },
  { put, json: '30', expect: 400 },
  { put, text: 'P30D', expect: 400 },
  { put, json: [30], expect: 400 },
  { put, json: null, reads: undefined },
];
/** Objects that are no place on the earth. */
const noPlaces: readonly unknown[] = [
  {},
  { latitude: 1 },
  { longitude: 1 },
  { latitude: 1, longitude: null },
  { latitude: 90.001, longitude: 1 },
  { latitude: -91, longitude: 1 },
  { latitude: 1, longitude: 180.5 },
  { latitude: 1, longitude: -1e300 },
];
const point = (sensor_value: unknown, real_value: unknown) => ({ sensor_value, real_value });
const linear = (value_min: unknown, value_max: unknown) => ({ linear: { enabled: true, value_min, value_max } });
const calib = linear(point(0, 1), point(10, 21));

const changes: Readonly<Record<string, readonly Change[]>> = {
  name: texts('/name'),
  domain: texts('/domain'),
  gateway_id: [
    { put: '/gateway_id', text: 'gw-7', reads: 'gw-7' },
    { put: '/gateway_id', json: 'gw:8', reads: 'gw:8' },
    { put: '/gateway_id', text: 'a b', expect: 400 },
    { put: '/gateway_id', json: '"quoted"', expect: 400 },
    { put: '/gateway_id', text: 'x'.repeat(257), expect: 400 },
    { put: '/gateway_id', json: 5, expect: 400 },
    { put: '/gateway_id', text: '', reads: undefined },
    { put: '/gateway_id', json: '', reads: undefined },
  ],
  visibility: [
    { put: '/visibility', text: 'public', reads: 'public' },
    { put: '/visibility', json: 'private', reads: 'private' },
    { put: '/visibility', text: 'secret', expect: 400 },
    { put: '/visibility', text: 'Public', expect: 400 },
    { put: '/visibility', text: '', expect: 400 },
    { put: '/visibility', json: null, expect: 400 },
  ],
  location: [
    { put: '/location', json: { latitude: 1.5, longitude: -2 }, reads: { latitude: 1.5, longitude: -2 } },
    { put: '/location', text: '{"latitude":3,"longitude":4}', reads: { latitude: 3, longitude: 4 } },
    {
      put: '/location',
      json: { latitude: 1, longitude: 2, altitude: 7 },
      reads: { latitude: 1, longitude: 2, altitude: 7 },
    },
    { put: '/location', json: { latitude: 'north' }, expect: 400 },
    { put: '/location', json: { longitude: [1] }, expect: 400 },
    ...noPlaces.flatMap((json) => [
      { put: '/location', json, expect: 400 } as const,
      { put: '/location', text: JSON.stringify(json), expect: 400 } as const,
    ]),
    { put: '/location', json: [1, 2], expect: 400 },
    { put: '/location', json: 'here', expect: 400 },
    { put: '/location', text: '1,2', expect: 400 },
    { put: '/location', json: null, reads: undefined },
  ],
  meta: [...objects('/meta'), { put: '/meta', json: null, reads: undefined }],
  retention_days: retention('/retention_days'),
  'sensors.0.retention_days': retention('/sensors/s/retention_days'),
  deployed: [
    { put: '/deployed', json: true, reads: true },
    { put: '/deployed', text: 'false', reads: false },
    { put: '/deployed', json: 'true', reads: true },
    { put: '/deployed', json: 1, expect: 400 },
    { put: '/deployed', text: 'yes', expect: 400 },
  ],
  'sensors.0.name': texts('/sensors/s/name'),
  'sensors.0.quantity_kind': texts('/sensors/s/quantity_kind'),
  'sensors.0.unit': texts('/sensors/s/unit'),
  'sensors.0.sensing_device': texts('/sensors/s/sensing_device'),
  'sensors.0.sensor_kind': texts('/sensors/s/sensor_kind'),
  'sensors.0.meta': [...objects('/sensors/s/meta'), { put: '/sensors/s/meta', json: null, reads: undefined }],
  'sensors.0.calib': [
    { put: '/sensors/s/calib', json: calib, reads: calib },
    { put: '/sensors/s/calib', text: '{"linear":{"enabled":false}}', reads: { linear: { enabled: false } } },
    { put: '/sensors/s/calib', json: {}, reads: {} },
    { put: '/sensors/s/calib', json: linear(point(1, 1), point(1, 2)), expect: 400 },
    { put: '/sensors/s/calib', json: linear(point(1, 1), undefined), expect: 400 },
    { put: '/sensors/s/calib', json: linear(point('1', 1), point(2, 2)), expect: 400 },
    { put: '/sensors/s/calib', json: linear(point(0, 0), point(5e-324, 1e308)), expect: 400 },
    { put: '/sensors/s/calib', json: { linear: { enabled: 'yes' } }, expect: 400 },
    { put: '/sensors/s/calib', json: [], expect: 400 },
    { put: '/sensors/s/calib', json: 5, expect: 400 },
  ],
  'actuators.0.name': texts('/actuators/a/name'),
  'actuators.0.actuator_kind': texts('/actuators/a/actuator_kind'),
  'actuators.0.meta': [...objects('/actuators/a/meta'), { put: '/actuators/a/meta', json: null, reads: undefined }],
  'actuators.0.actuator_value_type': [
    ...['string', 'number', 'bool', 'null', 'object', 'array'].map((type) => {
      return { put: '/actuators/a/value_type', text: type, reads: type };
    }),
    { put: '/actuators/a/value_type', text: 'integer', expect: 400 },
    { put: '/actuators/a/value_type', text: '', expect: 400 },
  ],
};

for (const [field, rows] of Object.entries(changes)) {
  suite(field, () => {
    for (const { put, expect = 204, reads, ...carries } of rows) {
      const given = JSON.stringify(carries.json) ?? carries.text;
      test(`PUT ${put} with ${carries.json === undefined ? 'text' : 'JSON'} ${given?.slice(0, 60)} answers ${expect}`, async () => {
        const before = await server.call('owner', 'GET', '/devices/d');
        await make(server, { as: 'owner', call: `PUT /devices/d${put}`, expect, ...carries });
        const after = await server.call('owner', 'GET', '/devices/d');
        if (expect !== 204) return assert.deepEqual(after.body, before.body);
        assert.deepEqual(at(after.body, field), reads);
        assert.equal(at(after.body, 'date_modified'), new Date(server.clock.now()).toISOString().replace('.000', ''));
        assert.equal(after.body.date_created, before.body.date_created);
      });
    }
  });
}

for (const [n, location] of noPlaces.entries()) {
  test(`nothing is made at ${JSON.stringify(location)}`, async () => {
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json: { id: `far${n}`, location }, expect: 400 },
      { as: 'owner', call: 'POST /gateways', json: { id: `far${n}`, location }, expect: 400 },
      { as: 'owner', version: 'v1', call: 'POST /sensors', json: { id: `far${n}`, location }, expect: 400 },
    ]);
  });
}

test('the edges of the earth are on it', async () => {
  for (const [latitude, longitude] of [
    [90, 180],
    [-90, -180],
    [0, 0],
  ]) {
    const json = { latitude, longitude };
    await make(server, { as: 'owner', call: 'PUT /devices/d/location', json, expect: 204 });
  }
});

test('a PUT changes its field alone', async () => {
  const { body: before } = await server.call('owner', 'GET', '/devices/d');
  await make(server, { as: 'owner', call: 'PUT /devices/d/name', text: 'alone', expect: 204 });
  const { body: after } = await server.call('owner', 'GET', '/devices/d');
  assert.deepEqual({ ...after, name: 0, date_modified: 0 }, { ...before, name: 0, date_modified: 0 });
});

suite('the owner', () => {
  const give = (as: string, to: string, expect: number, rest: Partial<Call> = {}): Call => {
    return { as, call: 'PUT /devices/given/owner', text: to, expect, ...rest };
  };
  before(() => server.call('owner', 'POST', '/devices', { json: { id: 'given' } }));

  test('hands a device over and has it no more', async () => {
    await makeAll(server, [
      give('stranger', 'stranger', 403),
      give('guest', 'guest', 403),
      give('owner', 'nobody-of-that-name', 404),
      give('owner', '', 400),
      give('owner', 'stranger', 204),
      { as: 'owner', call: 'GET /devices/given', expect: 403 },
      give('owner', 'owner', 403),
      { as: 'stranger', call: 'PUT /devices/given/name', text: 'mine', expect: 204 },
    ]);
  });

  test('may be named as a JSON string, and an admin gives back what is not theirs', async () => {
    const json = { ...give('admin', '', 204), json: 'owner' };
    await make(server, json);
    const { body } = await make(server, { as: 'owner', call: 'GET /devices/given', expect: 200 });
    assert.equal(body.owner, 'owner');
  });

  test('becomes guest for a public device alone', async () => {
    await makeAll(server, [
      give('owner', 'guest', 422),
      { as: 'owner', call: 'PUT /devices/given/visibility', text: 'public', expect: 204 },
      give('owner', 'guest', 204),
      { as: 'guest', call: 'PUT /devices/given/name', text: "guest's", expect: 204 },
      { as: 'guest', call: 'PUT /devices/given/visibility', text: 'private', expect: 403 },
      { as: 'admin', call: 'PUT /devices/given/visibility', text: 'private', expect: 403 },
    ]);
  });
});

function at(record: unknown, path: string): unknown {
  return path.split('.').reduce((value, step) => (value as Record<string, unknown> | undefined)?.[step], record);
}
