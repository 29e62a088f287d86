// Delivery to subscribers: the payload as published, once for each form of the topic, with the granted QoS, in the
// order of commits, whether it came over HTTP or MQTT and whatever else happens to the device (contract 8; I2, I3).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client, type Received, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let publisher: Client;

before(async () => {
  server = await TestServer.start();
  publisher = await Client.connect(server, 'owner');
});
after(() => server.stop());

suite('each message once for each form', () => {
  const bare = 'devices/ID/sensors/s1/value';
  const slash = `/${bare}`;
  const rows: { filters: string[]; gets: string[] }[] = [
    { filters: [bare], gets: [bare] },
    { filters: [slash], gets: [slash] },
    { filters: ['#'], gets: [bare] },
    { filters: ['/#'], gets: [slash] },
    { filters: ['devices/#'], gets: [bare] },
    { filters: ['devices/+/sensors/+/value'], gets: [bare] },
    { filters: ['+/devices/ID/sensors/s1/value'], gets: [slash] },
    { filters: ['+/devices/#'], gets: [slash] },
    { filters: ['+/#'], gets: [slash] },
    { filters: ['+/+/sensors/+/value'], gets: [] },
    { filters: ['/+/ID/#'], gets: [slash] },
    { filters: ['#', '/#'], gets: [bare, slash] },
    { filters: ['#', 'devices/#', bare, 'devices/+/sensors/s1/value'], gets: [bare] },
    { filters: ['/#', '+/#', slash, '/devices/ID/#', '+/devices/ID/sensors/s1/+'], gets: [slash] },
    { filters: [bare, slash, '#', '/#', '+/#'], gets: [bare, slash] },
    { filters: ['devices/ID/sensors/s1/values'], gets: [] },
    { filters: ['devices/ID/sensors/s1/value/#'], gets: [bare] },
    { filters: ['devices/ID/sensors/s1/+'], gets: [bare] },
    { filters: ['devices/ID/sensors/+'], gets: [] },
    { filters: ['+'], gets: [] },
    { filters: ['//#'], gets: [] },
    { filters: ['$share/group/#', '$share/group/devices/#', '$SYS/#', '$queue/#'], gets: [] },
  ];
  for (const { filters, gets } of rows) {
    test(`${filters.join(' and ')}: ${gets.join(' and ') || 'nothing'}`, async () => {
      const id = await makeDevice();
      const topicsOf = (list: string[]) => list.map((topic) => topic.replace('ID', id));
      for (const qos of [0, 1, 2] as const) {
        const subscriber = await Client.connect(server, 'stranger');
        await subscriber.subscribe(topicsOf(filters), qos);
        await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 1 }, { qos: 0 });
        await publisher.publish(`/devices/${id}/sensors/s1/value`, { value: 2 }, { qos: 1 });
        await server.call('owner', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 3 } });
        const expected = topicsOf(gets).flatMap((topic) => [1, 2, 3].map((value) => ({ topic, value })));
        assert.deepEqual(sorted(await takeFrom(subscriber)), sorted(expected));
        await subscriber.end();
      }
    });
  }
});

suite('the way of a value', () => {
  const at = '2026-01-02T03:04:05Z';
  const path = '/devices/ID/sensors/s1/values';
  const rows: Record<
    string,
    { push: (id: string) => Promise<unknown>; payloads: string[]; leaf?: string; qos?: number }
  > = {
    'one value by REST': {
      push: (id) => post(id, path, { json: { value: 1 } }),
      payloads: ['{"value":1}'],
    },
    'with a timestamp, whatever the order of the keys': {
      push: (id) => post(id, path, { json: { timestamp: '2026-01-02T04:04:05+01:00', unit: 'K', value: [1] } }),
      payloads: [`{"value":[1],"timestamp":"${at}"}`],
    },
    'text by REST': { push: (id) => post(id, path, { text: 'warm "ü"' }), payloads: ['{"value":"warm \\"ü\\""}'] },
    'an array by REST, value by value': {
      push: (id) => post(id, path, { json: [{ value: 1 }, { value: null, timestamp: at }, { value: { a: 'b' } }] }),
      payloads: ['{"value":1}', `{"value":null,"timestamp":"${at}"}`, '{"value":{"a":"b"}}'],
    },
    'an empty array by REST': { push: (id) => post(id, path, { json: [] }), payloads: [] },
    'one value by MQTT, byte by byte': {
      push: (id) => publisher.publish(`devices/${id}/sensors/s1/value`, ' {"x":0, "value":1.50} ', { qos: 2 }),
      payloads: [' {"x":0, "value":1.50} '],
      qos: 2,
    },
    'an array by MQTT, byte by byte': {
      push: (id) => publisher.publish(`/devices/${id}/sensors/s1/values`, '[ {"value":1}, {"value":2} ]', { qos: 1 }),
      payloads: ['[ {"value":1}, {"value":2} ]'],
      leaf: 'values',
      qos: 1,
    },
    'an actuator by REST, its raw JSON': {
      push: (id) => server.call('owner', 'PUT', `/devices/${id}/actuators/a1/value`, { json: { open: true } }),
      payloads: ['{"open":true}'],
      leaf: 'actuator',
    },
  };
  for (const [name, { push, payloads, leaf = 'value', qos = 0 }] of Object.entries(rows)) {
    test(name, async () => {
      const id = await makeDevice();
      const [plain, other] = await Promise.all([Client.connect(server, 'guest'), Client.connect(server, 'stranger')]);
      await plain.subscribe(`devices/${id}/#`, 2);
      await other.subscribe(`/devices/${id}/#`, 2);
      await push(id);
      const topic = `devices/${id}/${leaf === 'actuator' ? 'actuators/a1/value' : `sensors/s1/${leaf}`}`;
      const messages = payloads.map((payload) => ({ topic, payload, qos, retain: false, dup: false }));
      const slashed = messages.map((message) => ({ ...message, topic: `/${topic}` }));
      if (qos === 2) assert.deepEqual([await plain.take(1), await other.take(1)], [messages, slashed]);
      else assert.deepEqual(await takeAll(server, plain, other), [messages, slashed]);
      assert.deepEqual(await takeAll(server, plain, other), [[], []]);
    });
  }

  test('who publishes gets it too, as it was published', async () => {
    const id = await makeDevice();
    const both = await Client.connect(server, 'stranger');
    await both.subscribe(`/devices/${id}/#`, 1);
    await both.publish(`devices/${id}/sensors/s1/value`, ' {"value":1}', { qos: 1 });
    assert.deepEqual(await takeAll(server, both), [
      [{ topic: `/devices/${id}/sensors/s1/value`, payload: ' {"value":1}', qos: 1, retain: false, dup: false }],
    ]);
  });
});

