// Publishing to sensors over MQTT: who may, what is stored, and that everything else is acknowledged, stores no row
// and appears only in the drop log of the device's owner (contract 4, 5 and 8; I1, I2, I6).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
/** A connection for each of everybody. */
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

suite('who may publish to a sensor', () => {
  const everyone = everybody.join(' ');
  for (const [visibility, may] of Object.entries({ private: 'pusher owner admin', public: everyone })) {
    test(`of a ${visibility} device: ${may}`, async () => {
      const id = await makeDevice({ visibility });
      const stored: string[] = [];
      const dropped: string[] = [];
      for (const qos of [0, 1, 2] as const) {
        for (const slash of ['', '/']) {
          for (const name of everybody) {
            const value = `${name}, QoS ${qos}, ${slash}`;
            await as[name]?.publish(`${slash}devices/${id}/sensors/s1/value`, { value }, { qos });
            await as[name]?.roundTrip();
            if (may.split(' ').includes(name)) stored.push(value);
            else dropped.push(name);
          }
        }
      }
      assert.deepEqual(await readValues(id), stored);
      const seen = await takeAll(server, witness);
      for (const slash of ['', '/']) {
        const form = seen[0]?.filter(({ topic }) => topic === `${slash}devices/${id}/sensors/s1/value`) ?? [];
        assert.deepEqual(form.map(({ payload }) => JSON.parse(payload).value).sort(), [...stored].sort());
      }
      assert.equal(seen[0]?.length, stored.length * 2);
      const drops = await readDrops(id);
      assert.deepEqual(drops.map(({ username }) => username).reverse(), dropped);
      for (const { reason } of drops) assert.match(reason, /devices-data:create/);
    });
  }

  test('a share that ends takes the right along at once', async () => {
    const id = await makeDevice({ visibility: 'private' });
    const topic = `devices/${id}/sensors/s1/value`;
    await as['pusher']?.publish(topic, { value: 1 }, { qos: 1 });
    await server.call('owner', 'DELETE', `/devices/${id}/shares/pusher`);
    await as['pusher']?.publish(topic, { value: 2 }, { qos: 1 });
    await server.call('owner', 'PUT', `/devices/${id}/shares/stranger`, { json: { scopes: ['device-data:create'] } });
    await as['stranger']?.publish(topic, { value: 3 }, { qos: 1 });
    await server.call('owner', 'PUT', `/devices/${id}/owner`, { text: 'viewer' });
    await as['owner']?.publish(topic, { value: 4 }, { qos: 1 });
    await as['viewer']?.publish(topic, { value: 5 }, { qos: 1 });
    assert.deepEqual(await readValues(id, 'admin'), [1, 3, 5]);
    const [seen = []] = await takeAll(server, witness);
    assert.deepEqual(
      seen.map(({ payload }) => JSON.parse(payload).value),
      [1, 1, 3, 3, 5, 5],
    );
  });
});

suite('what microcontrollers send', () => {
  const good: readonly (readonly [payload: string, value: string])[] = [
    ['23.5', '23.5'],
    [' -0.25\r\n', '-0.25'],
    ['1e3', '1e3'],
    ['12345678901234567890', '12345678901234567890'],
    ['7\0', '7'],
    ['8 \0\0', '8'],
    ['{"value":9}\0', '9'],
    ['{"value":"x"}\0\0', '"x"'],
  ];
  const bad = [
    '',
    '01',
    '.5',
    '5.',
    '+5',
    '0x10',
    'NaN',
    '1 2',
    '1,5',
    '5\0 5',
    '\0',
    '"5"',
    'true',
    '1e400',
    `1${'0'.repeat(2000)}`,
  ];

  for (const qos of [0, 1, 2] as const) {
    test(`a bare number is a value, and NULs behind a payload are none of it, with QoS ${qos}`, async () => {
      const id = await makeDevice({ visibility: 'private' });
      await server.call('owner', 'GET', `/devices/${id}/sensors/s1`);
      const topic = `devices/${id}/sensors/s1/value`;
      for (const [payload] of good) await as['owner']?.publish(topic, payload, { qos });
      for (const payload of bad) await as['owner']?.publish(topic, payload, { qos });
      for (const [payload] of good) await as['owner']?.publish(`${topic}s`, payload.replace('{', '[{'), { qos });
      await as['owner']?.roundTrip();
      await server.running.idle();
      const { text } = await server.call('owner', 'GET', `/devices/${id}/sensors/s1/values`);
      const stored = [...text.matchAll(/"value":("x"|[^,}]+)/g)].map(([, value]) => value);
      assert.deepEqual(
        stored.map(Number),
        good.map(([, value]) => Number(value)),
      );
      assert.ok(text.includes('12345678901234567890'));
      // Subscribers get the form that they expect; what was sent as it was otherwise.
      const [seen = []] = await takeAll(server, witness);
      const payloads = good.map(([payload, value]) => (payload.startsWith('{') ? payload : `{"value":${value}}`));
      assert.deepEqual(seen.map(({ payload }) => payload), payloads.flatMap((payload) => [payload, payload])); // biome-ignore format: one line
      assert.equal((await readDrops(id)).length, bad.length + good.length);
    });
  }
});

