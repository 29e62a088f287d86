// Creating, reading, listing and deleting devices over REST (spec 4.1, contract 3 and 4).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const now = '2026-01-15T12:00:00Z';

suite('a created device', () => {
  test('needs an id alone; everything else has its default', async () => {
    await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'bare' }, expect: 204 });
    const { body } = await make(server, { as: 'owner', call: 'GET /devices/bare', expect: 200 });
    assert.deepEqual(body, {
      id: 'bare',
      visibility: 'private',
      sensors: [],
      actuators: [],
      owner: 'owner',
      date_created: now,
      date_modified: now,
    });
  });

  test('reads back as it was given, with nothing added to its nested objects', async () => {
    const given = {
      id: 'full',
      gateway_id: 'gateway-1',
      name: 'Überwachung 場',
      domain: 'farm',
      visibility: 'public',
      location: { latitude: 46.5, longitude: -7.25, altitude: 900 },
      meta: { nested: { list: [1, null, 'x', { deep: true }] }, empty: {} },
      deployed: false,
      sensors: [
        { id: 'TC', name: 'Air', sensing_device: 'thermometer', quantity_kind: 'temperature', unit: '°C' },
        { id: 'TC2', sensor_kind: 'thermometer', meta: { slot: 2 } },
      ],
      actuators: [{ actuator_value_type: 'bool', value: false, actuator_kind: 'valve', name: 'V', id: 'valve' }],
    };
    await make(server, { as: 'owner', call: 'POST /devices', json: given, expect: 204 });
    const { body } = await make(server, { as: 'stranger', call: 'GET /devices/full', expect: 200 });
    assert.deepEqual(body, { ...given, owner: 'owner', date_created: now, date_modified: now });
  });

  test('ignores what it is not to decide, and what nobody knows', async () => {
    const json = {
      id: 'modest',
      owner: 'stranger',
      date_created: '2001-01-01T00:00:00Z',
      date_modified: '2001-01-01T00:00:00Z',
      colour: 'red',
      sensors: [{ id: 's', last_value: { value: 1 }, value: 7, values: [{ value: 8 }] }],
    };
    const before = await server.rows();
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    const { body } = await make(server, { as: 'owner', call: 'GET /devices/modest', expect: 200 });
    assert.deepEqual(body.sensors, [{ id: 's' }]);
    assert.deepEqual([body.owner, body.date_created, body.colour], ['owner', now, undefined]);
    assert.deepEqual((await server.rows())['datapoints'], before['datapoints']);
  });

  test('takes null for a field as its absence', async () => {
    const none = { name: null, gateway_id: null, domain: null, visibility: null, meta: null, deployed: null };
    const sensor = { id: 's', name: null, unit: null, sensing_device: null, quantity_kind: null, calib: null };
    const json = { id: 'absent', ...none, location: null, sensors: [sensor], actuators: null };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    const { text } = await make(server, { as: 'owner', call: 'GET /devices/absent', expect: 200 });
    assert.doesNotMatch(text, /null|"name"|"location"|"meta"/);
  });

  test('has no gateway where the gateway id is empty', async () => {
    await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'alone', gateway_id: '' }, expect: 204 });
    const { body } = await server.call('owner', 'GET', '/devices/alone');
    assert.equal('gateway_id' in body, false);
  });

  test('belongs to guest and is public when there is no token, whatever the body says', async () => {
    for (const visibility of ['private', 'public', undefined]) {
      const id = `guests-${visibility}`;
      await make(server, { call: 'POST /devices', json: { id, visibility, owner: 'owner' }, expect: 204 });
      const { body } = await make(server, { as: 'stranger', call: `GET /devices/${id}`, expect: 200 });
      assert.deepEqual([body.owner, body.visibility], ['guest', 'public']);
    }
  });

  test('may not take an id that is there, seen or not', async () => {
    const calls = ['owner', 'stranger', 'guest', 'admin'].map((as) => {
      return { as, call: 'POST /devices', json: { id: 'bare', visibility: 'public' }, expect: 422 };
    });
    for (const { body } of await makeAll(server, calls)) assert.match(body.detail, /device bare already/);
  });

  test('is created once, however many ask at once', async () => {
    const creators = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? 'owner' : 'stranger'));
    const answers = await Promise.all(
      creators.map((as) => server.call(as, 'POST', '/devices', { json: { id: 'wanted', name: as } })),
    );
    const made = answers.flatMap(({ status }, n) => (status === 204 ? [creators[n]] : []));
    assert.deepEqual([made.length, answers.filter(({ status }) => status === 422).length], [1, 11]);
    const { body } = await server.call('admin', 'GET', '/devices/wanted');
    assert.deepEqual([body.owner, body.name], [made[0], made[0]]);
  });

  test('keeps ids apart that differ in case', async () => {
    for (const id of ['Case', 'case', 'CASE']) {
      await make(server, { as: 'owner', call: 'POST /devices', json: { id, name: id }, expect: 204 });
    }
    const { body } = await server.call('owner', 'GET', '/devices/case');
    assert.equal(body.name, 'case');
  });
});

