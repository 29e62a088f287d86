// Another id for a sensor (decision 42): its history goes with it, the id of before answers for a year, and what names the sensor
// follows.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import type { As } from '../../support/people.ts';
import { assertSound } from '../../support/sound-store.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let count = 0;
let d = '';
const dayMs = 24 * 3_600_000;
const yearMs = 365 * dayMs;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  count += 1;
  d = `device-${count}`;
  const sensors = [{ id: 'TC', unit: 'C' }, { id: 'other' }];
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: d, sensors }, expect: 204 });
});

const rename = (expect: number, { as = 'owner' as As, id = 'TC', into = 'north' } = {}) =>
  make(server, { as, call: `PUT /devices/${d}/sensors/${id}/id`, text: into, expect });
const push = (id: string, value: number, expect = 204, as: As = 'owner') =>
  make(server, { as, call: `POST /devices/${d}/sensors/${id}/values`, json: { value }, expect });
const values = async (id: string) =>
  (await make(server, { as: 'owner', call: `GET /devices/${d}/sensors/${id}/values`, expect: 200 })).body.map(
    ({ value }: { value: unknown }) => value,
  );
const idsOf = async () =>
  (await make(server, { as: 'owner', call: `GET /devices/${d}/sensors`, expect: 200 })).body.map(
    ({ id }: { id: string }) => id,
  );
const former = async (id: string, as: As = 'owner') =>
  (await make(server, { as, call: `GET /devices/${d}/sensors/${id}/former_ids`, expect: 200 })).body.map(
    (entry: { id: string }) => entry.id,
  );

