// Setting actuators over MQTT: only users with the right may, the value type is checked, and the stored value is
// delivered as it was published (contract 4 and 8; I1, I2, I6).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { valueTypes } from '../../../src/domain/devices/actuator.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let as: Record<string, Client>;
/** Sees everything, in both forms. */
let witness: Client;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
  as = Object.fromEntries(
    await Promise.all(everybody.map(async (name) => [name, await Client.connect(server, name)] as const)),
  );
  witness = await Client.connect(server, 'admin');
  await witness.subscribe(['#', '/#']);
});
after(() => server.stop());

suite('who may set an actuator', () => {
  const may = ['updater', 'pusher', 'owner', 'admin'];
  for (const visibility of ['private', 'public']) {
    test(`of a ${visibility} device: ${may.join(' ')}`, async () => {
      const id = await makeDevice({ visibility });
      const dropped: string[] = [];
      for (const qos of [0, 1, 2] as const) {
        for (const slash of ['', '/']) {
          for (const name of everybody) {
            const before = await rowsButDrops();
            const value = `${name}, QoS ${qos}, ${slash}`;
            await as[name]?.publish(`${slash}devices/${id}/actuators/a1/value`, JSON.stringify(value), { qos });
            await as[name]?.roundTrip();
            const seen = (await takeAll(server, witness))[0]?.map(({ topic, payload }) => [topic, JSON.parse(payload)]);
            if (may.includes(name)) {
              assert.deepEqual(seen, [
                [`devices/${id}/actuators/a1/value`, value],
                [`/devices/${id}/actuators/a1/value`, value],
              ]);
              assert.equal(await readValue(id), value);
            } else {
              assert.deepEqual(seen, []);
              assert.deepEqual(await rowsButDrops(), before);
              dropped.push(name);
            }
          }
        }
      }
      const drops = await readDrops(id);
      assert.deepEqual(drops.map(({ username }) => username).reverse(), dropped);
      for (const { reason } of drops) assert.match(reason, /devices:update, or devices-data:create/);
    });
  }
});

suite('the value', () => {
  const payloads = {
    string: '"open"',
    number: ' 1.5',
    bool: 'true',
    null: 'null',
    object: '{"a": [1]}',
    array: '[1,{}]',
  };
  for (const type of [...valueTypes, undefined]) {
    test(`of an actuator of ${type ?? 'no value type'}`, async () => {
      const id = await makeDevice({ value_type: type });
      for (const payload of Object.values(payloads)) {
        await as['owner']?.publish(`devices/${id}/actuators/a1/value`, payload, { qos: 1 });
        const seen = (await takeAll(server, witness))[0]?.map((message) => message.payload);
        assert.deepEqual(seen, [payload, payload]);
        assert.deepEqual(await readValue(id), JSON.parse(payload));
      }
      assert.deepEqual(await readDrops(id), []);
    });
  }

  test('is one JSON text, clean and not too large; anything else changes nothing', async () => {
    const id = await makeDevice({});
    await as['owner']?.publish(`devices/${id}/actuators/a1/value`, '"closed"', { qos: 1 });
    await takeAll(server, witness);
    const before = await rowsButDrops();
    const bad = [
      ...['', 'open', '{"value":', '1 2', '1e400', '"\\u0000"', '"\\ud800"', '{"__proto__":{}}', '[{"a":NaN}]'],
      ...[`"${'x'.repeat(limits.valueBytesMax)}"`, '['.repeat(40) + ']'.repeat(40), Buffer.from([0x22, 0xff, 0x22])],
    ];
    for (const qos of [0, 1, 2] as const) {
      for (const payload of bad) await as['owner']?.publish(`devices/${id}/actuators/a1/value`, payload, { qos });
    }
    await as['owner']?.roundTrip();
    assert.deepEqual(await takeAll(server, witness), [[]]);
    assert.deepEqual(await rowsButDrops(), before);
    assert.equal((await readDrops(id)).length, bad.length * 3);
  });

  test('goes to no other topic of the actuator', async () => {
    const id = await makeDevice({});
    const before = await rowsButDrops();
    for (const leaf of ['a1', 'a1/values', 'a1/value/', 'a1/name', 'a2/value', '/value', 's1/value']) {
      await as['owner']?.publish(`devices/${id}/actuators/${leaf}`, '1', { qos: 1, retain: true });
    }
    assert.deepEqual(await takeAll(server, witness), [[]]);
    assert.deepEqual(await rowsButDrops(), before);
    const told = (await readDrops(id)).map(({ reason }) => /no actuator (\w+)/.exec(reason)?.[1]);
    assert.deepEqual(told, ['s1', 'a2']);
  });

  test('is the same by REST and by MQTT: rows alike, and everybody is told', async () => {
    const ids = [await makeDevice({}), await makeDevice({})] as const;
    await as['owner']?.publish(`devices/${ids[0]}/actuators/a1/value`, '{"b":1,"a":[null]}', { qos: 1 });
    await server.call('owner', 'PUT', `/devices/${ids[1]}/actuators/a1/value`, { json: { b: 1, a: [null] } });
    const rows = await server.rows();
    const actuators = rows['actuator'] as { value: string }[];
    assert.equal(actuators.at(-1)?.value, actuators.at(-2)?.value);
    const [seen = []] = await takeAll(server, witness);
    assert.deepEqual(new Set(seen.map(({ payload }) => payload)), new Set(['{"b":1,"a":[null]}']));
    assert.equal(seen.length, 4);
  });
});

suite('a value that comes with the description', () => {
  test('reaches the device as any other, and a description without one sends nothing', async () => {
    const id = await makeDevice({});
    const post = (json: object) =>
      server.call('owner', 'POST', `/devices/${id}/actuators`, { json: { id: 'a1', ...json } });
    assert.equal((await post({ name: 'Valve' })).status, 204);
    assert.deepEqual(await takeAll(server, witness), [[]]);
    assert.equal((await post({ name: 'Valve', value: { on: [null] } })).status, 204);
    const [seen = []] = await takeAll(server, witness);
    assert.deepEqual(
      seen.map(({ topic, payload }) => [topic, payload]),
      [
        [`devices/${id}/actuators/a1/value`, '{"on":[null]}'],
        [`/devices/${id}/actuators/a1/value`, '{"on":[null]}'],
      ],
    );
  });
});

let devices = 0;

async function makeDevice(options: { visibility?: string; value_type?: string | undefined }): Promise<string> {
  const { visibility = 'private', value_type } = options;
  const id = `actuators-${++devices}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1', value_type }] };
  const { status } = await server.call('owner', 'POST', '/devices', { json: device });
  assert.equal(status, 204);
  await shareWithAll(server, id);
  return id;
}

async function readValue(id: string): Promise<unknown> {
  return (await server.call('owner', 'GET', `/devices/${id}/actuators/a1`)).body.value;
}

test('a message longer than a request may be is dropped before it is parsed, and the owner sees why', async () => {
  const id = await makeDevice({ visibility: 'public' });
  const payload = `${' '.repeat(limits.smallBodyBytesMax)}true`;
  await as['owner']?.publish(`devices/${id}/actuators/a1/value`, payload, { qos: 1 });
  const [drop] = await readDrops(id);
  assert.match(drop?.reason ?? '', /takes 1048576 bytes, not 1048580/);
});

async function readDrops(id: string): Promise<{ topic: string; username: string; reason: string }[]> {
  await server.running.idle();
  return (await server.call('owner', 'GET', `/devices/${id}/drops`)).body;
}

async function rowsButDrops() {
  const { drop_log: _, ...rows } = await server.rows();
  return rows;
}
