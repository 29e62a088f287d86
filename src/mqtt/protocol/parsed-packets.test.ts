// Rare packets as objects, where mqtt-packet alone would not do.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connectOf, packet, prefixed } from '../../../test/support/mqtt/packet-bytes.ts';
import { protocolOf } from './connect-faults.ts';
import { packetFault } from './packet-faults.ts';
import type { ProtocolVersion } from './packet-types.ts';
import { parsePacket } from './parsed-packets.ts';

function read(bytes: Buffer, version: ProtocolVersion) {
  assert.equal(packetFault(bytes, version), undefined);
  return parsePacket(bytes, version);
}

const user = (name: string, value: string): Buffer => Buffer.concat([Buffer.of(0x26), prefixed(name), prefixed(value)]);
const withLength = (...parts: readonly Buffer[]): Buffer => packet(0, ...parts).subarray(1);

suite('a rare packet', () => {
  test('CONNECT keeps what its will is to be sent with, in its order', () => {
    const kept = [user('b', '1'), user('a', ''), Buffer.of(0x01, 1), user('b', '2')] as const;
    const ofOneHop = [Buffer.of(0x18, 0, 0, 0, 5), Buffer.of(0x02, 0, 0, 0, 9)] as const;
    const will = withLength(ofOneHop[0], kept[0], kept[1], ofOneHop[1], kept[2], kept[3]);
    const own = withLength(Buffer.from([0x11, 0, 0, 1, 0, 0x21, 0, 9]));
    const bytes = connectOf({ level: 5, flags: 0xee }, own, 'id', will, 'topic', 'gone', 'name', 'secret');
    const connect = read(bytes, 5);
    assert.equal(connect.cmd, 'connect');
    if (connect.cmd !== 'connect') return;
    assert.deepEqual(connect.willProperties, Buffer.concat(kept));
    assert.deepEqual(
      [connect.clientId, connect.username, connect.password, connect.clean, connect.keepalive],
      ['id', 'name', Buffer.from('secret'), true, 60],
    );
    assert.deepEqual({ ...connect.properties }, { sessionExpiryInterval: 256, receiveMaximum: 9 });
    const { willDelayInterval, messageExpiryInterval } = connect.will?.properties ?? {};
    assert.deepEqual([willDelayInterval, messageExpiryInterval], [5, 9]);
    assert.deepEqual([connect.will?.topic, connect.will?.payload], ['topic', Buffer.from('gone')]);
  });

  test('CONNECT without a will, or of an older version, has none of its properties', () => {
    for (const bytes of [
      connectOf({ level: 5 }, [0], 'id'),
      connectOf({ flags: 0x06 }, 'id', 'topic', 'gone'),
      connectOf({ level: 0x84 }, 'id'),
    ]) {
      const connect = read(bytes, 4);
      assert.ok(connect.cmd === 'connect' && connect.willProperties.length === 0);
    }
  });

  test('SUBSCRIBE has its options, also where a client of 3.1 repeats it', () => {
    const subscribe = read(packet(0x82, [0, 7], [2, 0x0b, 5], 'a', [0x2d], '$share/g/b', [2]), 5);
    assert.ok(subscribe.cmd === 'subscribe');
    assert.deepEqual(subscribe.subscriptions, [
      { topic: 'a', qos: 1, nl: true, rap: true, rh: 2 },
      { topic: '$share/g/b', qos: 2, nl: false, rap: false, rh: 0 },
    ]);
    assert.deepEqual({ ...subscribe.properties }, { subscriptionIdentifier: 5 });
    const repeated = read(packet(0x8a, [0, 7], 'a', [1]), 3);
    assert.ok(repeated.cmd === 'subscribe');
    assert.deepEqual(repeated.subscriptions, [{ topic: 'a', qos: 1 }]);
  });

  test('UNSUBSCRIBE, DISCONNECT and AUTH have theirs', () => {
    const unsubscribe = read(packet(0xa2, [0, 7], [0], 'a', 'b'), 5);
    assert.ok(unsubscribe.cmd === 'unsubscribe');
    assert.deepEqual([unsubscribe.messageId, unsubscribe.unsubscriptions], [7, ['a', 'b']]);
    const left = read(packet(0xe0, [4, 5, 0x11, 0, 0, 0, 9]), 5);
    assert.ok(left.cmd === 'disconnect');
    assert.deepEqual([left.reasonCode, left.properties?.sessionExpiryInterval], [4, 9]);
    for (const bytes of [packet(0xe0), packet(0xe0, [0])]) {
      const plain = read(bytes, 5);
      assert.ok(plain.cmd === 'disconnect' && plain.reasonCode === 0);
    }
    const auth = read(packet(0xf0, [0x19], withLength(Buffer.concat([Buffer.of(0x15), prefixed('method')]))), 5);
    assert.ok(auth.cmd === 'auth');
    assert.deepEqual([auth.reasonCode, auth.properties?.authenticationMethod], [0x19, 'method']);
  });
});

test('the protocol of a CONNECT is known before the rest is judged', () => {
  const rows: readonly (readonly [bytes: Buffer, expected: unknown])[] = [
    [connectOf({ level: 5 }, 'no properties'), { name: 'MQTT', level: 5, isBridge: false, version: 5 }],
    [connectOf({}), { name: 'MQTT', level: 4, isBridge: false, version: 4 }],
    [connectOf({ level: 0x84 }), { name: 'MQTT', level: 4, isBridge: true, version: 4 }],
    [connectOf({ name: 'MQIsdp', level: 3 }), { name: 'MQIsdp', level: 3, isBridge: false, version: 3 }],
    [connectOf({ level: 6 }), { name: 'MQTT', level: 6, isBridge: false, version: undefined }],
    [connectOf({ level: 0x85 }), { name: 'MQTT', level: 5, isBridge: true, version: undefined }],
    [connectOf({ name: 'MQIsdp', level: 4 }), { name: 'MQIsdp', level: 4, isBridge: false, version: undefined }],
    [connectOf({ name: 'HTTP' }), { name: 'HTTP', level: 4, isBridge: false, version: undefined }],
    [packet(0x10, 'MQTT'), undefined],
    [packet(0x10), undefined],
    [packet(0x10, [0, 9, 0x61]), undefined],
  ];
  for (const [bytes, expected] of rows) assert.deepEqual(protocolOf(bytes), expected, bytes.toString('hex'));
});