suite('a sensor that has another id', () => {
  test('is read and pushed to under both, shows the new one, and has all its datapoints; after a restart too', async () => {
    await push('TC', 1);
    const renamed = await rename(204);
    assert.equal(renamed.headers['location'], `/api/v2/devices/${d}/sensors/north`);
    let n = 1;
    const held = async () => {
      for (const id of ['TC', 'north']) {
        n += 1;
        await push(id, n);
        const { body } = await make(server, { as: 'owner', call: `GET /devices/${d}/sensors/${id}`, expect: 200 });
        assert.equal(body.id, 'north');
        assert.equal(body.last_value.value, n);
        assert.equal((await values(id)).at(-1), n);
        await make(server, {
          as: 'owner',
          call: `PUT /devices/${d}/sensors/${id}/name`,
          text: `name ${n}`,
          expect: 204,
        });
        const call = `POST /sensors/${d}/measurements/${id}/values`;
        await make(server, { as: 'owner', call, version: 'v1', json: { value: n + 0.5 }, expect: 200 });
        assert.equal((await values('north')).at(-1), n + 0.5);
      }
      assert.deepEqual(await idsOf(), ['north', 'other']);
      assert.equal((await values('TC')).length, (await values('north')).length);
    };
    await held();
    await server.restart();
    await held();
    const both = await make(server, {
      as: 'owner',
      call: `GET /sensors_data?device_id=${d}&sensor_id=TC,north`,
      expect: 200,
    });
    assert.equal(both.body.length, (await values('TC')).length, 'each datapoint once');
    await assertSound(server);
  });

  test('is told so by answers to the former id, with its address for who may view it', async () => {
    await rename(204);
    const { headers } = await make(server, {
      as: 'owner',
      call: `GET /devices/${d}/sensors/TC/values?limit=1`,
      expect: 200,
    });
    assert.match(String(headers['deprecation']), /^@\d{10}$/);
    assert.equal(headers['link'], `</api/v2/devices/${d}/sensors/north/values>; rel="successor-version"`);
    const present = await make(server, { as: 'owner', call: `GET /devices/${d}/sensors/north`, expect: 200 });
    assert.equal(present.headers['sunset'], undefined);
  });

  test('keeps its id for itself for a year: whoever describes its sensors anew makes none, and none takes it', async () => {
    await push('TC', 1);
    await rename(204);
    const describe = (json: object) =>
      make(server, { as: 'owner', call: `POST /devices/${d}/sensors`, json, expect: 204 });
    await describe({ id: 'TC', unit: 'K' });
    assert.deepEqual(await idsOf(), ['north', 'other']);
    const { body } = await make(server, { as: 'owner', call: `GET /devices/${d}/sensors/north`, expect: 200 });
    assert.equal(body.unit, 'K');
    await rename(422, { id: 'other', into: 'TC' });
    await rename(422, { id: 'other', into: 'north' });
    server.clock.advance(yearMs - 1000);
    await server.running.idle();
    await push('TC', 2);
    server.clock.advance(1000);
    await push('TC', 3, 404);
    await describe({ id: 'TC' });
    await push('TC', 4);
    assert.deepEqual(await values('north'), [1, 2]);
    assert.deepEqual(await values('TC'), [4]);
    await server.restart();
    assert.deepEqual(await values('TC'), [4]);
    await assertSound(server);
  });

  test('goes back to a former id; so many answer at once, so often a day; its owner ends one', async () => {
    await rename(204);
    await rename(204, { id: 'TC', into: 'TC' });
    assert.deepEqual(await former('TC'), ['north']);
    for (let n = 2; n < limits.renamesPerDeviceMax; n++) await rename(204, { id: 'TC', into: `id-${n}` });
    await rename(429, { id: 'TC', into: 'more' });
    for (let n = 0; (await former('TC')).length < limits.formerIdsMax; n++) {
      server.clock.advance(dayMs);
      await rename(204, { id: 'TC', into: `again-${n}` });
    }
    server.clock.advance(dayMs);
    assert.match((await rename(422, { id: 'TC', into: 'beyond' })).body.detail, /former ids/);
    const [ended] = await former('TC');
    await make(server, { as: 'owner', call: `DELETE /devices/${d}/sensors/TC/former_ids/${ended}`, expect: 204 });
    await make(server, { as: 'owner', call: `DELETE /devices/${d}/sensors/TC/former_ids/${ended}`, expect: 404 });
    await push(ended, 1, 404);
    await rename(204, { id: 'TC', into: 'beyond' });
    await assertSound(server);
  });

  test('loses its former ids with its device: moved elsewhere it has its own alone; removed it frees all', async () => {
    await push('TC', 1);
    await rename(204);
    const target = `${d}-target`;
    await make(server, {
      as: 'owner',
      call: 'POST /devices',
      json: { id: target, sensors: [{ id: 'x' }] },
      expect: 204,
    });
    await make(server, { as: 'owner', call: `PUT /devices/${d}/sensors/TC/device`, text: target, expect: 204 });
    await push('TC', 2, 404);
    await make(server, { as: 'owner', call: `GET /devices/${target}/sensors/TC`, expect: 404 });
    const moved = await make(server, { as: 'owner', call: `GET /devices/${target}/sensors/north/values`, expect: 200 });
    assert.equal(moved.body.length, 1);
    await make(server, { as: 'owner', call: `PUT /devices/${target}/sensors/x/id`, text: 'y', expect: 204 });
    await make(server, { as: 'owner', call: `DELETE /devices/${target}/sensors/x`, expect: 204 });
    await make(server, { as: 'owner', call: `POST /devices/${target}/sensors`, json: { id: 'x' }, expect: 204 });
    await assertSound(server);
  });

  test('is moved to a device where a sensor was called so, once that answers by its id no longer', async () => {
    const target = `${d}-target`;
    const json = { id: target, sensors: [{ id: 'north' }] };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    await make(server, { as: 'owner', call: `PUT /devices/${target}/sensors/north/id`, text: 'south', expect: 204 });
    await rename(204);
    await push('north', 1);
    const move = (expect: number) =>
      make(server, { as: 'owner', call: `PUT /devices/${d}/sensors/north/device`, text: target, expect });
    await move(422);
    server.clock.advance(yearMs);
    await server.running.idle();
    await move(204);
    const read = (id: string) =>
      make(server, { as: 'owner', call: `GET /devices/${target}/sensors/${id}/values`, expect: 200 });
    assert.equal((await read('north')).body.length, 1);
    assert.equal((await read('south')).body.length, 0);
    await assertSound(server);
  });

  test('is heard under both ids over MQTT, retained under the new one and given under either', async () => {
    const topic = (id: string, device = d) => `devices/${device}/sensors/${id}/value`;
    const owner = await Client.connect(server, 'owner');
    await owner.publish(topic('TC'), '{"value":1}', { qos: 1, retain: true });
    await server.running.idle();
    await rename(204);
    await make(server, { as: 'owner', call: `PUT /devices/${d}/id`, text: `${d}-x`, expect: 204 });
    await server.restart();
    const filters = {
      former: [topic('TC')],
      present: [topic('north', `${d}-x`)],
      mixed: [topic('TC', `${d}-x`), topic('north')],
      wild: ['devices/+/sensors/+/value'],
    };
    const clients = new Map<string, Client>();
    for (const [name, of] of Object.entries(filters)) {
      const client = await Client.connect(server, 'owner');
      await client.subscribe(of);
      clients.set(name, client);
    }
    const heard = async () => {
      const all = await takeAll(server, ...(clients.values() as Iterable<Client>));
      return Object.fromEntries(
        [...clients.keys()].map((name, n) => [name, (all[n] ?? []).map((message) => message.topic).sort()]),
      );
    };
    const expected = {
      ...filters,
      mixed: filters.mixed.toSorted(),
      wild: [topic('north', `${d}-x`)],
    };
    assert.deepEqual(await heard(), expected, 'retained');
    const publisher = await Client.connect(server, 'owner');
    await publisher.publish(topic('TC'), '{"value":2}', { qos: 1 });
    assert.deepEqual(await heard(), expected);
    await publisher.publish(topic('north', `${d}-x`), '{"value":3}', { qos: 1 });
    assert.deepEqual(await heard(), expected);
    const { body } = await server.call('owner', 'GET', `/devices/${d}/sensors/TC/values`);
    assert.deepEqual(
      body.map(({ value }: { value: number }) => value),
      [1, 2, 3],
    );
  });
});

