// MQTT 3.1.1 to the letter, where it is kept: packets that are answered, byte by byte, clause by clause. Each row is one
// connection over TCP in one piece, over TCP byte by byte, and over WebSocket.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { LetterConnection, type Way } from '../../support/mqtt/letter-connection.ts';
import { connectOf, loginOf, type Part, packet } from '../../support/mqtt/packet-bytes.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }, { id: 'two' }] } });
});
after(() => server.stop());

const ways: readonly Way[] = ['in one piece', 'byte by byte', 'over WebSocket'];
const ping = packet(0xc0);
const pong = 'd000';

/** What is sent, and all that comes until the answer to what is sent next, in hexadecimal. */
type Step = readonly [sends: Buffer, answers: string];

async function run(way: Way, what: string, steps: readonly Step[]): Promise<LetterConnection> {
  const connection = await LetterConnection.open(server, way);
  let expected = '';
  for (const [sends, answers] of steps) {
    expected += answers;
    await connection.send(sends);
    await connection.received(expected.length / 2);
    assert.equal(connection.bytes.toString('hex'), expected, `${what}, ${way}`);
  }
  return connection;
}

const hello: Step = [loginOf('owner', 'answered'), '20020000'];
const login: readonly Part[] = ['owner', password];
const publish = (header: number, packetId: number, topic: string, payload = '{"value":1}') =>
  packet(header, topic, [packetId >> 8, packetId & 255], Buffer.from(payload));

/** A topic of every fate: stored by the fast path and beside it, dropped, relayed, no reading, of nobody. */
const fates: readonly (readonly [topic: string, payload?: string])[] = [
  ['users/owner/relayed'],
  ['devices/d/sensors/s/value'],
  ['devices/none/sensors/s/value'],
  ['devices/d/sensors/s/values', '[{"value":1},{"value":2}]'],
  ['devices/d/sensors/s/value', 'no reading'],
  ['nowhere'],
  ['devices/d/sensors/s/value', '3'],
  ['devices/d/sensors/unknown/value'],
  ['users/stranger/x'],
];

const inOrder = (header: number, answer: string): Step => {
  const ids = Array.from({ length: 3 * fates.length }, (_, n) => n + 1);
  const sends = ids.map((packetId) => {
    const [topic, payload] = fates[packetId % fates.length] as (typeof fates)[number];
    return publish(header, packetId, topic, payload);
  });
  return [Buffer.concat(sends), ids.map((packetId) => `${answer}02${packetId.toString(16).padStart(4, '0')}`).join('')];
};

const rows: readonly (readonly [clause: string, what: string, steps: readonly Step[]])[] = [
  ['MQTT-3.12.4-1', 'a PINGREQ', [hello, [ping, pong], [Buffer.concat([ping, ping]), pong + pong]]],
  ['2.2.3', 'a remaining length in more bytes than it needs', [hello, [Buffer.from([0xc0, 0x80, 0x00]), pong]]],
  [
    'MQTT-3.1.3-6',
    'an empty client id',
    [
      [connectOf({ flags: 0xc2 }, '', ...login), '20020000'],
      [ping, pong],
    ],
  ],
  [
    'MQTT-3.1.3-5',
    'a client id of letters and digits',
    [[connectOf({ flags: 0xc2 }, 'aZ09'.repeat(5), ...login), '20020000']],
  ],
  [
    'MQTT-1.5.3-3',
    'U+FEFF, which stays, in a client id',
    [[connectOf({ flags: 0xc2 }, '\uFEFFid', ...login), '20020000']],
  ],
  ['MQTT-1.5.3-1', 'U+FFFD, which is a character', [[connectOf({ flags: 0xc2 }, 'i\uFFFDd', ...login), '20020000']]],
  ['3.1.2.10', 'no keep-alive', [[connectOf({ flags: 0xc2, keepAlive: 0 }, 'k', ...login), '20020000']]],
  ['3.1.2.10', 'the longest keep-alive', [[connectOf({ flags: 0xc2, keepAlive: 65_535 }, 'k', ...login), '20020000']]],
  ['3.1.2.8', 'an empty user name and a password', [[connectOf({ flags: 0xc2 }, 'k', '', 'x'), '20020000']]],
  [
    '3.1.2.1',
    'version 3.1',
    [
      [connectOf({ name: 'MQIsdp', level: 3, flags: 0xc2 }, 'k', ...login), '20020000'],
      [ping, pong],
    ],
  ],
  [
    'MQTT-3.1.3-11',
    'a will of no bytes',
    [
      [connectOf({ flags: 0xee }, 'w', 'users/owner/w', '', ...login), '20020000'],
      [ping, pong],
    ],
  ],
  [
    'MQTT-3.2.2-4',
    'a refusal says nothing of a session',
    [[connectOf({ flags: 0xc0 }, 'k', 'owner', 'wrong'), '20020004']],
  ],
  ['MQTT-4.6.0-2', 'PUBACKs in the order of their PUBLISHes', [hello, inOrder(0x32, '40')]],
  ['MQTT-4.6.0-2', 'PUBACKs of messages to be retained too', [hello, inOrder(0x33, '40')]],
  ['MQTT-4.6.0-3', 'PUBRECs in the order of their PUBLISHes', [hello, inOrder(0x34, '50')]],
  [
    'MQTT-3.3.5-2',
    'a PUBLISH of what may not be published',
    [hello, [publish(0x32, 9, 'devices/none/sensors/s/value'), '40020009']],
  ],
  ['MQTT-4.3.1-1', 'a PUBLISH of QoS 0', [hello, [packet(0x30, 'users/owner/x', []), ''], [ping, pong]]],
  ['3.3.3', 'a PUBLISH of no payload', [hello, [packet(0x32, 'users/owner/x', [0, 3]), '40020003']]],
  ['MQTT-3.8.4-2', 'a SUBSCRIBE', [hello, [packet(0x82, [0x12, 0x34], 'a/+/#', [2]), '9003123402']]],
  [
    'MQTT-3.9.3-1',
    'a SUBSCRIBE of several filters',
    [hello, [packet(0x82, [0, 1], 'a', [2], 'x/#', [0], '+/x', [1], '/', [1]), '90060001' + '02000101']],
  ],
  [
    'MQTT-3.10.4-5',
    'an UNSUBSCRIBE from what was not subscribed',
    [hello, [packet(0xa2, [0x43, 0x21], 'none', '+/b'), 'b0024321']],
  ],
  ['MQTT-3.6.4-1', 'a PUBREL that nobody waits for', [hello, [packet(0x62, [0, 5]), '70020005']]],
  ['MQTT-4.3.3-1', 'a PUBREC that nobody waits for', [hello, [packet(0x50, [0, 5]), '62020005']]],
  [
    '4.3.2, 4.3.3',
    'a PUBACK and PUBCOMP that nobody waits for',
    [hello, [packet(0x40, [0, 5]), ''], [packet(0x70, [0, 5]), ''], [ping, pong]],
  ],
  [
    '3.1.4',
    'packets behind CONNECT that do not wait for CONNACK',
    [
      [Buffer.concat([hello[0], publish(0x32, 1, 'nowhere')]), '20020000' + '40020001'],
      [ping, pong],
    ],
  ],
];