suite('ids', () => {
  const good = ['a', '0', '.a', '...', 'a..b', '%', '*', '~!$%*,-.:@[]^_`{|}', 'x'.repeat(256), '\\'];
  const bad = ['', ' ', 'a b', ' a', '.', '..', 'é', '場', 'a\u0000', 'a\n', 'a\u007f', 'x'.repeat(257)];

  for (const id of good) {
    test(`${JSON.stringify(id.slice(0, 30))} is an id of a device, a sensor and an actuator`, async () => {
      const encoded = encodeURIComponent(id).replaceAll('.', '%2E');
      const json = { id, sensors: [{ id }], actuators: [{ id }] };
      await makeAll(server, [
        { as: 'owner', call: 'POST /devices', json, expect: 204 },
        { as: 'owner', call: `PUT /devices/${encoded}/name`, text: 'named', expect: 204 },
        { as: 'owner', call: `POST /devices/${encoded}/sensors/${encoded}/value`, json: { value: 1 }, expect: 204 },
        { as: 'owner', call: `PUT /devices/${encoded}/actuators/${encoded}/value`, json: 1, expect: 204 },
      ]);
      const { body } = await make(server, { as: 'owner', call: `GET /devices/${encoded}`, expect: 200 });
      assert.deepEqual(
        [body.id, body.name, body.sensors[0].last_value.value, body.actuators[0].value],
        [id, 'named', 1, 1],
      );
      await make(server, { as: 'owner', call: `DELETE /devices/${encoded}`, expect: 204 });
    });
  }

  for (const id of [...bad, ...'&?/#+<>"\'=;()']) {
    test(`${JSON.stringify(id.slice(0, 30))} is none`, async () => {
      await makeAll(server, [
        { as: 'owner', call: 'POST /devices', json: { id }, expect: 400 },
        { as: 'owner', call: 'POST /devices', json: { id: 'fine', sensors: [{ id }] }, expect: 400 },
        { as: 'owner', call: 'POST /devices', json: { id: 'fine', actuators: [{ id }] }, expect: 400 },
        { as: 'owner', call: 'POST /devices/bare/sensors', json: { id }, expect: 400 },
        { as: 'owner', call: 'POST /devices/bare/actuators', json: { id }, expect: 400 },
      ]);
      if (id !== '') await make(server, { as: 'owner', call: `GET /devices/${encodeURIComponent(id)}`, expect: 400 });
    });
  }
});

suite('a deleted device', () => {
  test('is gone with all that belongs to it', async () => {
    const json = { id: 'gone', visibility: 'public', sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
    const before = await server.rows();
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json, expect: 204 },
      { as: 'owner', call: 'POST /devices/gone/sensors/s/value', json: [{ value: 1 }, { value: 2 }], expect: 204 },
      { as: 'owner', call: 'PUT /devices/gone/shares/sharer', json: { scopes: ['device:view'] }, expect: 204 },
      { as: 'owner', call: 'DELETE /devices/gone', expect: 204 },
      { as: 'owner', call: 'GET /devices/gone', expect: 404 },
      { as: 'owner', call: 'GET /devices/gone/sensors/s/values', expect: 404 },
      { as: 'owner', call: 'POST /devices/gone/sensors/s/value', json: { value: 3 }, expect: 404 },
      { as: 'owner', call: 'DELETE /devices/gone', expect: 404 },
    ]);
    assert.deepEqual(await server.rows(), before);
  });

  test('leaves nothing to the next of its id', async () => {
    const json = { id: 'again', sensors: [{ id: 's', name: 'first' }], actuators: [{ id: 'a', value: 1 }] };
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json, expect: 204 },
      { as: 'owner', call: 'POST /devices/again/sensors/s/value', json: { value: 1 }, expect: 204 },
      { as: 'owner', call: 'PUT /devices/again/shares/sharer', json: { scopes: ['device:view'] }, expect: 204 },
      { as: 'owner', call: 'DELETE /devices/again', expect: 204 },
      { as: 'stranger', call: 'POST /devices', json: { id: 'again', sensors: [{ id: 's' }] }, expect: 204 },
      { as: 'owner', call: 'GET /devices/again', expect: 403 },
      { as: 'sharer', call: 'GET /devices/again', expect: 403 },
    ]);
    const { body } = await make(server, { as: 'stranger', call: 'GET /devices/again', expect: 200 });
    assert.deepEqual([body.owner, body.sensors, body.actuators], ['stranger', [{ id: 's' }], []]);
    const values = await make(server, { as: 'stranger', call: 'GET /devices/again/sensors/s/values', expect: 200 });
    assert.deepEqual(values.body, []);
  });
});

test('an unknown device is 404 and a known one that is not permitted 403, for everybody alike', async () => {
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'secret' }, expect: 204 });
  for (const as of ['guest', 'stranger']) {
    await makeAll(server, [
      { as, call: 'GET /devices/none', expect: 404 },
      { as, call: 'GET /devices/secret', expect: 403 },
      { as, call: 'DELETE /devices/none', expect: 404 },
      { as, call: 'PUT /devices/none/name', text: 'x', expect: 404 },
      { as, call: 'GET /devices/none/shares', expect: 404 },
      { as, call: 'GET /devices/none/drops', expect: 404 },
      { as, call: 'PUT /devices/none/owner', text: 'owner', expect: 404 },
    ]);
  }
});
