// Packets of clients, lawful and not, as a table by clause of MQTT 5; 3.1 and 3.1.1 where they differ. What the door answers to
// them is in test/mqtt.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { connectOf, type Part, packet, prefixed } from '../../../test/support/mqtt/packet-bytes.ts';
import { properties } from '../../../test/support/properties.ts';
import { headerFault, packetFault } from './packet-faults.ts';
import type { ProtocolVersion } from './packet-types.ts';
import { parsePacket } from './parsed-packets.ts';
import { PublishFrame } from './publish-frame.ts';
import { type ReasonCode, reasonCodes } from './reason-codes.ts';
import { variableIntegerEnd } from './variable-integers.ts';

const { malformedPacket, protocolError, topicAliasInvalid, unsupportedProtocolVersion } = reasonCodes;

/** Properties with their length before them. */
const props = (...parts: readonly Part[]): Buffer => packet(0, ...parts).subarray(1);
const none = props();
const user = (name = 'n', value = 'v'): Buffer => Buffer.concat([Buffer.of(0x26), prefixed(name), prefixed(value)]);
const id = [0, 7];
const ofV5 = (flags: number, ...fields: readonly Part[]) => connectOf({ level: 5, flags }, ...fields);
const publish = (...parts: readonly Part[]) => packet(0x30, ...parts);
const illFormed = prefixed(Buffer.from([0x61, 0xc0, 0xaf]));

const lawful: readonly (readonly [what: string, version: ProtocolVersion, bytes: Buffer])[] = [
  ['a CONNECT', 5, ofV5(2, none, 'id')],
  ['a CONNECT without a client id', 5, ofV5(0, none, '')],
  ['a password without a user name', 5, ofV5(0x42, none, 'id', 'secret')],
  [
    'a CONNECT with all properties',
    5,
    ofV5(
      2,
      props(
        ...[[0x11, 0, 0, 0, 9], [0x21, 0, 1], [0x27, 0, 0, 0, 1], [0x22, 0, 0], [0x19, 1], [0x17, 0], user(), user()],
        ...[[0x15], 'method', [0x16], 'data'],
      ),
      'id',
    ),
  ],
  [
    'a will with all properties',
    5,
    ofV5(
      0xee,
      none,
      'id',
      props([0x18, 0, 0, 0, 1, 0x01, 1, 0x02, 0, 0, 0, 1, 0x03], 'type', [0x08], 'answers', [0x09], 'data', user()),
      ...['will/topic', 'gone', 'name', 'password'],
    ),
  ],
  ['a CONNECT of 3.1.1', 4, connectOf({}, 'id')],
  ['a CONNECT of a bridge', 4, connectOf({ level: 0x84 }, 'id')],
  ['a CONNECT of 3.1', 3, connectOf({ name: 'MQIsdp', level: 3 }, 'id')],
  ['a PUBLISH', 5, publish('a', none)],
  ['a PUBLISH with a payload', 5, publish('a/é/€/😀', none, Buffer.from([0, 0xff]))],
  ['a PUBLISH of QoS 2, repeated, retained', 5, packet(0x3d, 'a', id, none)],
  ['a topic alias without a topic', 5, publish('', props([0x23, 0, 1]))],
  [
    'a PUBLISH with all properties',
    5,
    publish(
      'a',
      props(
        ...[[0x01, 0, 0x02, 0, 0, 0, 0, 0x23, 0xff, 0xff, 0x08], 'b/c', [0x09], '', [0x03], 'text', user(), user('')],
      ),
    ),
  ],
  ['a PUBLISH of 3.1.1', 4, packet(0x32, 'a', id, Buffer.from('x'))],
  ['a padded length of 3.1.1', 4, Buffer.from([0xc0, 0x80, 0x00])],
  ...[0x40, 0x50, 0x62, 0x70].flatMap((header): [string, ProtocolVersion, Buffer][] => [
    [`an acknowledgement ${header.toString(16)}`, 5, packet(header, id)],
    [`an acknowledgement ${header.toString(16)} of 3.1.1`, 4, packet(header, id)],
    [`an acknowledgement ${header.toString(16)} with a code`, 5, packet(header, id, [0])],
    [
      `an acknowledgement ${header.toString(16)} with properties`,
      5,
      packet(header, id, [0], props([0x1f], 'why', user(), user())),
    ],
    [
      `an acknowledgement ${header.toString(16)} of a failure`,
      5,
      packet(header, id, [header === 0x62 || header === 0x70 ? 0x92 : 0x87]),
    ],
  ]),
  ['a SUBSCRIBE', 5, packet(0x82, id, none, 'a/+/#', [0x2e])],
  ['a SUBSCRIBE with properties', 5, packet(0x82, id, props([0x0b, 0xff, 0xff, 0xff, 0x7f], user()), '#', [0])],
  ['a shared subscription', 5, packet(0x82, id, none, '$share/group/a/+', [0x01], '$share/g/#', [0x28])],
  ['what only looks shared', 5, packet(0x82, id, none, '$share', [4], '$shared/+', [4])],
  ['a filter that 3.1.1 does not know as shared', 4, packet(0x82, id, '$share/+/#', [1])],
  ['a SUBSCRIBE that a client of 3.1 repeats', 3, packet(0x8a, id, 'a', [1])],
  ['an UNSUBSCRIBE', 5, packet(0xa2, id, props(user()), 'a', '$share/g/b')],
  ['a PINGREQ', 5, packet(0xc0)],
  ['a DISCONNECT', 5, packet(0xe0)],
  ['a DISCONNECT with a code', 5, packet(0xe0, [4])],
  ['a DISCONNECT with properties', 5, packet(0xe0, [0], props([0x11, 0, 0, 0, 0, 0x1f], 'bye', user()))],
  ['a DISCONNECT of 3.1.1', 4, packet(0xe0)],
  ['an AUTH', 5, packet(0xf0, [0x18], props([0x15], 'method', [0x16], 'data', [0x1f], 'why', user()))],
];

