// What a publisher of version 5 is told of its message, and one of an older version is not (contract 8): 0x00 is stored,
// 0x87 is a missing right, 0x90 an unknown sensor, 0x99 no reading, 0x97 a quota. What is not 0x00 is stored nowhere.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { connectOf } from '../../support/mqtt/packet-bytes.ts';
import { type ConnectOptions, PacketClient } from '../../support/mqtt/packet-client.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const everybody = ['guest', 'stranger', 'sharer', 'owner', 'admin'] as const;
type Somebody = (typeof everybody)[number];

let server: TestServer;
const each = limits.datapointBytesCounted;

before(async () => {
  server = await TestServer.start({
    DUNDUN_GUEST_QUOTAS: `datapoint_bytes=${each * 10}B`,
    DUNDUN_QUOTAS: 'mqtt_sessions=2',
  });
  for (const visibility of ['private', 'public'])
    await server.call('owner', 'POST', '/devices', {
      json: { id: visibility, visibility, sensors: [{ id: 's' }], actuators: [{ id: 'a' }] },
    });
  const scopes = ['device:view', 'device-data:view'];
  for (const id of ['private', 'public'])
    await server.call('owner', 'PUT', `/devices/${id}/shares/sharer`, { json: { scopes } });
});
after(() => server.stop());

let clients = 0;

async function connect(as: string, options: ConnectOptions = {}): Promise<PacketClient> {
  const client = await PacketClient.open(server, options.version === undefined ? {} : { version: options.version });
  const connack = await client.signIn({ as, clientId: `reasons-${++clients}`, ...options });
  assert.equal(connack.reasonCode ?? connack.returnCode, 0);
  return client;
}

async function valuesOf(device: string): Promise<number> {
  await server.running.idle();
  return (await server.call('owner', 'GET', `/devices/${device}/sensors/s/values`)).body.length;
}

const reading = '{"value":1}';
type Fates = readonly (readonly [
  what: string,
  topic: string,
  payload: string,
  codes: Record<Somebody, readonly number[]>,
])[];
const all = (...codes: number[]) =>
  Object.fromEntries(everybody.map((name) => [name, codes])) as Record<Somebody, number[]>;
/** Who may not need not be told whether there is such a sensor, or whether that was a reading. */
const ofPrivate = (code: number, others: readonly number[]) => ({
  ...all(...others),
  owner: [code],
  admin: [code],
});

const fates: Fates = [
  ['a reading of a private sensor', 'devices/private/sensors/s/value', reading, ofPrivate(0x00, [0x87])],
  ['readings of a private sensor', 'devices/private/sensors/s/values', `[${reading}]`, ofPrivate(0x00, [0x87])],
  ['a reading of a public sensor', 'devices/public/sensors/s/value', reading, all(0x00)],
  ['with a slash before it', '/devices/public/sensors/s/value', reading, all(0x00)],
  ['an unknown sensor of a private device', 'devices/private/sensors/x/value', reading, ofPrivate(0x90, [0x87, 0x90])],
  ['an unknown sensor of a public device', 'devices/public/sensors/x/value', reading, all(0x90)],
  ['an unknown device', 'devices/none/sensors/s/value', reading, all(0x90)],
  ['no reading, to a private sensor', 'devices/private/sensors/s/value', 'none', ofPrivate(0x99, [0x87, 0x99])],
  ['no reading, to a public sensor', 'devices/public/sensors/s/value', '{"value":', all(0x99)],
  ['no bytes, to a public sensor', 'devices/public/sensors/s/value', '', all(0x99)],
  ['no list, to a public sensor', 'devices/public/sensors/s/values', '[{"value":1},', all(0x99)],
];

