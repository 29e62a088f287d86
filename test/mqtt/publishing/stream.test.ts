// The bytes of a client arrive in pieces that TCP cuts anywhere, usual packets between unusual ones. However they are
// cut, each valid reading is stored once, in the order sent, and each packet gets its one answer (contract 8; I1, I3).
// A model of a few lines gives the expected result of a random stream.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import type { Engine } from '../../../src/domain/ports/engine.ts';
import type { MqttSessionRules, MqttSessions } from '../../../src/domain/ports/mqtt-sessions.ts';
import { engineWith } from '../../support/engine-with.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { properties } from '../../support/properties.ts';
import { TestServer } from '../../support/test-server.ts';

type QoS = 0 | 1 | 2;

let server: TestServer;
let devices = 0;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

/** A server whose engine asks others whether a message may be retained. */
function startWithDistantQuotas(): Promise<TestServer> {
  const replaceEngine = (engine: Engine) => ({
    ...engineWith(engine, {}),
    openMqttSessions: (rules: MqttSessionRules) => answeringLater(engine.openMqttSessions(rules)),
  });
  return TestServer.start({}, { replaceEngine });
}

function answeringLater(sessions: MqttSessions): MqttSessions {
  const capacityToRetain: MqttSessions['capacityToRetain'] = async (user, packets) => {
    await nextTurn();
    return sessions.capacityToRetain(user, packets);
  };
  return new Proxy(sessions, {
    get(target, name) {
      if (name === 'capacityToRetain') return capacityToRetain;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** What a publish holds, with the values that a sensor keeps of it; `n` is a number of its own. */
const payloads: Record<string, (n: number) => { readonly text: string; readonly values: readonly unknown[] }> = {
  plain: (n) => ({ text: `{"value":${n}}`, values: [n] }),
  'with a timestamp': (n) => ({ text: `{"value":${n}.5,"timestamp":"2026-01-15T12:00:00Z"}`, values: [n + 0.5] }),
  'with spaces': (n) => ({ text: `{ "value" : ${n} }`, values: [n] }),
  'a text': (n) => ({ text: JSON.stringify({ value: `käse ${n}` }), values: [`käse ${n}`] }),
  'longer than the fast path takes': (n) => {
    const value = `${n}${'x'.repeat(limits.fastPathPacketBytesMax * 3)}`;
    return { text: JSON.stringify({ value }), values: [value] };
  },
  'no JSON': (n) => ({ text: `{"value":${n}`, values: [] }),
  'no value': () => ({ text: '{}', values: [] }),
  'an array where one is asked for': (n) => ({ text: `[{"value":${n}}]`, values: [] }),
  empty: () => ({ text: '', values: [] }),
};

const places = ['s1', '/s1', 's2', 'unknown', 'strange'] as const;

const publish = fc.record({
  kind: fc.constant('publish' as const),
  qos: fc.constantFrom<QoS>(0, 1, 1, 1, 2),
  place: fc.constantFrom(...places),
  payload: fc.constantFrom(...Object.keys(payloads)),
  dup: fc.boolean(),
  retain: fc.constantFrom(false, false, false, true),
});
const ping = fc.constant({ kind: 'ping' as const });
const array = fc.record({ kind: fc.constant('array' as const), length: fc.nat(4) });
const stream = fc.array(fc.oneof({ weight: 8, arbitrary: publish }, ping, array), { maxLength: 40 });
/** Where the stream is cut, as parts of its length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

suite('a stream of packets', () => {
  test('cut anywhere, ends in the readings it holds, each answered once', () => cutAnywhere(server));

  test('does so too where the answer whether a message may be retained takes its time', async () => {
    const distant = await startWithDistantQuotas();
    try {
      await cutAnywhere(distant);
    } finally {
      await distant.stop();
    }
  });

  async function cutAnywhere(at: TestServer): Promise<void> {
    await fc.assert(
      fc.asyncProperty(stream, cuts, async (items, places) => {
        const id = `d${++devices}`;
        const sensors = [{ id: 's1' }, { id: 's2' }];
        await at.call('owner', 'POST', '/devices', { json: { id, sensors } });
        // Half of the devices are in memory, as those that send usually are.
        if (devices % 2 === 0) await at.call('owner', 'GET', `/devices/${id}/sensors/s1`);
        const client = await RawClient.connect(at, 'owner', { clientId: `stream-${id}` });
        const expected = expect(id, items);
        await sendCut(client, Buffer.concat(expected.packets.map((packet) => generate(packet))), places);
        client.send({ cmd: 'pingreq' });
        for (let n = 0; n <= expected.pings; n++) await client.next('pingresp');
        assert.deepEqual(await idsOf(client, 'puback', expected.puback.length), expected.puback);
        // Not before: an answer in the middle of a packet that is cut would make another stream of it.
        assert.deepEqual(await idsOf(client, 'pubrec', expected.pubcomp.length), expected.pubcomp);
        for (const messageId of expected.pubcomp) client.send({ cmd: 'pubrel', messageId });
        assert.deepEqual((await idsOf(client, 'pubcomp', expected.pubcomp.length)).sort(byNumber), expected.pubcomp);
        await client.roundTrip();
        assert.deepEqual(client.packets, []);
        await client.end();
        await at.running.idle();
        for (const { id: sensor } of sensors) {
          assert.deepEqual(await readValues(id, sensor, at), expected.values.get(sensor) ?? [], sensor);
        }
      }),
      properties({ factor: 0.3 }),
    );
  }

  test('whose QoS 2 packets come again is answered in its order as well', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'again', sensors: [{ id: 's' }] } });
    const client = await RawClient.connect(server, 'owner', { clientId: 'again' });
    const packet = (messageId: number, dup: boolean, topic = 'devices/again/sensors/s/value') =>
      publishOf(topic, `{"value":${messageId}}`, { qos: 2, messageId, dup });
    const foreign = 'devices/nowhere/sensors/s/value';
    const own = 'users/owner/chat';
    const stream = [
      ...[packet(1, false), packet(2, false, own), packet(1, true), packet(3, false, foreign), packet(2, true, own)],
      ...[packet(4, false), packet(3, true, foreign), packet(4, true), packet(5, false), packet(1, true)],
    ];
    const asked = stream.map((one) => ('messageId' in one ? one.messageId : 0));
    client.send(...(stream as Packet[]));
    assert.deepEqual(await idsOf(client, 'pubrec', asked.length), asked);
    // Again, when all are known.
    client.send(...stream.map((one) => ({ ...one, dup: true }) as Packet), packet(6, false) as Packet);
    assert.deepEqual(await idsOf(client, 'pubrec', asked.length + 1), [...asked, 6]);
    await client.end();
    await server.running.idle();
    assert.deepEqual(await readValues('again', 's'), [1, 4, 5, 6]);
  });

  test('one byte at a time is taken as well', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'slow', sensors: [{ id: 's' }] } });
    const client = await RawClient.connect(server, 'owner', { clientId: 'slow' });
    for (const messageId of [1, 2, 3]) {
      const packet = {
        cmd: 'publish',
        topic: 'devices/slow/sensors/s/value',
        qos: 1,
        dup: false,
        retain: false,
      } as const;
      for (const byte of generate({ ...packet, messageId, payload: `{"value":${messageId}}` })) {
        client.send(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    for (const messageId of [1, 2, 3]) assert.equal((await client.next('puback')).messageId, messageId);
    assert.deepEqual(await readValues('slow', 's'), [1, 2, 3]);
    await client.end();
  });

  for (const [name, bytes] of Object.entries({
    'a length that does not end': [0x32, 0xff, 0xff, 0xff, 0xff, 0x01],
    'a PUBLISH with QoS 3': [0x36, 0x05, 0x00, 0x01, 0x61, 0x00, 0x01],
    'a topic longer than its packet': [0x32, 0x05, 0x01, 0xff, 0x61, 0x00, 0x01],
    'a packet of no kind': [0x00, 0x00],
    'a second CONNECT': [...generate({ cmd: 'connect', clientId: 'x', clean: true, protocolVersion: 4 } as Packet)],
  })) {
    test(`${name} after a reading cuts the connection, and the reading is stored`, async () => {
      const id = `broken-${++devices}`;
      await server.call('owner', 'POST', '/devices', { json: { id, sensors: [{ id: 's' }] } });
      const client = await RawClient.connect(server, 'owner', { clientId: id });
      const reading = { topic: `devices/${id}/sensors/s/value`, payload: '{"value":1}' } as const;
      const packet = { cmd: 'publish', qos: 1, dup: false, retain: false, messageId: 9, ...reading } as const;
      client.send(Buffer.concat([generate(packet), Buffer.from(bytes)]));
      await client.closed;
      await server.running.idle();
      assert.deepEqual(await readValues(id, 's'), [1]);
    });
  }
});

test('while the right to push is taken away, a stream stops being stored, and is answered all the same', async () => {
  await server.call('owner', 'POST', '/devices', { json: { id: 'shared', sensors: [{ id: 's' }] } });
  const share = { json: { scopes: ['device-data:create'] } };
  await server.call('owner', 'PUT', '/devices/shared/shares/stranger', share);
  const client = await RawClient.connect(server, 'stranger', { clientId: 'stream-stranger' });
  const send = async (value: number) => {
    client.publish({ topic: 'devices/shared/sensors/s/value', payload: `{"value":${value}}`, messageId: value });
    assert.equal((await client.next('puback')).messageId, value);
  };
  await send(1);
  await server.call('owner', 'DELETE', '/devices/shared/shares/stranger');
  await send(2);
  await server.call('owner', 'PUT', '/devices/shared/shares/stranger', share);
  await send(3);
  await server.call('owner', 'DELETE', '/devices/shared/sensors/s');
  await send(4);
  await server.call('owner', 'POST', '/devices/shared/sensors', { json: { id: 's' } });
  await send(5);
  assert.deepEqual(await readValues('shared', 's'), [5]);
  await client.end();
});

/** Packet ids of so many packets of a kind, in their order. */
async function idsOf(client: RawClient, cmd: 'puback' | 'pubrec' | 'pubcomp', count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < count; n++) ids.push((await client.next(cmd)).messageId ?? 0);
  return ids;
}

interface Expected {
  readonly packets: readonly Packet[];
  readonly values: ReadonlyMap<string, readonly unknown[]>;
  readonly puback: readonly number[];
  readonly pubcomp: readonly number[];
  readonly pings: number;
}

type Item =
  | { kind: 'ping' }
  | { kind: 'array'; length: number }
  | { kind: 'publish'; qos: QoS; place: (typeof places)[number]; payload: string; dup: boolean; retain: boolean };

/** The oracle. */
function expect(id: string, items: readonly Item[]): Expected {
  const packets: Packet[] = [];
  const values = new Map<string, unknown[]>();
  const puback: number[] = [];
  const pubcomp: number[] = [];
  let pings = 0;
  const keep = (sensor: string, kept: readonly unknown[]) =>
    values.set(sensor, [...(values.get(sensor) ?? []), ...kept]);
  for (const [index, item] of items.entries()) {
    const messageId = index + 1;
    if (item.kind === 'ping') {
      pings += 1;
      packets.push({ cmd: 'pingreq' });
    } else if (item.kind === 'array') {
      const kept = Array.from({ length: item.length }, (_, n) => index * 100 + n);
      keep('s1', kept);
      puback.push(messageId);
      const payload = JSON.stringify(kept.map((value) => ({ value })));
      packets.push(publishOf(`devices/${id}/sensors/s1/values`, payload, { qos: 1, messageId }));
    } else {
      const { text, values: kept } = (payloads[item.payload] as (typeof payloads)['plain'])(index);
      if (item.place.endsWith('s1') || item.place === 's2') keep(item.place.replace('/', ''), kept);
      if (item.qos === 1) puback.push(messageId);
      if (item.qos === 2) pubcomp.push(messageId);
      packets.push(publishOf(topicOf(id, item.place), text, { ...item, messageId }));
    }
  }
  return { packets, values, puback, pubcomp, pings };
}

function publishOf(
  topic: string,
  payload: string,
  rest: { qos: QoS; messageId: number; dup?: boolean; retain?: boolean },
) {
  const { qos, messageId, dup = false, retain = false } = rest;
  const packet = { cmd: 'publish', topic, payload, qos, dup: dup && qos > 0, retain } as const;
  return qos === 0 ? packet : { ...packet, messageId };
}

function topicOf(id: string, place: (typeof places)[number]): string {
  if (place === 'unknown') return 'devices/nowhere/sensors/s1/value';
  if (place === 'strange') return `devices/${id}/sensors/s1/value/more`;
  return place.startsWith('/') ? `/devices/${id}/sensors/s1/value` : `devices/${id}/sensors/${place}/value`;
}

/** Writes the bytes in pieces, each in a turn of its own. */
async function sendCut(client: RawClient, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort(byNumber), bytes.length];
  for (let n = 1; n < places.length; n++) {
    client.send(bytes.subarray(places[n - 1], places[n]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function readValues(device: string, sensor: string, at = server): Promise<unknown[]> {
  const path = `/devices/${device}/sensors/${sensor}/values?format=ndjson`;
  const { text } = await at.call('owner', 'GET', path);
  const points = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  return points.map(({ value }) => value);
}

function byNumber(a: number, b: number): number {
  return a - b;
}