type Bad = readonly [clause: string, code: ReasonCode, version: ProtocolVersion, bytes: Buffer];
const end = 'MQTT-4.13.1-1';

const bad: readonly Bad[] = [
  ['MQTT-3.1.2-1', unsupportedProtocolVersion, 4, connectOf({ name: 'MQTU' }, 'id')],
  ['MQTT-3.1.2-2', unsupportedProtocolVersion, 4, connectOf({ level: 6 }, 'id')],
  ['MQTT-3.1.2-2', unsupportedProtocolVersion, 4, connectOf({ name: 'MQIsdp', level: 4 }, 'id')],
  ['MQTT-3.1.2-3', malformedPacket, 5, ofV5(3, none, 'id')],
  ['MQTT-3.1.2-11', malformedPacket, 5, ofV5(0x0a, none, 'id')],
  ['MQTT-3.1.2-13', malformedPacket, 5, ofV5(0x22, none, 'id')],
  ['MQTT-3.1.2-12', malformedPacket, 5, ofV5(0x1e, none, 'id', none, 'w', 'gone')],
  ['MQTT-3.1.2-22', malformedPacket, 4, connectOf({ flags: 0x42 }, 'id', 'secret')],
  ['MQTT-3.1.4-1', malformedPacket, 5, ofV5(2, none, 'id', [0])],
  [end, malformedPacket, 5, ofV5(2, none)],
  [end, malformedPacket, 5, ofV5(2)],
  [end, malformedPacket, 5, ofV5(0x82, none, 'id')],
  [end, malformedPacket, 5, ofV5(0x06, none, 'id', none, 'topic')],
  ['MQTT-4.8.0-1', malformedPacket, 4, packet(0x10)],
  ['3.1.2.11.3', protocolError, 5, ofV5(2, props([0x21, 0, 0]), 'id')],
  ['3.1.2.11.4', protocolError, 5, ofV5(2, props([0x27, 0, 0, 0, 0]), 'id')],
  ['3.1.2.11.6', protocolError, 5, ofV5(2, props([0x19, 2]), 'id')],
  ['3.1.2.11.7', protocolError, 5, ofV5(2, props([0x17, 2]), 'id')],
  ['3.1.2.11.10', protocolError, 5, ofV5(2, props([0x16], 'data'), 'id')],
  ['2.2.2.2', malformedPacket, 5, ofV5(2, props([0x01, 0]), 'id')],
  ['2.2.2.2', malformedPacket, 5, ofV5(2, props([0x18, 0, 0, 0, 1]), 'id')],
  ['2.2.2.2', malformedPacket, 5, ofV5(0x06, none, 'id', props([0x11, 0, 0, 0, 1]), 'w', 'gone')],
  ['2.2.2.2', protocolError, 5, ofV5(2, props([0x11, 0, 0, 0, 1, 0x11, 0, 0, 0, 1]), 'id')],
  ['2.2.2.2', protocolError, 5, ofV5(2, props([0x22, 0, 1, 0x22, 0, 1]), 'id')],
  ['MQTT-1.5.4-1', malformedPacket, 5, ofV5(2, none, illFormed)],
  ['MQTT-1.5.4-2', malformedPacket, 5, ofV5(2, none, 'i\0d')],
  ['MQTT-1.5.4-1', malformedPacket, 5, ofV5(2, props([0x26], 'name', illFormed), 'id')],
  ['MQTT-1.5.4-1', malformedPacket, 5, ofV5(0x82, none, 'id', illFormed)],
  ['MQTT-4.7.0-1', malformedPacket, 5, ofV5(0x06, none, 'id', none, 'w/+', 'gone')],
  ['MQTT-4.7.3-1', malformedPacket, 5, ofV5(0x06, none, 'id', none, '', 'gone')],
  ['MQTT-2.1.3-1', malformedPacket, 5, connectOf({ level: 5, header: 0x11 }, none, 'id')],

  ['2.1.2', malformedPacket, 5, packet(0x00)],
  ['2.2.1', malformedPacket, 4, packet(0xf0)],
  ...[0x20, 0x90, 0xb0, 0xd0].map((header): Bad => ['2.1.2', protocolError, 5, packet(header, id, none)]),
  ['MQTT-1.5.5-1', malformedPacket, 5, Buffer.from([0xc0, 0x80, 0x00])],
  ['2.1.4', malformedPacket, 5, Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x01])],

  ['MQTT-3.3.1-4', malformedPacket, 5, packet(0x36, 'a', id, none)],
  ['MQTT-3.3.1-2', malformedPacket, 5, packet(0x38, 'a', none)],
  ['MQTT-2.2.1-3', protocolError, 5, packet(0x32, 'a', [0, 0], none)],
  ['MQTT-2.3.1-1', protocolError, 4, packet(0x32, 'a', [0, 0])],
  ['MQTT-3.3.2-2', malformedPacket, 5, publish('a/#', none)],
  ['MQTT-3.3.2-2', malformedPacket, 5, publish('a+', none)],
  ['MQTT-1.5.4-1', malformedPacket, 5, publish(illFormed, none)],
  ['MQTT-1.5.4-2', malformedPacket, 5, publish('a\0', none)],
  ['3.3.2.1', protocolError, 5, publish('', none)],
  ['MQTT-4.7.3-1', malformedPacket, 4, publish('')],
  ['MQTT-3.3.2-8', topicAliasInvalid, 5, publish('a', props([0x23, 0, 0]))],
  ['MQTT-3.3.4-6', protocolError, 5, publish('a', props([0x0b, 1]))],
  ['MQTT-3.3.2-14', malformedPacket, 5, publish('a', props([0x08], 'b/#'))],
  ['MQTT-4.7.3-1', malformedPacket, 5, publish('a', props([0x08], ''))],
  ['3.3.2.3.2', protocolError, 5, publish('a', props([0x01, 2]))],
  ['2.2.2.2', protocolError, 5, publish('a', props([0x23, 0, 1, 0x23, 0, 1]))],
  ['2.2.2.2', malformedPacket, 5, publish('a', props([0x18, 0, 0, 0, 1]))],
  ['2.2.2.2', malformedPacket, 5, publish('a', props([0x7f, 0]))],
  ['2.2.2.2', malformedPacket, 5, publish('a', props([0x00, 0]))],
  ['MQTT-1.5.5-1', malformedPacket, 5, publish('a', [0x80, 0x00])],
  ['MQTT-1.5.5-1', malformedPacket, 5, publish('a', props([0x81, 0x00, 0]))],
  ['1.5.5', malformedPacket, 5, publish('a', [0x80, 0x80, 0x80, 0x80, 0x01])],
  [end, malformedPacket, 5, publish('a')],
  [end, malformedPacket, 5, publish('a', [3, 0x23, 0])],
  [end, malformedPacket, 5, publish('a', props([0x02, 0, 0, 0]))],
  [end, malformedPacket, 5, publish('a', props([0x26], 'name'))],
  [end, malformedPacket, 5, publish([0, 5, 0x61])],
  ['MQTT-1.5.4-1', malformedPacket, 5, publish('a', props([0x03], illFormed))],

  ...[4, 5, 6, 7].flatMap((type): Bad[] => {
    const header = (type << 4) | (type === 6 ? 2 : 0);
    return [
      ['MQTT-2.2.1-3', protocolError, 5, packet(header, [0, 0])],
      [`MQTT-3.${type}.2-1`, protocolError, 5, packet(header, id, [type < 6 ? 0x92 : 0x87])],
      [`MQTT-3.${type}.2-1`, protocolError, 5, packet(header, id, [0x81], none)],
      [end, malformedPacket, 5, packet(header, [0])],
      [end, malformedPacket, 5, packet(header, id, [0], none, [0])],
      [end, malformedPacket, 5, packet(header, id, [0], [9])],
      ['2.2.2.2', malformedPacket, 5, packet(header, id, [0], props([0x11, 0, 0, 0, 0]))],
      ['2.2.2.2', protocolError, 5, packet(header, id, [0], props([0x1f], 'a', [0x1f], 'b'))],
      ['MQTT-4.8.0-1', malformedPacket, 4, packet(header, id, [0])],
      [type === 6 ? 'MQTT-3.6.1-1' : 'MQTT-2.1.3-1', malformedPacket, 5, packet(header ^ 2, id)],
    ];
  }),

  ['MQTT-3.8.1-1', malformedPacket, 5, packet(0x80, id, none, 'a', [0])],
  ['MQTT-3.8.1-1', malformedPacket, 5, packet(0x8a, id, none, 'a', [0])],
  ['MQTT-2.2.1-3', protocolError, 5, packet(0x82, [0, 0], none, 'a', [0])],
  ['MQTT-3.8.3-2', protocolError, 5, packet(0x82, id, none)],
  ['MQTT-3.8.3-3', protocolError, 4, packet(0x82, id)],
  ['3.8.2.1.2', protocolError, 5, packet(0x82, id, props([0x0b, 0]), 'a', [0])],
  ['1.5.5', malformedPacket, 5, packet(0x82, id, props([0x0b, 0x80, 0x80, 0x80, 0x80, 0x01]), 'a', [0])],
  ['2.2.2.2', protocolError, 5, packet(0x82, id, props([0x0b, 1, 0x0b, 2]), 'a', [0])],
  ['MQTT-3.8.3-5', malformedPacket, 5, packet(0x82, id, none, 'a', [0x40])],
  ['MQTT-3.8.3-5', malformedPacket, 5, packet(0x82, id, none, 'a', [0x80])],
  ['3.8.3.1', protocolError, 5, packet(0x82, id, none, 'a', [3])],
  ['3.8.3.1', protocolError, 5, packet(0x82, id, none, 'a', [0x30])],
  ['MQTT-3.8.3-4', protocolError, 5, packet(0x82, id, none, '$share/g/a', [0x04])],
  ['MQTT-3-8.3-4', malformedPacket, 4, packet(0x82, id, 'a', [4])],
  ...['$share/', '$share//a', '$share/g', '$share/g/', '$share/+/a', '$share/g#/a', '$share/a+b/c'].map(
    (filter): Bad => ['MQTT-4.8.2-2', protocolError, 5, packet(0x82, id, none, 'good', [0], filter, [0])],
  ),
  ['MQTT-4.7.1-1', malformedPacket, 5, packet(0x82, id, none, '$share/g/#/a', [0])],
  ['MQTT-4.7.1-1', malformedPacket, 5, packet(0x82, id, none, 'a#', [0])],
  ['MQTT-4.7.1-2', malformedPacket, 5, packet(0x82, id, none, 'a/+b', [0])],
  ['MQTT-4.7.1-2', malformedPacket, 4, packet(0x82, id, '#/a', [0])],
  ['MQTT-4.7.3-1', malformedPacket, 5, packet(0x82, id, none, '', [0])],
  ['MQTT-1.5.4-1', malformedPacket, 5, packet(0x82, id, none, illFormed, [0])],
  [end, malformedPacket, 5, packet(0x82, id, none, 'a')],
  [end, malformedPacket, 5, packet(0x82, id)],

  ['MQTT-3.10.1-1', malformedPacket, 5, packet(0xa0, id, none, 'a')],
  ['MQTT-3.10.3-2', protocolError, 5, packet(0xa2, id, none)],
  ['2.2.2.2', malformedPacket, 5, packet(0xa2, id, props([0x0b, 1]), 'a')],
  ['MQTT-4.8.2-2', protocolError, 5, packet(0xa2, id, none, '$share/g')],

  [end, malformedPacket, 5, packet(0xc0, [0])],
  ['MQTT-2.1.3-1', malformedPacket, 5, packet(0xc1)],
  ['MQTT-3.14.1-1', malformedPacket, 5, packet(0xe1)],
  ...[0x01, 0x10, 0x87, 0x8b, 0x8e, 0x9c, 0xff].map(
    (code): Bad => ['MQTT-3.14.2-1', protocolError, 5, packet(0xe0, [code])],
  ),
  ['2.2.2.2', malformedPacket, 5, packet(0xe0, [0], props([0x21, 0, 1]))],
  [end, malformedPacket, 5, packet(0xe0, [0], none, [0])],
  ['MQTT-4.8.0-1', malformedPacket, 4, packet(0xe0, [0])],

  ['MQTT-3.15.1-1', malformedPacket, 5, packet(0xf2, [0x18], none)],
  ['MQTT-3.15.2-1', protocolError, 5, packet(0xf0)],
  ['MQTT-3.15.2-1', protocolError, 5, packet(0xf0, [0], none)],
  ['3.15.2.2.2', protocolError, 5, packet(0xf0, [0x19], none)],
];