test('only the owner and admins give a sensor another id, without an API key', async () => {
  const scopes = ['device:view', 'device:update', 'device-data:view', 'device-data:create'];
  await make(server, { as: 'owner', call: `PUT /devices/${d}/shares/sharer`, json: { scopes }, expect: 204 });
  for (const as of ['guest', 'stranger', 'sharer'] as const) await rename(403, { as });
  const { body: key } = await server.call('owner', 'POST', '/auth/keys', { json: { name: 'k' } });
  const headers = { authorization: `Bearer ${key.key}` };
  await make(server, { call: `PUT /devices/${d}/sensors/TC/id`, text: 'north', headers, expect: 403 });
  await rename(204);
  for (const as of ['guest', 'stranger', 'sharer'] as const)
    await makeAll(server, [
      { as, call: `GET /devices/${d}/sensors/TC/former_ids`, expect: 403 },
      { as, call: `DELETE /devices/${d}/sensors/north/former_ids/TC`, expect: 403 },
    ]);
  await rename(204, { as: 'admin', id: 'TC', into: 'south' });
  await makeAll(server, [
    { as: 'owner', call: `PUT /devices/${d}/sensors/TC/id`, text: 'no id', expect: 400 },
    { as: 'owner', call: `PUT /devices/${d}/sensors/none/id`, text: 'x', expect: 404 },
    { as: 'owner', call: `PUT /devices/none/sensors/TC/id`, text: 'x', expect: 404 },
  ]);
});

test('who may change a device, but not view it, is not told its new id when a sensor is not moved', async () => {
  const [target, into] = [`${d}-target`, `${d}-secret`];
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: target }, expect: 204 });
  const json = { scopes: ['device:update'] };
  for (const id of [d, target])
    await make(server, { as: 'owner', call: `PUT /devices/${id}/shares/sharer`, json, expect: 204 });
  await make(server, { as: 'owner', call: `PUT /devices/${d}/id`, text: into, expect: 204 });
  const call = `PUT /devices/${d}/sensors/TC/device`;
  const { body } = await make(server, { as: 'sharer', call, text: target, expect: 403 });
  assert.ok(!JSON.stringify(body).includes(into), body.detail);
  assert.match(body.detail, /move sensors/);
});

test('rules go on naming a sensor as they do: they fire once for each datapoint, by whichever id it is pushed', async () => {
  const action = { usernames: ['owner'], channels: ['none'], message: '{TC}' };
  const add = async (name: string, extra = {}) =>
    (
      await make(server, {
        as: 'owner',
        call: 'POST /notifications',
        json: { condition: { devices: [d], sensors: [name], expression: `${name}>0` }, action, ...extra },
        expect: 200,
      })
    ).text;
  const sent = async (id: string) => {
    await server.running.idle();
    return (await server.call('owner', 'GET', `/notifications/${id}`)).body.times_sent;
  };
  const before = await add('TC');
  const edges = await add('TC', { hysteresis: 'TC<0' });
  const silence = await add('TC', { silence: 60 });
  await push('TC', 1);
  assert.deepEqual([await sent(before), await sent(edges)], [1, 1]);
  await rename(204);
  const later = await add('north');
  const both = (
    await make(server, {
      as: 'owner',
      call: 'POST /notifications',
      json: { condition: { devices: [d], sensors: ['TC', 'north'], expression: 'TC>0 && north>0' }, action },
      expect: 200,
    })
  ).text;
  await push('TC', 2);
  await push('north', 3);
  assert.deepEqual([await sent(before), await sent(edges), await sent(later), await sent(both)], [3, 1, 2, 2]);
  const silent = await sent(silence);
  server.clock.advance(61_000);
  assert.equal(await sent(silence), silent + 1, 'its silence is noticed');
  await server.restart();
  await push('north', -1);
  await push('TC', 4);
  assert.deepEqual([await sent(before), await sent(edges), await sent(later), await sent(both)], [4, 2, 3, 3]);
});

