// Packets that MQTT 3.1.1 does not allow, clause by clause: what closes a connection, with what answer, and leaves nothing
// behind. Data of refused.test.ts. Where 3.1.1 leaves open what a server does, the row says what this one does.
import { connectOf, lengthBytes, type Part, packet } from '../../support/mqtt/packet-bytes.ts';
import { password } from '../../support/people.ts';

export interface Refused {
  readonly clause: string;
  readonly what: string;
  readonly sends: Buffer;
  /** In hexadecimal; nothing by default. */
  readonly answers?: string;
}

const id = 'refused';
/** Flags of a CONNECT: user name and password, a will, of QoS 1, retained. */
const withLogin = 0xc2;
const login: readonly Part[] = ['owner', password];

/** Bytes that are no UTF-8: cut short, overlong, a surrogate, beyond U+10FFFF, a byte of no character. */
const illFormed = Object.entries({
  'cut short': [0xe2, 0x82],
  overlong: [0xc0, 0xaf],
  'half a surrogate pair': [0xed, 0xa0, 0x80],
  'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
  'a byte of no character': [0xff],
}).map(([what, bytes]) => [`ill-formed UTF-8 (${what})`, Buffer.from(bytes), 'MQTT-1.5.3-1'] as const);

const badTexts = [...illFormed, ['U+0000', Buffer.from('a\0b'), 'MQTT-1.5.3-2'] as const];

/** A field of these bytes with more around them, length first. */
const field = (start: string, bytes: Buffer, end = ''): Buffer => {
  const all = Buffer.concat([Buffer.from(start), bytes, Buffer.from(end)]);
  return Buffer.concat([Buffer.from([all.length >> 8, all.length & 255]), all]);
};

/** The first packet of a connection. */
export const firstPackets: readonly Refused[] = [
  ...[3, 8, 12, 14, 0, 15, 2].map((type) => ({
    clause: 'MQTT-3.1.0-1',
    what: `a first packet of type ${type}`,
    sends: packet((type << 4) | (type === 8 ? 2 : 0), type === 3 ? 'devices/d/sensors/s/value' : []),
  })),
  ...['', 'MQTU', 'mqtt', 'MQTTT', 'MQIsdq', 'HTTP'].map((name) => ({
    clause: 'MQTT-3.1.2-1',
    what: `the protocol name ${JSON.stringify(name)}`,
    sends: connectOf({ name }, id),
  })),
  // A level above those that are known is told so in the form of version 5, the latest.
  ...[0, 1, 2, 3, 6, 7, 0x7f, 0x82, 0xff].map((level) => ({
    clause: 'MQTT-3.1.2-2',
    what: `the protocol level ${level}`,
    sends: connectOf({ level }, id),
    answers: (level & 0x7f) > 5 ? '2003008400' : '20020001',
  })),
  ...[2, 4, 5].map((level) => ({
    clause: 'MQTT-3.1.2-2',
    what: `the protocol level ${level} under the name of version 3`,
    sends: connectOf({ name: 'MQIsdp', level }, id),
    answers: '20020001',
  })),
  { clause: 'MQTT-3.1.2-3', what: 'the reserved flag of CONNECT', sends: connectOf({ flags: 0x03 }, id) },
  ...[0x08, 0x10, 0x18].map((flags) => ({
    clause: 'MQTT-3.1.2-13',
    what: `a QoS of a will without a will (${flags})`,
    sends: connectOf({ flags: 0x02 | flags }, id),
  })),
  { clause: 'MQTT-3.1.2-15', what: 'RETAIN of a will without a will', sends: connectOf({ flags: 0x22 }, id) },
  {
    clause: 'MQTT-3.1.2-14',
    what: 'a will of QoS 3',
    sends: connectOf({ flags: 0x1e | withLogin }, id, 'users/owner/w', 'gone', ...login),
  },
  {
    clause: 'MQTT-3.1.2-22',
    what: 'a password without a user name',
    sends: connectOf({ flags: 0x42 }, id, password),
  },
  {
    clause: 'MQTT-3.1.2-18',
    what: 'a user name where no flag says so',
    sends: connectOf({}, id, ...login),
  },
  { clause: 'MQTT-3.1.2-19', what: 'no user name where a flag says so', sends: connectOf({ flags: withLogin }, id) },
  {
    clause: 'MQTT-3.1.2-21',
    what: 'no password where a flag says so',
    sends: connectOf({ flags: withLogin }, id, 'owner'),
  },
  { clause: 'MQTT-3.1.2-9', what: 'no will where a flag says so', sends: connectOf({ flags: 0x06 }, id) },
  { clause: 'MQTT-3.1.3-3', what: 'no client id', sends: connectOf({}) },
  { clause: 'MQTT-4.8.0-1', what: 'a CONNECT that ends within the flags', sends: packet(0x10, 'MQTT', [4]) },
  { clause: 'MQTT-4.8.0-1', what: 'a CONNECT that ends within the keep-alive', sends: packet(0x10, 'MQTT', [4, 2, 0]) },
  { clause: 'MQTT-4.8.0-1', what: 'a CONNECT of no bytes', sends: packet(0x10) },
  { clause: 'MQTT-4.8.0-1', what: 'a client id longer than the packet', sends: connectOf({}, [0, 9, 0x61]) },
  {
    clause: 'MQTT-4.8.0-1',
    what: 'bytes behind the last field',
    sends: connectOf({ flags: withLogin }, id, ...login, [0]),
  },
  {
    clause: 'MQTT-3.1.3-8',
    what: 'no client id for a session that is kept',
    sends: connectOf({ flags: 0xc0 }, '', ...login),
    answers: '20020002',
  },
  {
    clause: '3.1 of version 3.1',
    what: 'no client id in version 3.1, which needs one',
    sends: connectOf({ name: 'MQIsdp', level: 3, flags: withLogin }, '', ...login),
    answers: '20020002',
  },
  ...badTexts.flatMap(([what, bytes, clause]) => [
    { clause, what: `a client id with ${what}`, sends: connectOf({ flags: withLogin }, field('a', bytes), ...login) },
    {
      clause,
      what: `a user name with ${what}`,
      sends: connectOf({ flags: withLogin }, id, field('owner', bytes), password),
    },
    {
      clause,
      what: `the topic of a will with ${what}`,
      sends: connectOf({ flags: 0x04 | withLogin }, id, field('users/owner/', bytes), 'gone', ...login),
    },
  ]),
  ...['', 'a/+', 'a/#', 'a+b'].map((topic) => ({
    clause: topic === '' ? 'MQTT-4.7.3-1' : 'MQTT-4.7.1-1',
    what: `a will to ${JSON.stringify(topic)}`,
    sends: connectOf({ flags: 0x04 | withLogin }, id, topic, 'gone', ...login),
  })),
  ...[1, 2, 8, 15].map((flags) => ({
    clause: 'MQTT-2.2.2-2',
    what: `flags ${flags} in the first byte of a CONNECT`,
    sends: connectOf({ flags: withLogin, header: 0x10 | flags }, id, ...login),
  })),
  {
    clause: '2.2.3',
    what: 'a remaining length of five bytes',
    sends: Buffer.concat([Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x01]), Buffer.from('more')]),
  },
];