suite('what is stored', () => {
  const at = '2026-01-02T03:04:05.678Z';
  const rows: Record<string, { to?: 'values'; payload: string; stored: { value: unknown; timestamp?: string }[] }> = {
    'a number': { payload: '{"value":21.5}', stored: [{ value: 21.5 }] },
    'a string': { payload: '{"value":"warm"}', stored: [{ value: 'warm' }] },
    'null, which is a value': { payload: '{"value":null}', stored: [{ value: null }] },
    'a boolean': { payload: '{"value":false}', stored: [{ value: false }] },
    'an object': { payload: '{"value":{"b":[1,{"a":null}]}}', stored: [{ value: { b: [1, { a: null }] } }] },
    'an array as a value': { payload: '{"value":[1,2,[]]}', stored: [{ value: [1, 2, []] }] },
    'a timestamp': { payload: `{"value":1,"timestamp":"${at}"}`, stored: [{ value: 1, timestamp: at }] },
    'a timestamp with an offset': {
      payload: '{"timestamp":"2026-01-02T04:04:05.678+01:00","value":1}',
      stored: [{ value: 1, timestamp: at }],
    },
    'a null timestamp, which is none': { payload: '{"value":1,"timestamp":null}', stored: [{ value: 1 }] },
    'unknown fields and date_received, ignored': {
      payload: '{"value":1,"date_received":"2001-01-01T00:00:00Z","unit":"K"}',
      stored: [{ value: 1 }],
    },
    'odd spacing and signs beyond ASCII': { payload: ' {\n"value" :\t"ü€😀"} ', stored: [{ value: 'ü€😀' }] },
    'one object to …/values': { to: 'values', payload: '{"value":7}', stored: [{ value: 7 }] },
    'an array to …/values': {
      to: 'values',
      payload: `[{"value":1},\n{"value":"two","timestamp":"${at}"},{"value":null}]`,
      stored: [{ value: 'two', timestamp: at }, { value: 1 }, { value: null }],
    },
    'nothing of an empty array': { to: 'values', payload: '[]', stored: [] },
  };
  for (const [name, { to = 'value', payload, stored }] of Object.entries(rows)) {
    test(`${name}`, async () => {
      const id = await makeDevice({ visibility: 'private' });
      for (const qos of [0, 1, 2] as const)
        await as['owner']?.publish(`/devices/${id}/sensors/s1/${to}`, payload, { qos });
      await as['owner']?.roundTrip();
      const read = await server.call('owner', 'GET', `/devices/${id}/sensors/s1/values`);
      const received = '2026-01-15T12:00:00Z';
      const thrice = [...stored, ...stored, ...stored].map((point) => ({ ...point, date_received: received }));
      const order = (list: { timestamp?: string }[]) =>
        list.sort((a, b) => (a.timestamp ?? received).localeCompare(b.timestamp ?? received));
      assert.deepEqual(order(read.body), order(thrice));
      const seen = (await takeAll(server, witness))[0] ?? [];
      // As it was published, byte by byte, in both forms; what stores nothing reaches nobody.
      const times = stored.length === 0 ? 0 : 6;
      assert.deepEqual(
        seen.map((message) => message.payload),
        Array(times).fill(payload),
      );
      assert.deepEqual(await readDrops(id), []);
    });
  }
});