suite('a packet', () => {
  test('that is lawful has no fault', () => {
    for (const [what, version, bytes] of lawful) assert.equal(packetFault(bytes, version), undefined, what);
  });

  test('that breaks a clause has the code and the number of the clause', () => {
    for (const [clause, reasonCode, version, bytes] of bad) {
      const { detail, ...fault } = packetFault(bytes, version) ?? { detail: '' };
      assert.deepEqual(fault, { reasonCode, clause }, `${clause}: ${bytes.toString('hex')}: ${detail}`);
    }
  });

  test('is judged where it lies, by its own bytes alone', () => {
    for (const [, version, bytes] of lawful) {
      const around = Buffer.concat([Buffer.alloc(3, 0x30), bytes, Buffer.alloc(5, 0xff)]);
      assert.equal(packetFault(around, version, 3, 3 + bytes.length), undefined);
    }
    for (const [clause, , version, bytes] of bad) {
      const around = Buffer.concat([Buffer.alloc(3, 0x30), bytes, Buffer.alloc(300, 0)]);
      assert.equal(packetFault(around, version, 3, 3 + bytes.length)?.clause, clause);
    }
  });

  test('is refused by its first byte and its length where these tell, before the rest has come', () => {
    const lengthOf = (bytes: Buffer) => bytes.length - variableIntegerEnd(bytes, 1, bytes.length);
    for (const [what, version, bytes] of lawful)
      assert.equal(headerFault(bytes[0]!, lengthOf(bytes), version), undefined, what);
    for (let header = 0; header < 256; header++) {
      for (const version of [3, 4, 5] as const) {
        for (const length of [0, 1, 2, 3]) {
          const early = headerFault(header, length, version);
          const whole = packetFault(Buffer.from([header, length, 0, 7, 0].slice(0, 2 + length)), version);
          if (early !== undefined) assert.deepEqual(early, whole);
        }
      }
    }
  });

  test('that ends early has a fault, but where what lacks may lack', () => {
    for (const [what, version, bytes] of lawful) {
      if (bytes.length > 127) continue;
      for (let length = 0; length < bytes.length - 2; length++) {
        const cut = Buffer.from(bytes.subarray(0, 2 + length));
        cut[1] = length;
        if (packetFault(cut, version) !== undefined) continue;
        // A payload, filters, and what is behind a packet id or a code.
        assert.ok([3, 4, 5, 6, 7, 8, 10, 12, 14].includes(bytes[0]! >> 4), `${what}: ${cut.toString('hex')}`);
      }
    }
  });

  test('of any bytes is judged without an error; what has no fault can be read', () => {
    const some = fc.constantFrom(...lawful.map(([, version, bytes]) => ({ version, bytes })));
    const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    const frame = new PublishFrame();
    let passed = 0;
    const property = fc.property(some, fc.array(change, { maxLength: 3 }), ({ version, bytes }, changes) => {
      const mutated = Buffer.from(bytes);
      // Not the length: a frame is what its length says.
      for (const { at, byte } of changes) if (at % mutated.length !== 1) mutated[at % mutated.length] = byte;
      if (packetFault(mutated, version) !== undefined) return;
      passed += 1;
      assert.equal(frame.look(mutated, 0, version), 'whole');
      assert.equal(frame.end, mutated.length);
      if (frame.type === 3) assert.ok(frame.isPublish);
      if ([1, 8, 10, 14, 15].includes(frame.type)) parsePacket(mutated, version);
    });
    fc.assert(property, properties({ factor: 10 }));
    assert.ok(passed > 0);
  });

  test('of very many properties takes time in proportion to its bytes', () => {
    const many = (count: number) => publish('a', props(Buffer.concat(Array(count).fill(user()))));
    const msOf = (bytes: Buffer) => {
      const sinceMs = performance.now();
      for (let n = 0; n < 100; n++) assert.equal(packetFault(bytes, 5), undefined);
      return performance.now() - sinceMs;
    };
    // As many as may be, and a tenth of that.
    const [few, more] = [many(900), many(9_000)];
    msOf(few);
    assert.ok(msOf(more) < 100 * (msOf(few) + 1));
  });
});