suite('a client of version 5 is told', () => {
  for (const [what, topic, payload, codes] of fates) {
    test(`${what}: ${everybody.map((name) => `${name} ${codes[name].map((code) => code.toString(16)).join(' or ')}`).join(', ')}`, async () => {
      const device = topic.includes('public') ? 'public' : 'private';
      for (const as of everybody) {
        const client = await connect(as);
        for (const qos of [1, 2] as const) {
          const before = await valuesOf(device);
          const first = await client.publish({ topic, payload, qos });
          assert.ok(first?.cmd === 'puback' || first?.cmd === 'pubrec');
          const { reasonCode = 0, properties } = first;
          assert.ok(codes[as].includes(reasonCode), `${as}, QoS ${qos}: ${reasonCode.toString(16)}`);
          assert.equal((await valuesOf(device)) - before, reasonCode === 0 ? 1 : 0, `${as}, QoS ${qos}`);
          assert.equal(properties?.reasonString === undefined, reasonCode === 0, 'words where it is not stored');
        }
        await client.leave();
      }
    });
  }

  test('[MQTT-4.3.3-9] after a PUBREC of refusal the packet id is free: the next message under it is another', async () => {
    const client = await connect('owner');
    const before = await valuesOf('private');
    const publish = { qos: 2, payload: reading, messageId: 8 } as const;
    const refused = await client.publish({ ...publish, topic: 'devices/private/sensors/x/value' });
    assert.equal(refused?.cmd === 'pubrec' && refused.reasonCode, 0x90);
    const taken = await client.publish({ ...publish, topic: 'devices/private/sensors/s/value' });
    assert.equal(taken?.cmd === 'pubrec' && (taken.reasonCode ?? 0), 0);
    assert.equal((await valuesOf('private')) - before, 1);
    await client.leave();
  });

  test('what of a list is no reading, as one code, and nothing of the list is stored', async () => {
    const client = await connect('owner');
    const before = await valuesOf('private');
    const first = await client.publish({ topic: 'devices/private/sensors/s/values', payload: '[{"value":1},{"x":1}]' });
    assert.equal(first?.cmd === 'puback' && first.reasonCode, 0x99);
    assert.equal(await valuesOf('private'), before);
    await client.leave();
  });
});

suite('a client of 3.1 and 3.1.1 is told nothing', () => {
  for (const version of [3, 4] as const) {
    test(`of level ${version}: an acknowledgement of two bytes, whatever became of the message`, async () => {
      for (const as of ['stranger', 'owner'] as const) {
        const client = await connect(as, { version });
        for (const [, topic, payload] of fates) {
          assert.equal(
            (await client.publish({ topic, payload, qos: 1, messageId: 0x0102 }))?.raw.toString('hex'),
            '40020102',
          );
          assert.equal(
            (await client.publish({ topic, payload, qos: 2, messageId: 0x0103 }))?.raw.toString('hex'),
            '50020103',
          );
        }
        await client.leave();
      }
    });
  }
});

suite('words for humans are left out', () => {
  const dropped = { topic: 'devices/none/sensors/s/value', payload: reading, messageId: 9 };
  test('[MQTT-3.1.2-29] where Request Problem Information is 0', async () => {
    const client = await connect('owner', { properties: { requestProblemInformation: false } });
    assert.match((await client.publish(dropped))?.raw.toString('hex') ?? '', /^4003000990$|^400400099000$/);
    assert.match(
      (await client.publish({ ...dropped, qos: 2 }))?.raw.toString('hex') ?? '',
      /^5003000990$|^500400099000$/,
    );
    await client.leave();
  });
  test('[MQTT-3.4.2-2, MQTT-3.5.2-2] where they would make the packet larger than the client takes', async () => {
    const client = await connect('owner', { properties: { maximumPacketSize: 20 } });
    for (const qos of [1, 2] as const) {
      const answer = await client.publish({ ...dropped, qos });
      assert.ok((answer?.raw.length ?? 99) <= 20, answer?.raw.toString('hex'));
      assert.equal((answer as { reasonCode?: number }).reasonCode, 0x90);
    }
    await client.leave();
  });
});

