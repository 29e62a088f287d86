// The q filter on values (spec 4.1, contract 1): the last value of sensors as reads show it, and what actuators are set to;
// in the log and sealed, in every version, and for those alone who may view the values.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const calib = {
  linear: {
    enabled: true,
    value_min: { sensor_value: 0, real_value: 100 },
    value_max: { sensor_value: 1, real_value: 101 },
  },
};

/** What the sensors of each device were pushed last. */
const pushed: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  number: { s: { value: 55, timestamp: '2026-01-01T00:00:00Z' }, t: { value: -3 } },
  text: { s: { value: '55 %' } },
  words: { s: { value: 'Über' } },
  bool: { s: { value: true } },
  null: { s: { value: null } },
  place: { s: { value: { latitude: 5, at: { x: 'y' }, list: [1], '55': 1 } } },
  list: { s: { value: [55] } },
  long: { s: { value: 'x'.repeat(limits.filterValueBytesMax) } },
  calibrated: { s: { value: 55 } },
  none: {},
};

before(async () => {
  server = await TestServer.start();
  for (const [id, values] of Object.entries(pushed)) {
    const sensors = ['s', 't'].map((sensor) => (id === 'calibrated' ? { id: sensor, calib } : { id: sensor }));
    const actuators =
      id === 'number'
        ? [
            { id: 'valve', value: true },
            { id: 'level', value: { open: 7 } },
          ]
        : [];
    const json = { id, sensors, actuators, visibility: 'private' };
    await make(server, { as, call: 'POST /devices', json, expect: 204 });
    for (const [sensor, one] of Object.entries(values)) {
      // Not the last: what was pushed before does not count.
      for (const json of [{ value: 1_000 }, one])
        await make(server, { as, call: `POST /devices/${id}/sensors/${sensor}/value`, json, expect: 204 });
    }
    server.clock.advance(1_000);
  }
});
after(() => server.stop());

const list = async (q: string, who = as, path = '/devices') => {
  const call = `GET ${path}?limit=1000&q=${encodeURIComponent(q)}`;
  const { body, headers } = await make(server, { as: who, call, expect: 200 });
  assert.equal(headers['x-total-count'], String(body.length));
  return (body as readonly { readonly id: string }[]).map(({ id }) => id).join(' ');
};

const all = Object.keys(pushed).join(' ');
const allBut = (...ids: readonly string[]) =>
  Object.keys(pushed)
    .filter((id) => !ids.includes(id))
    .join(' ');

const rows: readonly (readonly [q: string, ids: string])[] = [
  ['sensors.last_value.value==55', 'number'],
  ['sensors.value.value==55', 'number'],
  ['sensors.last_value.value==5.5e1', 'number'],
  ['sensors.last_value.value==1000', ''],
  ['sensors.last_value.value==-3', 'number'],
  ['sensors.last_value.value==155', 'calibrated'],
  ['sensors.last_value.value!=55', allBut('number')],
  ['sensors.last_value.value>50', 'number text words bool place list calibrated'],
  ['sensors.last_value.value>=155;sensors.last_value.value<=155', 'calibrated'],
  ['sensors.last_value.value<0', 'number'],
  ['sensors.last_value.value==55,155', 'number calibrated'],
  ['sensors.last_value.value!=55,155', allBut('number', 'calibrated')],
  ['sensors.last_value.value==55;sensors.last_value.value==-3', 'number'],
  ['sensors.last_value.value==55 %', 'text'],
  ['sensors.last_value.value==Über', 'words'],
  ['sensors.last_value.value>Z', 'words bool place list'],
  ['sensors.last_value.value==true', 'bool'],
  ['sensors.last_value.value==null', ''],
  ['sensors.last_value.value==[55]', 'list'],
  ['sensors.last_value.value.latitude==5', 'place'],
  ['sensors.last_value.value.latitude>4', 'place'],
  ['sensors.last_value.value.latitude!=5', allBut('place')],
  ['sensors.last_value.value.at.x==y', 'place'],
  ['sensors.last_value.value.at=={"x":"y"}', 'place'],
  ['sensors.last_value.value.list.0==1', ''],
  ['sensors.last_value.value.55==1', 'place'],
  ['sensors.last_value.value.toString>', ''],
  ['sensors.last_value.value.__proto__>', ''],
  [`sensors.last_value.value>${'x'.repeat(20)}`, 'words place'],
  // Too long to be compared.
  ['sensors.last_value.value>=xxx', 'words place'],
  [`sensors.last_value.value!=${'x'.repeat(20)}`, all],
  ['id==long;sensors.last_value.date_received>2026-01-01', 'long'],
  ['sensors.last_value.timestamp==2026-01-01T00:00:00Z', 'number'],
  ['sensors.last_value.timestamp<=2026-01-01', 'number'],
  ['sensors.last_value.timestamp>2026-01-01', ''],
  ['sensors.last_value.timestamp!=2026-01-01T00:00:00Z', allBut('number')],
  ['sensors.value.date_received==2026-01-15T12:00:01Z', 'text'],
  ['sensors.last_value.date_received<2026-01-15T12:00:02Z', 'number text'],
  ['sensors.last_value.date_received!=2026-01-15T12:00:01Z', allBut('text')],
  ['sensors.last_value.value>0;sensors.last_value.date_received<2026-01-15T12:00:02Z', 'number text'],
  ['id==number,text;sensors.last_value.value==55', 'number'],
  ['sensors.id==t;sensors.last_value.value==-3', 'number'],
  ['actuators.value==true', 'number'],
  ['actuators.value.open==7', 'number'],
  ['actuators.value.open>7', ''],
  ['actuators.value!=true', allBut('number')],
  ['actuators.value==true;sensors.last_value.value==55', 'number'],
];

