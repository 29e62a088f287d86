// Actuators of a device over REST: their descriptions and their values (contract 4).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

let count = 0;
let d = '';
const valve = { actuator_value_type: 'bool', value: true, actuator_kind: 'valve', name: 'V', id: 'v', meta: { a: 1 } };
beforeEach(async () => {
  count += 1;
  d = `/devices/device-${count}`;
  const actuators = [valve, { id: 'any' }];
  await server.call('owner', 'POST', '/devices', { json: { id: `device-${count}`, visibility: 'public', actuators } });
  server.clock.advance(60_000);
});

const as = 'owner';

test('the keys come in the order a microcontroller in the field parses by', async () => {
  const [one, all, device] = await makeAll(server, [
    { as, call: `GET ${d}/actuators/v`, expect: 200 },
    { as, call: `GET ${d}/actuators`, expect: 200 },
    { as, call: `GET ${d}`, expect: 200 },
  ]);
  const text = '{"actuator_value_type":"bool","value":true,"actuator_kind":"valve","name":"V","id":"v","meta":{"a":1}}';
  assert.equal(one?.text, text);
  assert.equal(all?.text, `[${text},{"id":"any"}]`);
  assert.ok(device?.text.includes(`"actuators":[${text},{"id":"any"}]`));
});

test('the value type may be given under either name', async () => {
  await makeAll(server, [
    { as, call: `POST ${d}/actuators`, json: { id: 'a', value_type: 'number' }, expect: 204 },
    { as, call: `POST ${d}/actuators`, json: { id: 'b', actuator_value_type: 'array' }, expect: 204 },
    { as, call: `POST ${d}/actuators`, json: { id: 'c', value_type: 'integer' }, expect: 400 },
  ]);
  const { body } = await server.call(as, 'GET', `${d}/actuators`);
  assert.deepEqual(body.slice(2), [
    { actuator_value_type: 'number', id: 'a' },
    { actuator_value_type: 'array', id: 'b' },
  ]);
});

test('one posted again has the new description alone and keeps its value', async () => {
  await make(server, { as, call: `POST ${d}/actuators`, json: { id: 'v', name: 'W' }, expect: 204 });
  const { body } = await make(server, { as, call: `GET ${d}/actuators/v`, expect: 200 });
  assert.deepEqual(body, { value: true, name: 'W', id: 'v' });
});

test('a value of any JSON is kept, and moves date_modified', async () => {
  const values = [null, false, 0, -1.5, 1e21, '', 'on', '5', [], [1, [2]], {}, { on: { at: [1, null] } }];
  for (const value of values) {
    server.clock.advance(1000);
    await make(server, { as, call: `PUT ${d}/actuators/any/value`, json: value, expect: 204 });
    const { body } = await server.call(as, 'GET', d);
    assert.deepEqual(body.actuators[1], { value, id: 'any' });
    assert.equal(Date.parse(body.date_modified), server.clock.now());
  }
});

test('a value may come as text that is JSON', async () => {
  await make(server, { as, call: `PUT ${d}/actuators/v/value`, text: 'false', expect: 204 });
  const { body } = await server.call(as, 'GET', `${d}/actuators/v`);
  assert.equal(body.value, false);
  await make(server, { as, call: `PUT ${d}/actuators/any/value`, text: 'on', expect: 400 });
  await make(server, { as, call: `PUT ${d}/actuators/any/value`, expect: 400 });
});

test('a null value counts as one however the actuator is created', async () => {
  const json = { id: `null-${count}`, actuators: [{ id: 'n', value: null }] };
  await makeAll(server, [
    { as, call: 'POST /devices', json, expect: 204 },
    { as, call: `POST ${d}/actuators`, json: { id: 'n', value: null }, expect: 204 },
  ]);
  for (const device of [`/devices/null-${count}`, d]) {
    const { body } = await make(server, { as, call: `GET ${device}/actuators/n`, expect: 200 });
    assert.deepEqual(body, { value: null, id: 'n' });
  }
});

const samples = { string: 'a', number: 1, bool: true, null: null, object: { a: 1 }, array: [1] };