suite('the QoS of a delivery', () => {
  for (const clean of [true, false]) {
    test(`is the lower of publish and subscription, by exact filter and wildcard, clean ${clean}`, async () => {
      for (const filter of ['devices/ID/sensors/s1/value', 'devices/ID/#', '/devices/+/sensors/+/value']) {
        const id = await makeDevice();
        for (const granted of [0, 1, 2] as const) {
          const subscriber = await Client.connect(server, 'owner', { clean });
          await subscriber.subscribe(filter.replace('ID', id), granted);
          for (const qos of [0, 1, 2] as const) {
            await publisher.publish(`devices/${id}/sensors/s1/value`, { value: qos }, { qos });
            const [message] = await subscriber.take(1);
            assert.equal(message?.qos, Math.min(qos, granted), `${qos} to ${granted}`);
          }
          assert.deepEqual(await takeAll(server, subscriber), [[]]);
          await subscriber.end();
        }
      }
    });

    test(`is the highest of overlapping filters, clean ${clean}`, async () => {
      const id = await makeDevice();
      for (const order of [
        [0, 1, 2],
        [2, 1, 0],
        [1, 0, 2],
      ] as const) {
        const subscriber = await Client.connect(server, 'owner', { clean });
        const filters = ['#', `devices/${id}/#`, `devices/${id}/sensors/s1/value`];
        for (const [index, filter] of filters.entries()) await subscriber.subscribe(filter, order[index]);
        await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 1 }, { qos: 2 });
        const [message] = await subscriber.take(1);
        assert.equal(message?.qos, 2);
        assert.deepEqual(await takeAll(server, subscriber), [[]]);
        await subscriber.end();
      }
    });
  }

  test('follows a filter that is asked for anew', async () => {
    const id = await makeDevice();
    const subscriber = await Client.connect(server, 'owner', { clean: false, clientId: 'anew' });
    for (const qos of [2, 0, 1] as const) {
      await subscriber.subscribe(`devices/${id}/#`, qos);
      await publisher.publish(`devices/${id}/sensors/s1/value`, { value: qos }, { qos: 2 });
      assert.equal((await subscriber.take(1))[0]?.qos, qos);
    }
    await subscriber.unsubscribe(`devices/${id}/#`);
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 3 }, { qos: 2 });
    assert.deepEqual(await takeAll(server, subscriber), [[]]);
  });
});