for (const where of ['in the log', 'sealed']) {
  suite(`the filter on values that are ${where}`, () => {
    if (where === 'sealed') before(() => server.running.engine.seal());
    for (const [q, ids] of rows) {
      test(`${q} gives ${ids === all ? 'all' : ids || 'none'}`, async () => {
        const found = (await list(q)).split(' ').sort().join(' ');
        assert.equal(found, ids.split(' ').sort().join(' '));
      });
    }
  });
}

suite('the filter on values', () => {
  test('is of what is stored now: pushed, corrected, removed, moved, in the log or sealed', async () => {
    const s = '/devices/none/sensors/s';
    const push = (value: number, second: number) =>
      make(server, {
        ...{ as, call: `POST ${s}/value`, expect: 204 },
        json: { value, timestamp: `2026-01-02T00:00:0${second}Z` },
      });
    const ofNow = async (value: number) => {
      const { body } = await make(server, { as, call: `GET ${s}`, expect: 200 });
      assert.equal(body.last_value.value, value);
      for (const one of [1, 2, 3, 4])
        assert.equal(await list(`id==none;sensors.last_value.value==${one}`), one === value ? 'none' : '', `${one}`);
    };
    await push(1, 1);
    await ofNow(1);
    await push(2, 2);
    await ofNow(2);
    await make(server, { as, call: `PUT ${s}/values/2026-01-02T00:00:02Z`, json: { value: 3 }, expect: 204 });
    await ofNow(3);
    await make(server, { as, call: `DELETE ${s}/values?timestamp=2026-01-02T00:00:02Z`, expect: 200 });
    await ofNow(1);
    await push(4, 4);
    await server.running.engine.seal();
    await ofNow(4);
    await make(server, { as, call: `PUT ${s}/values/2026-01-02T00:00:04Z`, json: { value: 2 }, expect: 204 });
    await ofNow(2);
    await push(3, 3);
    await ofNow(3);
    await make(server, { as, call: `DELETE ${s}/values?dateFrom=2026-01-01&dateTo=2026-01-03`, expect: 200 });
    assert.equal(await list('id==none;sensors.last_value.date_received>2020-01-01'), '');
    await push(1, 1);
    await make(server, { as, call: 'POST /devices', json: { id: 'there' }, expect: 204 });
    await make(server, { as, call: `PUT ${s}/device`, text: 'there', expect: 204 });
    assert.equal(await list('sensors.last_value.value==1'), 'there');
  });

  test('is calibrated as reads are, from the moment on', async () => {
    const found = () => list('id==number;sensors.last_value.value==155');
    assert.equal(await found(), '');
    const call = 'PUT /devices/number/sensors/s/calib';
    await make(server, { as, call, json: calib, expect: 204 });
    assert.equal(await found(), 'number');
    const enabled = { linear: { ...calib.linear, enabled: false } };
    await make(server, { as, call, json: enabled, expect: 204 });
    assert.equal(await found(), '');
  });

  test('compares a number of twenty digits as the double nearest to it', async () => {
    const call = 'POST /devices/list/sensors/t/value';
    await make(server, {
      as,
      call,
      body: '{"value":12345678901234567890}',
      headers: { 'content-type': 'application/json' },
      expect: 204,
    });
    assert.equal(await list('id==list;sensors.last_value.value>12345678901234567000'), 'list');
    await server.running.engine.seal();
    assert.equal(await list('id==list;sensors.last_value.value>12345678901234567000'), 'list');
  });

  test('chooses what the latest values are asked of', async () => {
    const q = encodeURIComponent('sensors.last_value.value==55');
    const { body } = await make(server, { as, call: `GET /latest?q=${q}`, expect: 200 });
    assert.deepEqual(
      (body as { readonly sensor_id: string; readonly value: unknown }[]).map((row) => [row.sensor_id, row.value]),
      [
        ['s', 55],
        ['t', -3],
      ],
    );
  });

  for (const q of [
    ...[
      'sensors.last_value==55',
      'sensors.value==55',
      'sensors.last_value.seq==1',
      'sensors.last_value.timestamp.x==1',
    ],
    ...['sensors.last_value.timestamp>yesterday', 'sensors.last_value.date_received==5', 'actuators.last_value==1'],
    ...['sensors.last_value.==1', 'sensors.last_value..value==1', 'last_value.value==1', 'value==1'],
  ]) {
    test(`${q} is 400`, async () => {
      await make(server, { as, call: `GET /devices?q=${encodeURIComponent(q)}`, expect: 400 });
    });
  }
});