test('a value type describes and refuses no value, at any door and in any order', async () => {
  for (const type of Object.keys(samples)) {
    await make(server, { as, call: `POST ${d}/actuators`, json: { id: type, value_type: type }, expect: 204 });
    for (const [given, value] of Object.entries(samples)) {
      const json = { id: `${type}-${given}`, value_type: type, value };
      const device = { id: `typed-${count}-${type}-${given}`, actuators: [{ id: 'first' }, json] };
      await makeAll(server, [
        { as, call: `PUT ${d}/actuators/${type}/value`, json: value, expect: 204 },
        { as, call: `POST ${d}/actuators`, json, expect: 204 },
        { as, call: 'POST /devices', json: device, expect: 204 },
        { as, call: `PUT ${d}/actuators/${type}/value_type`, text: given, expect: 204 },
        { as, call: `PUT ${d}/actuators/${type}/value_type`, text: type, expect: 204 },
      ]);
      const places = [`${d}/actuators/${type}`, `${d}/actuators/${json.id}`, `/devices/${device.id}/actuators/${json.id}`]; // biome-ignore format: one line
      for (const place of places) {
        const { body } = await server.call(as, 'GET', place);
        assert.deepEqual([body.actuator_value_type, body.value], [type, value]);
      }
    }
  }
});

test('a value type is changed whatever value is there, and the value stays', async () => {
  await makeAll(server, [
    { as, call: `PUT ${d}/actuators/v/value_type`, text: 'number', expect: 204 },
    { as, call: `PUT ${d}/actuators/v/value_type`, text: 'integer', expect: 400 },
  ]);
  const { body } = await make(server, { as, call: `GET ${d}/actuators/v`, expect: 200 });
  assert.deepEqual([body.actuator_value_type, body.value], ['number', true]);
  await make(server, { as, call: `POST ${d}/actuators`, json: { id: 'v', value_type: 'array' }, expect: 204 });
  const { body: replaced } = await make(server, { as, call: `GET ${d}/actuators/v`, expect: 200 });
  assert.deepEqual(replaced, { actuator_value_type: 'array', value: true, id: 'v' });
});

test('strangers open no valves: neither public visibility nor any other share sets a value', async () => {
  const set = (who: string, expect: number) => ({ as: who, call: `PUT ${d}/actuators/v/value`, json: false, expect });
  const share = (scopes: readonly string[]) => {
    return { as, call: `PUT ${d}/shares/sharer`, json: { scopes }, expect: 204 };
  };
  await makeAll(server, [
    set('guest', 403),
    set('stranger', 403),
    set('sharer', 403),
    share(['device:view', 'device:delete', 'device-data:view']),
    set('sharer', 403),
    share(['device-data:create']),
    set('sharer', 204),
    share(['device:update']),
    set('sharer', 204),
    share([]),
    set('sharer', 403),
    { as: 'stranger', call: `POST ${d}/actuators`, json: { id: 'v', value: false }, expect: 403 },
  ]);
});

test('a deleted actuator is gone, and one of its id begins without a value', async () => {
  await makeAll(server, [
    { as, call: `DELETE ${d}/actuators/v`, expect: 204 },
    { as, call: `GET ${d}/actuators/v`, expect: 404 },
    { as, call: `DELETE ${d}/actuators/v`, expect: 404 },
    { as, call: `PUT ${d}/actuators/v/value`, json: true, expect: 404 },
    { as, call: `POST ${d}/actuators`, json: { id: 'v' }, expect: 204 },
  ]);
  const { body } = await make(server, { as, call: `GET ${d}/actuators/v`, expect: 200 });
  assert.deepEqual(body, { id: 'v' });
});

test('an actuator that is no good is refused, with the place named', async () => {
  const rows: readonly (readonly [json: unknown, pointer: string])[] = [
    [{}, '/id'],
    [{ id: 'a', name: 1 }, '/name'],
    [{ id: 'a', actuator_kind: {} }, '/actuator_kind'],
    [{ id: 'a', value_type: 5 }, '/value_type'],
    [{ id: 'a', meta: 'x' }, '/meta'],
  ];
  for (const [json, pointer] of rows) {
    const { body } = await make(server, { as, call: `POST ${d}/actuators`, json, expect: 400 });
    assert.equal(body.errors[0].pointer, pointer);
  }
  await makeAll(server, [
    { as, call: 'POST /devices', json: { id: 'twins', actuators: [{ id: 'a' }, { id: 'a' }] }, expect: 400 },
    { as, call: `PUT ${d}/actuators/any/value`, json: 'x'.repeat(65_537), expect: 413 },
    { as, call: `POST ${d}/actuators`, json: { id: 'a', value: 'x'.repeat(65_537) }, expect: 413 },
  ]);
});