test('a sensor that a rule names by two ids is not silent by the one that it is not pushed under', async () => {
  await rename(204);
  const action = { usernames: ['owner'], channels: ['none'], message: '{id}' };
  const json = { condition: { devices: [d], sensors: ['TC', 'north'] }, action, silence: 60, recovery_message: 'back' };
  const rule = (await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 })).text;
  const sent = async () => {
    await server.running.idle();
    return (await server.call('owner', 'GET', `/notifications/${rule}`)).body.times_sent;
  };
  for (const name of ['TC', 'north', 'north', 'TC', 'TC']) {
    server.clock.advance(40_000);
    await push(name, 1);
    assert.equal(await sent(), 0);
  }
  server.clock.advance(61_000);
  assert.equal(await sent(), 1, 'its silence is noticed, once');
  // A change of the rule loads it again, with what it knows.
  await make(server, { as: 'owner', call: `PATCH /notifications/${rule}`, json: { description: 'x' }, expect: 204 });
  server.clock.advance(1_000);
  assert.equal(await sent(), 1, 'it is the same silence');
  await push('north', 1);
  const messages = async () =>
    (await server.call('owner', 'GET', '/socials')).body.map(({ message }: never) => message);
  await server.running.idle();
  assert.deepEqual((await messages()).filter((text: string) => text === 'back').length, 1);
});

test('a rule that comes to name a sensor by two ids notices a silence once', async () => {
  const action = { usernames: ['owner'], channels: ['none'], message: '{id}' };
  const json = { condition: { devices: [d], sensors: ['TC'] }, action, silence: 60 };
  const rule = (await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 })).text;
  const path = `/notifications/${rule}` as const;
  const sent = async () => {
    await server.running.idle();
    return (await server.call('owner', 'GET', path)).body.times_sent;
  };
  await push('TC', 1);
  await rename(204);
  const sensors = ['TC', 'north'];
  await make(server, { as: 'owner', call: `PATCH ${path}`, json: { condition: { sensors } }, expect: 204 });
  server.clock.advance(61_000);
  assert.equal(await sent(), 1);
  // Whichever of its ids it sends by, it is silent no longer by both.
  for (const name of ['TC', 'north']) {
    await push(name, 2);
    server.clock.advance(30_000);
    await sent();
    server.clock.advance(31_000);
  }
  assert.equal(await sent(), 3);
  await server.restart();
  assert.equal(await sent(), 3);
});

test('a dry run of a rule that names a sensor by two ids sees each datapoint once', async () => {
  for (let n = 0; n < 3; n++) {
    await push('TC', n);
    server.clock.advance(100_000);
  }
  await rename(204);
  const action = { usernames: ['owner'], channels: ['none'], message: '{id}' };
  const run = async (condition: object, extra: object = {}) => {
    const json = { condition: { devices: [d], ...condition }, action, ...extra };
    return (await make(server, { as: 'owner', call: 'POST /notifications/test', json, expect: 200 })).body;
  };
  const both = await run({ sensors: ['TC', 'north'] }, { silence: 60 });
  const one = await run({ sensors: ['north'] }, { silence: 60 });
  assert.deepEqual([both.firings.length, both.datapoints], [one.firings.length, one.datapoints]);
  const held = await run({ sensors: ['TC', 'north'], expression: 'TC>0 && north>0' });
  assert.equal(held.firings.length, 2);
});

test('pushes that are under way while ids change are all stored, each once', async () => {
  const writing = Promise.all(Array.from({ length: 200 }, async (_, n) => push('TC', n)));
  for (const into of ['one', 'two', 'TC']) await rename(204, { id: 'TC', into });
  await writing;
  const { body } = await server.call('owner', 'GET', `/devices/${d}/sensors/TC/values?limit=1000`);
  assert.deepEqual(
    body.map(({ value }: { value: number }) => value).sort((a: number, b: number) => a - b),
    Array.from({ length: 200 }, (_, n) => n),
  );
});