const topic = 'devices/d/sensors/s/value';
const value = Buffer.from('{"value":1}');
const retained = 'users/owner/r';
/** SUBSCRIBE's flags are 2. */
const subscribe = 0x82;
const unsubscribe = 0xa2;
const packetId = [0, 7];

/** A packet after CONNACK. */
export const laterPackets: readonly Refused[] = [
  { clause: 'MQTT-3.1.0-2', what: 'a second CONNECT', sends: connectOf({ flags: withLogin }, id, ...login) },
  {
    clause: 'MQTT-3.1.0-2',
    what: 'a second CONNECT, as somebody else',
    sends: connectOf({ flags: withLogin }, 'b', 'stranger', password),
  },
  ...[0, 2, 9, 11, 13, 15].map((type) => ({
    clause: type === 0 || type === 15 ? '2.2.1, Table 2.1: reserved' : '2.2.1, Table 2.1: of servers alone',
    what: `a packet of type ${type}`,
    sends: packet(type << 4, type === 9 ? [0, 7, 0] : type === 13 ? [] : packetId),
  })),
  ...Object.entries({
    PUBACK: [0x40, 0, packetId],
    PUBREC: [0x50, 0, packetId],
    PUBREL: [0x60, 2, packetId],
    PUBCOMP: [0x70, 0, packetId],
    SUBSCRIBE: [0x80, 2, [...packetId, 0, 1, 0x61, 0]],
    UNSUBSCRIBE: [0xa0, 2, [...packetId, 0, 1, 0x61]],
    PINGREQ: [0xc0, 0, []],
    DISCONNECT: [0xe0, 0, []],
  } as const).flatMap(([name, [type, right, body]]) =>
    Array.from({ length: 16 }, (_, flags) => flags)
      .filter((flags) => flags !== right)
      .map((flags) => ({
        clause: name === 'DISCONNECT' ? 'MQTT-3.14.1-1' : name === 'PUBREL' ? 'MQTT-3.6.1-1' : 'MQTT-2.2.2-2',
        what: `flags ${flags} in a ${name}`,
        sends: packet(type | flags, body),
      })),
  ),
  ...[0x40, 0x50, 0x62, 0x70].flatMap((header) => [
    ...[[], [0], [0, 7, 0], [0, 7, 0, 0], [...packetId, ...Array(3_000).fill(0)]].map((body) => ({
      clause: 'MQTT-4.8.0-1',
      what: `an acknowledgement ${header.toString(16)} of ${body.length} bytes`,
      sends: packet(header, body),
    })),
    {
      clause: 'MQTT-2.3.1-1',
      what: `an acknowledgement ${header.toString(16)} of packet id 0`,
      sends: packet(header, [0, 0]),
    },
  ]),
  { clause: 'MQTT-4.8.0-1', what: 'a PINGREQ with bytes', sends: packet(0xc0, [0]) },
  { clause: 'MQTT-4.8.0-1', what: 'a DISCONNECT with bytes', sends: packet(0xe0, [0]) },
  { clause: 'MQTT-3.3.1-4', what: 'a PUBLISH of QoS 3', sends: packet(0x36, topic, packetId, value) },
  { clause: 'MQTT-3.3.1-2', what: 'a PUBLISH of QoS 0 with DUP', sends: packet(0x38, topic, value) },
  ...[0x32, 0x34].flatMap((header) => [
    {
      clause: 'MQTT-2.3.1-1',
      what: `a PUBLISH ${header.toString(16)} of packet id 0`,
      sends: packet(header, topic, [0, 0], value),
    },
    ...[[], [0]].map((body) => ({
      clause: 'MQTT-4.8.0-1',
      what: `a PUBLISH ${header.toString(16)} that ends ${body.length} bytes behind its topic`,
      sends: packet(header, topic, body),
    })),
  ]),
  ...[[], [0], [0, 30, 0x61]].map((body) => ({
    clause: 'MQTT-4.8.0-1',
    what: `a PUBLISH that ends within its topic, of ${body.length} bytes`,
    sends: packet(0x30, body),
  })),
  ...['', '#', '+', 'devices/+/sensors/s/value', 'devices/d/#', 'users/owner/a#', 'users/owner/a+b'].flatMap((name) =>
    [0x30, 0x33, 0x35].map((header) => ({
      clause: name === '' ? 'MQTT-4.7.3-1' : 'MQTT-3.3.2-2',
      what: `a PUBLISH ${header.toString(16)} to ${JSON.stringify(name)}`,
      sends: packet(header, name, header === 0x30 ? [] : packetId, value),
    })),
  ),
  ...badTexts.flatMap(([what, bytes, clause]) => [
    ...[0x30, 0x31, 0x32, 0x33, 0x34].map((header) => ({
      clause,
      what: `a PUBLISH ${header.toString(16)} to a topic with ${what}`,
      sends: packet(header, field(`${retained}/`, bytes), header < 0x32 ? [] : packetId, value),
    })),
    {
      clause,
      what: `a PUBLISH to a sensor with ${what}`,
      sends: packet(0x32, field('devices/d/sensors/s', bytes, '/value'), packetId, value),
    },
    {
      clause,
      what: `a SUBSCRIBE to a filter with ${what}`,
      sends: packet(subscribe, packetId, 'good', [1], field('a/', bytes), [1]),
    },
    {
      clause,
      what: `an UNSUBSCRIBE from a filter with ${what}`,
      sends: packet(unsubscribe, packetId, 'good', field('a/', bytes)),
    },
  ]),
  { clause: 'MQTT-3.8.3-3', what: 'a SUBSCRIBE without a filter', sends: packet(subscribe, packetId) },
  { clause: 'MQTT-3.10.3-2', what: 'an UNSUBSCRIBE without a filter', sends: packet(unsubscribe, packetId) },
  ...[subscribe, unsubscribe].flatMap((header) => {
    const name = header === subscribe ? 'SUBSCRIBE' : 'UNSUBSCRIBE';
    const option = header === subscribe ? [1] : [];
    return [
      { clause: 'MQTT-2.3.1-1', what: `a ${name} of packet id 0`, sends: packet(header, [0, 0], 'good', option) },
      { clause: 'MQTT-4.8.0-1', what: `a ${name} of no bytes`, sends: packet(header) },
      { clause: 'MQTT-4.8.0-1', what: `a ${name} of one byte`, sends: packet(header, [0]) },
      {
        clause: 'MQTT-4.8.0-1',
        what: `a ${name} that ends within its filter`,
        sends: packet(header, packetId, 'good', option, [0, 9, 0x61]),
      },
      ...['', 'a#', '#/a', 'a/#/b', 'a/b#', '+a', 'a+', 'a/+b/c', 'a/b+/c', '##', '++', '#+'].map((filter) => ({
        clause: filter === '' ? 'MQTT-4.7.3-1' : filter.includes('#') ? 'MQTT-4.7.1-2' : 'MQTT-4.7.1-3',
        what: `a ${name} with the filter ${JSON.stringify(filter)}`,
        sends: packet(header, packetId, 'good', option, filter, option),
      })),
    ];
  }),
  { clause: 'MQTT-4.8.0-1', what: 'a SUBSCRIBE that ends before a QoS', sends: packet(subscribe, packetId, 'good') },
  ...[3, 4, 0x08, 0x10, 0x40, 0x80, 0xff].map((option) => ({
    clause: 'MQTT-3-8.3-4',
    what: `a SUBSCRIBE with the QoS byte ${option}`,
    sends: packet(subscribe, packetId, 'good', [1], 'a', [option]),
  })),
  ...[0x30, subscribe, 0xc0].map((header) => ({
    clause: '2.2.3',
    what: `a remaining length of five bytes behind ${header.toString(16)}`,
    sends: Buffer.concat([Buffer.from([header, 0x80, 0x80, 0x80, 0x80, 0x01]), lengthBytes(0)]),
  })),
];