suite('values that may not be viewed are as if there were none', () => {
  const key = async (scopes: readonly string[], devices?: readonly string[]) => {
    const json = { name: 'k', scopes, ...(devices === undefined ? {} : { devices }) };
    const { body } = await make(server, { as, call: 'POST /auth/keys', json, expect: 200 });
    return `Bearer ${body.key}`;
  };
  const share = (id: string, scopes: readonly string[]) =>
    make(server, { as, call: `PUT /devices/${id}/shares/sharer`, json: { scopes }, expect: 204 });

  before(async () => {
    for (const [id, visibility] of Object.entries({ seen: 'public', hidden: 'private', readable: 'private' })) {
      const actuators = [{ id: 'valve', value: 'secret' }];
      const json = { id, domain: 'who', visibility, sensors: [{ id: 's' }], actuators };
      await makeAll(server, [
        { as, call: 'POST /devices', json, expect: 204 },
        { as, call: `POST /devices/${id}/sensors/s/value`, json: { value: 'secret' }, expect: 204 },
      ]);
    }
    await share('hidden', ['device:view', 'device:update', 'device-data:create']);
    await share('readable', ['device:view', 'device-data:view']);
    const gateway = { id: 'shared-gateway', visibility: 'private' };
    await make(server, { as, call: 'POST /gateways', json: gateway, expect: 200 });
    const actuators = [{ id: 'valve', value: 'secret' }];
    const json = { id: 'inherited', domain: 'who', gateway_id: 'shared-gateway', sensors: [{ id: 's' }], actuators };
    await makeAll(server, [
      { as, call: 'POST /devices', json: { ...json, visibility: 'private' }, expect: 204 },
      { as, call: 'POST /devices/inherited/sensors/s/value', json: { value: 'secret' }, expect: 204 },
      {
        ...{ as, call: 'PUT /gateways/shared-gateway/shares/sharer', expect: 204 },
        json: { scopes: ['gateway:view', 'device:view', 'device-data:view'], with_devices: true },
      },
    ]);
  });

  const seenBy: Readonly<Record<string, readonly [viewed: string, read: string]>> = {
    guest: ['seen', 'seen'],
    stranger: ['seen', 'seen'],
    sharer: ['seen hidden readable inherited', 'seen readable inherited'],
    owner: ['seen hidden readable inherited', 'seen hidden readable inherited'],
    admin: ['seen hidden readable inherited', 'seen hidden readable inherited'],
  };
  for (const [who, [viewed, read]] of Object.entries(seenBy)) {
    test(`${who} finds ${read}`, async () => {
      const without = viewed
        .split(' ')
        .filter((id) => !read.includes(id))
        .join(' ');
      assert.equal(await list('domain==who', who), viewed);
      const met = [
        ...['sensors.last_value.value==secret', 'sensors.value.value>secre', 'sensors.last_value.value!=other'],
        ...['sensors.last_value.date_received>2026-01-01', 'actuators.value>=secret'],
      ];
      for (const q of met.filter((one) => !one.includes('!=')))
        assert.equal(await list(`domain==who;${q}`, who), read, q);
      // What is unknown is equal to nothing, whatever it is.
      assert.equal(await list('domain==who;sensors.last_value.value!=other', who), viewed);
      for (const q of ['sensors.last_value.value!=secret', 'actuators.value!=secret'])
        assert.equal(await list(`domain==who;${q}`, who), without, q);
    });
  }

  test('an API key finds what its scopes and its devices let it read', async () => {
    const found = async (authorization: string) => {
      const q = encodeURIComponent('domain==who;sensors.last_value.value==secret');
      const { body } = await make(server, { call: `GET /devices?q=${q}`, headers: { authorization }, expect: 200 });
      return (body as readonly { readonly id: string }[]).map(({ id }) => id).join(' ');
    };
    assert.equal(await found(await key(['devices:view'])), '');
    assert.equal(await found(await key(['devices:view', 'devices-data:view'], ['hidden', 'none'])), 'hidden');
  });
});

test('version 1 names the fields as its records do', async () => {
  const found = async (q: string, path = '/sensors') => {
    const call = `GET ${path}?q=${encodeURIComponent(`id==readable,seen;${q}`)}`;
    const { body } = await make(server, { as, call, version: 'v1', expect: 200 });
    return (body as readonly { readonly id: string }[]).map(({ id }) => id).join(' ');
  };
  for (const path of ['/sensors', '/domains/any/sensors']) {
    assert.equal(await found('measurements.last_value.value==secret', path), 'seen readable');
    assert.equal(await found('measurements.last_value.value!=secret', path), '');
    assert.equal(await found('measurements.last_value.date_received>2026-01-01', path), 'seen readable');
  }
});