suite('is answered as its clause says:', () => {
  for (const [clause, what, steps] of rows) {
    test(`[${clause}] ${what}`, async () => {
      for (const way of ways) await (await run(way, what, steps)).cut();
    });
  }
});

test('[MQTT-4.3.3-2] a message of QoS 2 is taken once until its PUBREL, and anew behind it', async () => {
  for (const way of ways) {
    const before = (await server.call('owner', 'GET', '/devices/d/sensors/two/values')).body.length;
    const message = publish(0x34, 9, 'devices/d/sensors/two/value');
    const again = publish(0x3c, 9, 'devices/d/sensors/two/value');
    const steps: Step[] = [
      hello,
      [message, '50020009'],
      [again, '50020009'],
      [packet(0x62, [0, 9]), '70020009'],
      [packet(0x62, [0, 9]), '70020009'],
      [message, '50020009'],
      [packet(0x62, [0, 9]), '70020009'],
    ];
    await (await run(way, 'QoS 2', steps)).cut();
    await server.running.idle();
    const { body } = await server.call('owner', 'GET', '/devices/d/sensors/two/values');
    assert.equal(body.length - before, 2, way);
  }
});

test('[MQTT-3.2.2-1 to -3, MQTT-3.1.2-6] a session is told of where it is kept, and ends with a clean one', async () => {
  const kept = loginOf('owner', 'present', true);
  const clean = loginOf('owner', 'present');
  const answers: readonly [Buffer, string][] = [
    [kept, '20020000'],
    [kept, '20020100'],
    [clean, '20020000'],
    [clean, '20020000'],
    [kept, '20020000'],
  ];
  for (const [bytes, answer] of answers) {
    const connection = await run('in one piece', 'session present', [[bytes, answer]]);
    await connection.send(packet(0xe0));
    await connection.ended('[MQTT-3.14.4-1] DISCONNECT');
  }
});

test('[MQTT-3.1.4-2] a second connection of a client id closes the first', async () => {
  const first = await run('in one piece', 'the first', [hello]);
  const second = await run('over WebSocket', 'the second', [hello]);
  await first.ended('the first');
  await second.cut();
});

test('[MQTT-3.1.2-24] who says nothing for one and a half of the keep-alive is cut', async () => {
  const connection = await run('in one piece', 'silent', [
    [connectOf({ flags: 0xc2, keepAlive: 1 }, 'silent', ...login), '20020000'],
  ]);
  const sinceMs = performance.now();
  await connection.ended('silent');
  assert.ok(performance.now() - sinceMs >= 1_000);
});

test('thousands of acknowledgements that nobody waits for leave nothing, in a session that is kept too', async () => {
  for (const isKept of [false, true]) {
    const id = `unasked-${isKept}`;
    const connection = await run('in one piece', id, [[loginOf('owner', id, isKept), '20020000']]);
    const before = await server.rows();
    const ids = Array.from({ length: 2_000 }, (_, n) => [(n + 1) >> 8, (n + 1) & 255]);
    const answers = 2 * 4 * ids.length;
    for (const header of [0x40, 0x50, 0x62, 0x70])
      await connection.send(Buffer.concat(ids.map((one) => packet(header, one))));
    await connection.send(ping);
    await connection.received(4 + answers + 2);
    assert.equal(connection.bytes.length, 4 + answers + 2);
    assert.deepEqual(await server.rows(), before);
    await connection.cut();
  }
});