suite('the order', () => {
  test('of one sensor is that of the commits, for all who subscribed, through all doors at once', async () => {
    const id = await makeDevice();
    const topic = `devices/${id}/sensors/s1/value`;
    const subscribers = await Promise.all(
      [0, 1, 2].flatMap((qos) => [true, false].map((clean) => subscribeRaw(topic, { qos: qos as 0 | 1 | 2, clean }))),
    );
    const pushes = Array.from({ length: 240 }, (_, value) => {
      if (value % 4 === 3) return post(id, '/devices/ID/sensors/s1/value', { json: { value } });
      return publisher.publish(topic, { value }, { qos: (value % 4) as 0 | 1 | 2, retain: value % 8 === 1 });
    });
    await Promise.all(pushes);
    await publisher.roundTrip();
    await server.running.idle();
    const stored = await server.call('owner', 'GET', `/devices/${id}/sensors/s1/values?limit=1000`);
    const values = stored.body.map((point: { value: number }) => point.value);
    assert.equal(values.length, 240);
    for (const subscriber of subscribers) {
      await subscriber.roundTrip();
      const seen = subscriber.takePublishes().map(({ payload }) => JSON.parse(payload.toString()).value);
      // A message of QoS 2 to a stored session waits for the disk; the order of messages of one QoS is kept.
      const ranks = new Map(values.map((value: number, rank: number) => [value, rank]));
      for (const qos of [0, 1, 2]) {
        const ofQos = seen.filter((value: number) => value % 4 === qos).map((value: number) => ranks.get(value));
        assert.deepEqual(
          ofQos,
          [...ofQos].sort((a, b) => Number(a) - Number(b)),
        );
      }
      assert.equal(seen.length, 240);
      if (subscriber === subscribers[0]) assert.deepEqual(seen, values);
    }
  });

  test('holds over packets that arrive in one piece, thousands of them', async () => {
    const id = await makeDevice();
    const subscriber = await subscribeRaw(`/devices/${id}/sensors/s1/value`, { qos: 1, clean: true });
    const sender = await RawClient.connect(server, 'owner', { clientId: 'in-one-piece' });
    const topic = `devices/${id}/sensors/s1/value`;
    sender.send(
      ...Array.from({ length: 5000 }, (_, value) => ({
        ...{ cmd: 'publish' as const, topic, payload: `{"value":${value}}`, retain: false, dup: false },
        ...(value % 2 === 0 ? { qos: 0 as const } : { qos: 1 as const, messageId: value }),
      })),
    );
    for (let value = 1; value < 5000; value += 2) assert.equal((await sender.next('puback')).messageId, value);
    await server.running.idle();
    await subscriber.roundTrip();
    const seen = subscriber.takePublishes().map(({ payload }) => JSON.parse(payload.toString()).value);
    assert.deepEqual(
      seen,
      Array.from({ length: 5000 }, (_, value) => value),
    );
  });
});

test('no message is lost because the device changes meanwhile', async () => {
  const id = await makeDevice('private');
  const topic = `devices/${id}/sensors/s1/value`;
  const subscribers = await Promise.all([true, false].map((clean) => subscribeRaw(topic, { qos: 1, clean })));
  const work: Promise<unknown>[] = [];
  for (let value = 0; value < 200; value++) {
    work.push(publisher.publish(topic, { value }, { qos: 1 }));
    work.push(publisher.publish(`devices/${id}/actuators/a1/value`, value, { qos: 1 }));
    if (value % 5 === 0) work.push(server.call('owner', 'PUT', `/devices/${id}/name`, { text: `name ${value}` }));
    if (value % 10 === 0) await Promise.all(work.splice(0));
  }
  await Promise.all(work);
  await server.running.idle();
  for (const subscriber of subscribers) {
    await subscriber.roundTrip();
    assert.equal(subscriber.takePublishes().length, 200);
  }
});

test('settings of an actuator arrive in the order in which they were stored', async () => {
  const id = await makeDevice();
  const subscriber = await subscribeRaw(`devices/${id}/actuators/#`, { qos: 0, clean: true });
  const set = (value: number) =>
    value % 2 === 0
      ? publisher.publish(`devices/${id}/actuators/a1/value`, value, { qos: 1 })
      : server.call('owner', 'PUT', `/devices/${id}/actuators/a1/value`, { json: value });
  await Promise.all(Array.from({ length: 50 }, (_, value) => set(value)));
  await server.running.idle();
  await subscriber.roundTrip();
  const seen = subscriber.takePublishes().map(({ payload }) => JSON.parse(payload.toString()));
  assert.equal(seen.length, 50);
  const stored = await server.call('owner', 'GET', `/devices/${id}/actuators/a1`);
  assert.equal(seen.at(-1), stored.body.value);
});

let devices = 0;

async function makeDevice(visibility = 'public'): Promise<string> {
  const id = `delivery-${++devices}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  return id;
}

function post(id: string, path: string, carries: { json?: unknown; text?: string }): Promise<unknown> {
  return server.call('owner', 'POST', path.replace('ID', id), carries);
}

async function subscribeRaw(topic: string, { qos, clean }: { qos: 0 | 1 | 2; clean: boolean }): Promise<RawClient> {
  const client = await RawClient.connect(server, 'owner', { clean, clientId: `raw-${++devices}` });
  client.acknowledges = true;
  await client.subscribe(topic, qos);
  return client;
}

async function takeFrom(client: Client): Promise<{ topic: string; value: unknown }[]> {
  const [messages = []] = await takeAll(server, client);
  return messages.map(({ topic, payload }: Received) => ({ topic, value: JSON.parse(payload).value }));
}

function sorted(list: readonly { topic: string; value: unknown }[]): string[] {
  return list.map(({ topic, value }) => `${topic} ${value}`).sort();
}