suite('what is dropped', () => {
  const deep = `${'['.repeat(40)}${']'.repeat(40)}`;
  const rows: Record<string, { to?: string; payload: string | Buffer; reason: RegExp }> = {
    'an empty payload': { payload: '', reason: /JSON/ },
    'no JSON': { payload: 'warm', reason: /JSON/ },
    'half a JSON': { payload: '{"value":', reason: /JSON/ },
    'two JSON texts': { payload: '{"value":1}{"value":2}', reason: /JSON/ },
    'a bare number where an array may be': { to: 'values', payload: '21.5', reason: /object/ },
    'a bare null': { payload: 'null', reason: /object/ },
    'an object without a value': { payload: '{"timestamp":"2026-01-01T00:00:00Z"}', reason: /value/ },
    'a value under another case': { payload: '{"Value":1}', reason: /value/ },
    'a timestamp that is none': { payload: '{"value":1,"timestamp":"yesterday"}', reason: /timestamp/ },
    'a timestamp as a number': { payload: '{"value":1,"timestamp":1751980000}', reason: /timestamp/ },
    'an array to …/value': { payload: '[{"value":1}]', reason: /values/ },
    'an array with one bad member': { to: 'values', payload: '[{"value":1},{"value":2},3]', reason: /\/2/ },
    'an array in an array': { to: 'values', payload: '[[{"value":1}]]', reason: /\/0/ },
    'a NUL as it is': { payload: '{"value":"a\0b"}', reason: /JSON/ },
    'a NUL escaped': { payload: '{"value":"a\\u0000b"}', reason: /NUL/ },
    'a NUL in a key': { payload: '{"value":{"\\u0000":1}}', reason: /NUL/ },
    'half a surrogate pair': { payload: '{"value":"\\ud800"}', reason: /surrogate/ },
    'the other half, in a key': { payload: '{"value":{"\\udc00":1}}', reason: /surrogate/ },
    'bytes that are not UTF-8': { payload: Buffer.from('7b2276616c7565223a22ff227d', 'hex'), reason: /UTF-8/ },
    'UTF-16': { payload: Buffer.from('{"value":1}', 'utf16le'), reason: /JSON/ },
    'a key __proto__': { payload: '{"value":{"__proto__":{"admin":true}}}', reason: /names __proto__/ },
    '__proto__ beside the value': { payload: '{"value":1,"__proto__":{"value":2}}', reason: /names __proto__/ },
    'constructor.prototype': { payload: '{"value":{"constructor":{"prototype":{}}}}', reason: /names __proto__/ },
    'a number beyond doubles': { payload: '{"value":1e400}', reason: /too large/ },
    'one deep inside': { payload: '{"value":{"a":[-1e999]}}', reason: /too large/ },
    'a value nested too deeply': { payload: `{"value":${deep}}`, reason: /nested/ },
    'a value that is too large': { payload: `{"value":"${'x'.repeat(limits.valueBytesMax)}"}`, reason: /bytes/ },
    'too many datapoints': {
      to: 'values',
      payload: `[${'{"value":1},'.repeat(limits.pushDatapointsMax)}{"value":1}]`,
      reason: /30000 datapoints/,
    },
  };
  for (const [name, { to = 'value', payload, reason }] of Object.entries(rows)) {
    test(name, async () => {
      const id = await makeDevice({ visibility: 'private' });
      const before = await rowsButDrops();
      for (const qos of [0, 1, 2] as const)
        await as['owner']?.publish(`devices/${id}/sensors/s1/${to}`, payload, { qos });
      await as['owner']?.roundTrip();
      assert.deepEqual(await takeAll(server, witness), [[]]);
      assert.deepEqual(await rowsButDrops(), before);
      const drops = await readDrops(id);
      assert.equal(drops.length, 3);
      for (const drop of drops) {
        assert.match(drop.reason, reason);
        assert.equal(drop.topic, `devices/${id}/sensors/s1/${to}`);
        assert.equal(drop.username, 'owner');
      }
    });
  }

  const topics = {
    'an unknown device': 'devices/nowhere/sensors/s1/value',
    'an unknown sensor': 'devices/ID/sensors/s2/value',
    'an actuator under sensors': 'devices/ID/sensors/a1/value',
    'another case': 'Devices/ID/sensors/s1/value',
    'a slash at the end': 'devices/ID/sensors/s1/value/',
    'two slashes in front': '//devices/ID/sensors/s1/value',
    'no leaf': 'devices/ID/sensors/s1',
    'another leaf': 'devices/ID/sensors/s1/last_value',
    'an empty sensor': 'devices/ID/sensors//value',
    'an empty device': 'devices//sensors/s1/value',
    'names of every object': 'devices/constructor/sensors/__proto__/value',
    'a topic of the server': '$SYS/devices/ID/sensors/s1/value',
    'nobody’s topic': 'anything/else',
  };
  test(`a topic that is nobody's: ${Object.keys(topics).join(', ')}`, async () => {
    const id = await makeDevice({ visibility: 'public' });
    const before = await rowsButDrops();
    const published = Object.values(topics).map((topic) => topic.replace('ID', id));
    for (const topic of published) {
      for (const qos of [0, 1, 2] as const) await as['owner']?.publish(topic, { value: 1 }, { qos, retain: true });
    }
    await as['owner']?.roundTrip();
    assert.deepEqual(await takeAll(server, witness), [[]]);
    assert.deepEqual(await rowsButDrops(), before);
    const told = new Set((await readDrops(id)).map(({ topic }) => topic));
    const known = [topics['an unknown sensor'], topics['an actuator under sensors']];
    assert.deepEqual(told, new Set(known.map((topic) => topic.replace('ID', id))));
  });

  test('the latest hundred are kept, newest first, for the owner and admins alone', async () => {
    const id = await makeDevice({ visibility: 'public' });
    for (let n = 0; n < limits.dropsPerDeviceMax + 20; n++) {
      server.clock.advance(1);
      await as['stranger']?.publish(`devices/${id}/sensors/s${n + 2}/value`, { value: 1 }, { qos: 1 });
    }
    const drops = await readDrops(id);
    assert.equal(drops.length, limits.dropsPerDeviceMax);
    assert.deepEqual(
      drops.map(({ topic }) => Number(/sensors\/s(\d+)/.exec(topic)?.[1])),
      Array.from({ length: limits.dropsPerDeviceMax }, (_, n) => limits.dropsPerDeviceMax + 21 - n),
    );
    for (const name of ['guest', 'stranger', ...sharers]) {
      assert.equal((await server.call(name, 'GET', `/devices/${id}/drops`)).status, 403);
    }
    assert.equal((await server.call('admin', 'GET', `/devices/${id}/drops`)).body.length, 100);
  });

  test('where devices together have more than may be kept, the oldest go of whose devices have most', async () => {
    const { dropsMax } = limits;
    Object.assign(limits, { dropsMax: 40 });
    const earlier = await makeDevice({ visibility: 'public' });
    await as['stranger']?.publish(`devices/${earlier}/sensors/absent/value`, { value: 1 }, { qos: 1 });
    await server.running.idle();
    const ids = Array.from({ length: 8 }, (_, n) => `of-guest-${n}`);
    for (const id of ids) assert.equal((await server.call('guest', 'POST', '/devices', { json: { id } })).status, 204);
    for (const id of ids) {
      const topics = Array.from({ length: 10 }, (_, n) => `devices/${id}/sensors/absent${n}/value`);
      await Promise.all(topics.map((topic) => as['guest']?.publish(topic, { value: 1 }, { qos: 1 })));
    }
    await server.running.idle();
    const kept = (await server.rows())['drop_log']?.length ?? 0;
    assert.ok(kept <= limits.dropsMax, `${kept} drops`);
    assert.equal((await server.call('admin', 'GET', `/devices/${ids.at(-1)}/drops`)).body.length, 10);
    assert.equal((await readDrops(earlier)).length, 1);
    Object.assign(limits, { dropsMax });
  });

  test('a long topic is not kept at length', async () => {
    const id = await makeDevice({ visibility: 'public' });
    await as['stranger']?.publish(`devices/${id}/sensors/${'x'.repeat(60_000)}/value`, { value: 1 }, { qos: 1 });
    const [drop] = await readDrops(id);
    assert.ok(drop !== undefined);
    assert.match(drop.topic, /^devices\/publish-\d+\/sensors\/x+…$/);
    assert.ok(drop.topic.length <= limits.dropCharsMax && drop.reason.length <= limits.dropCharsMax);
  });
});

let devices = 0;

async function makeDevice({ visibility }: { readonly visibility: string }): Promise<string> {
  const id = `publish-${++devices}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  await shareWithAll(server, id);
  return id;
}

async function readValues(id: string, reader = 'owner'): Promise<unknown[]> {
  const answer = await server.call(reader, 'GET', `/devices/${id}/sensors/s1/values?limit=1000`);
  return answer.body.map((point: { value: unknown }) => point.value);
}

async function readDrops(id: string): Promise<{ topic: string; username: string; reason: string }[]> {
  await server.running.idle();
  return (await server.call('owner', 'GET', `/devices/${id}/drops`)).body;
}

async function rowsButDrops() {
  const { drop_log: _, ...rows } = await server.rows();
  return rows;
}