suite('CONNACK says', () => {
  const answerTo = async (version: 4 | 5, options: ConnectOptions) => {
    const client = await PacketClient.open(server, { version });
    const { reasonCode, returnCode, sessionPresent } = await client.signIn({
      clientId: `refused-${++clients}`,
      ...options,
    });
    assert.equal(sessionPresent, false, '[MQTT-3.2.2-6]');
    if ((reasonCode ?? returnCode) === 0) await client.leave();
    else await client.ended('[MQTT-3.2.2-7]');
    return reasonCode ?? returnCode;
  };
  const rows: Readonly<Record<string, readonly [options: ConnectOptions, old: number, code: number]>> = {
    'of a wrong password': [{ as: 'owner', password: Buffer.from('wrong') }, 4, 0x86],
    'of an unknown user': [{ as: 'nobody', password: Buffer.from('wrong') }, 4, 0x86],
    'of the right one': [{ as: 'stranger' }, 0, 0x00],
    'of no credentials': [{ as: 'guest' }, 0, 0x00],
  };
  for (const [what, [options, old, code]] of Object.entries(rows)) {
    test(`${what}: ${old} to 3.1.1, 0x${code.toString(16)} to version 5`, async () => {
      assert.deepEqual([await answerTo(4, options), await answerTo(5, options)], [old, code]);
    });
  }

  test('[MQTT-3.1.3-8] of a client id that another user holds: 2 and 0x85, and who holds it stays', async () => {
    const holder = await connect('owner', { clientId: 'held' });
    assert.deepEqual(
      [
        await answerTo(4, { as: 'stranger', clientId: 'held' }),
        await answerTo(5, { as: 'stranger', clientId: 'held' }),
      ],
      [2, 0x85],
    );
    assert.deepEqual(await holder.deliveries(), []);
    await holder.leave();
  });

  test('of a session beyond the quota: 3 and 0x97', async () => {
    const kept = { clean: false, properties: { sessionExpiryInterval: 100 } };
    for (const clientId of ['first', 'second']) await (await connect('sharer', { ...kept, clientId })).leave();
    assert.deepEqual(
      [await answerTo(4, { as: 'sharer', clean: false }), await answerTo(5, { as: 'sharer', ...kept })],
      [3, 0x97],
    );
    assert.equal(await answerTo(5, { as: 'sharer' }), 0x00, 'one that is not kept needs no room');
  });

  test('[MQTT-3.1.4-6] a refusal, and what was sent behind the CONNECT is not looked at', async () => {
    const before = await server.rows();
    const client = await PacketClient.open(server);
    await client.send(
      client.connectPacket({ clientId: 'late', password: Buffer.from('wrong') }),
      {
        cmd: 'publish',
        topic: 'devices/public/sensors/s/value',
        payload: reading,
        qos: 1,
        messageId: 1,
        retain: true,
        dup: false,
      },
      { cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'a', qos: 1 }] },
    );
    assert.equal((await client.answer('connack')).reasonCode, 0x86);
    await client.ended('a wrong password');
    assert.equal(await client.next(), undefined);
    assert.deepEqual(await server.rows(), before);
  });

  test('[MQTT-3.1.2-28] Response Information to who asks and has signed in', async () => {
    const properties = { requestResponseInformation: true };
    const owner = await connect('owner', { properties });
    assert.equal(owner.connack?.properties?.responseInformation, 'users/owner/');
    const guest = await connect('guest', { properties });
    assert.equal(guest.connack?.properties?.responseInformation, undefined);
    await Promise.all([owner.leave(), guest.leave()]);
  });

  test('a password without a user name is no fault of form in version 5: 3.1.2.9', async () => {
    const client = await PacketClient.open(server);
    await client.send(connectOf({ level: 5, flags: 0x42 }, [0], 'only', password));
    assert.ok([0x00, 0x86, 0x87].includes((await client.answer('connack')).reasonCode ?? -1));
    await client.cut();
  });
});

// The last, because nothing of guests has room after it.
suite('beyond a quota', () => {
  test('version 5 gets 0x97 and goes on, 3.1.1 loses its connection, and nothing is stored', async () => {
    const topic = 'devices/public/sensors/s/value';
    const filler = await connect('guest');
    for (let n = 0; n < 40; n++) {
      const answer = (await filler.publish({ topic, payload: reading })) as { reasonCode?: number };
      await server.running.idle();
      if ((answer.reasonCode ?? 0) !== 0) break;
    }
    const before = await valuesOf('public');
    for (const qos of [1, 2] as const) {
      const answer = (await filler.publish({ topic, payload: reading, qos })) as { reasonCode?: number };
      assert.equal(answer.reasonCode, 0x97, `QoS ${qos}`);
    }
    assert.deepEqual(await filler.deliveries(), []);
    const old = await connect('guest', { version: 4 });
    await old.send({ cmd: 'publish', topic, payload: reading, qos: 1, messageId: 1, retain: false, dup: false });
    await old.ended('beyond the quota');
    assert.equal(await old.next(), undefined, 'no PUBACK');
    assert.equal(await valuesOf('public'), before);
    const owner = await connect('owner');
    assert.equal(((await owner.publish({ topic, payload: reading })) as { reasonCode?: number }).reasonCode ?? 0, 0);
    await Promise.all([filler.leave(), owner.leave()]);
  });
});
