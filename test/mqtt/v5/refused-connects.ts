// CONNECT packets that MQTT 5 does not allow, clause by clause. Data of refused.test.ts.
import { connectOf, type Part, packet, prefixed } from '../../support/mqtt/packet-bytes.ts';
import { password } from '../../support/people.ts';

export interface Refused {
  readonly clause: string;
  readonly what: string;
  readonly sends: Buffer;
  /** The reason that the server may give in CONNACK, or gives in DISCONNECT; several where the specification leaves it open. */
  readonly codes: readonly number[];
}

const malformed = [0x81];
const protocolError = [0x82];
const either = [0x81, 0x82];
const id = 'refused';
/** User name and password, Clean Start. */
const withLogin = 0xc2;
const login = ['owner', password] as const;
/** The same with a will. */
const withWill = 0x04 | withLogin;

/** Bytes that are no UTF-8: cut short, overlong, a surrogate, beyond U+10FFFF, a byte of no character. */
export const badTexts: readonly (readonly [what: string, bytes: Buffer, clause: string])[] = [
  ...Object.entries({
    'cut short': [0xe2, 0x82],
    overlong: [0xc0, 0xaf],
    'half a surrogate pair': [0xed, 0xa0, 0x80],
    'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
    'a byte of no character': [0xff],
  }).map(([what, bytes]) => [`ill-formed UTF-8 (${what})`, Buffer.from(bytes), 'MQTT-1.5.4-1'] as const),
  ['U+0000', Buffer.from('a\0b'), 'MQTT-1.5.4-2'],
];

/** Properties with their length before them. */
export function properties(...parts: readonly (readonly number[] | Buffer)[]): Buffer {
  const all = Buffer.concat(parts.map((part) => Buffer.from(part as number[])));
  if (all.length > 127) throw new Error('A test has longer properties.');
  return Buffer.concat([Buffer.from([all.length]), all]);
}

/** A property that is a text. */
export const textProperty = (number: number, text: string | Buffer) =>
  Buffer.concat([Buffer.from([number]), prefixed(text)]);

export const userProperty = (name: string | Buffer, value: string | Buffer) =>
  Buffer.concat([Buffer.from([0x26]), prefixed(name), prefixed(value)]);

const connect = (options: Parameters<typeof connectOf>[0], ...fields: readonly Part[]) =>
  connectOf({ level: 5, flags: withLogin, ...options }, ...fields);
const withProperties = (bytes: Buffer) => connect({}, bytes, id, ...login);
const withWillProperties = (bytes: Buffer) =>
  connect({ flags: withWill }, [0], id, bytes, 'users/owner/will', 'gone', ...login);

/** Each property that CONNECT may have, once lawful. */
const connectProperties: Readonly<Record<string, Buffer>> = {
  'Session Expiry Interval': Buffer.from([0x11, 0, 0, 0, 9]),
  'Receive Maximum': Buffer.from([0x21, 0, 9]),
  'Maximum Packet Size': Buffer.from([0x27, 0, 1, 0, 0]),
  'Topic Alias Maximum': Buffer.from([0x22, 0, 9]),
  'Request Response Information': Buffer.from([0x19, 1]),
  'Request Problem Information': Buffer.from([0x17, 1]),
};

const willProperties: Readonly<Record<string, Buffer>> = {
  'Will Delay Interval': Buffer.from([0x18, 0, 0, 0, 9]),
  'Payload Format Indicator': Buffer.from([0x01, 1]),
  'Message Expiry Interval': Buffer.from([0x02, 0, 0, 0, 9]),
  'Content Type': textProperty(0x03, 'text'),
  'Response Topic': textProperty(0x08, 'answer'),
  'Correlation Data': textProperty(0x09, 'data'),
};

/** Those of other packets, and numbers that are of none. */
const foreign: Readonly<Record<string, Buffer>> = {
  'Subscription Identifier': Buffer.from([0x0b, 1]),
  'Assigned Client Identifier': textProperty(0x12, 'x'),
  'Server Keep Alive': Buffer.from([0x13, 0, 1]),
  'Response Information': textProperty(0x1a, 'x'),
  'Server Reference': textProperty(0x1c, 'x'),
  'Reason String': textProperty(0x1f, 'x'),
  'Topic Alias': Buffer.from([0x23, 0, 1]),
  'Maximum QoS': Buffer.from([0x24, 1]),
  'Retain Available': Buffer.from([0x25, 1]),
  'Wildcard Subscription Available': Buffer.from([0x28, 1]),
  'Subscription Identifier Available': Buffer.from([0x29, 1]),
  'Shared Subscription Available': Buffer.from([0x2a, 1]),
  'number 0': Buffer.from([0x00, 1]),
  'number 4': Buffer.from([0x04, 1]),
  'number 43': Buffer.from([0x2b, 1]),
  'number 127': Buffer.from([0x7f, 1]),
};

export const refusedConnects: readonly Refused[] = [
  ...[3, 8, 12, 14, 0, 15, 2].map((type) => ({
    clause: 'MQTT-3.1.0-1',
    what: `a first packet of type ${type}`,
    sends: packet((type << 4) | (type === 8 ? 2 : 0), type === 3 ? 'users/owner/x' : []),
    codes: [],
  })),
  ...['', 'MQTU', 'mqtt', 'MQTTT', 'HTTP'].map((name) => ({
    clause: 'MQTT-3.1.2-1',
    what: `the protocol name ${JSON.stringify(name)}`,
    sends: connect({ name }, [0], id, ...login),
    codes: [0x84],
  })),
  ...[6, 7, 0x7f, 0x85, 0xff].map((level) => ({
    clause: 'MQTT-3.1.2-2',
    what: `the protocol level ${level}`,
    sends: connect({ level }, [0], id, ...login),
    codes: [0x84],
  })),
  ...[1, 2, 8, 15].map((flags) => ({
    clause: 'MQTT-2.1.3-1',
    what: `flags ${flags} in the first byte`,
    sends: connect({ header: 0x10 | flags }, [0], id, ...login),
    codes: malformed,
  })),
  {
    clause: 'MQTT-3.1.2-3',
    what: 'the reserved flag',
    sends: connect({ flags: 0xc3 }, [0], id, ...login),
    codes: malformed,
  },
  ...[0x08, 0x10, 0x18].map((qos) => ({
    clause: 'MQTT-3.1.2-11',
    what: `a QoS of a will without a will (${qos})`,
    sends: connect({ flags: withLogin | qos }, [0], id, ...login),
    codes: either,
  })),
  {
    clause: 'MQTT-3.1.2-13',
    what: 'RETAIN of a will without a will',
    sends: connect({ flags: withLogin | 0x20 }, [0], id, ...login),
    codes: either,
  },
  {
    clause: 'MQTT-3.1.2-12',
    what: 'a will of QoS 3',
    sends: connect({ flags: withWill | 0x18 }, [0], id, [0], 'users/owner/will', 'gone', ...login),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.1.2-9',
    what: 'no will where a flag says so',
    sends: connect({ flags: 0x06 }, [0], id),
    codes: malformed,
  },
  { clause: 'MQTT-3.1.2-17', what: 'no user name where a flag says so', sends: connect({}, [0], id), codes: malformed },
  {
    clause: 'MQTT-3.1.2-19',
    what: 'no password where a flag says so',
    sends: connect({}, [0], id, 'owner'),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.1.2-16, -18',
    what: 'a user name and a password where no flag says so',
    sends: connect({ flags: 2 }, [0], id, ...login),
    codes: malformed,
  },
  { clause: 'MQTT-3.1.3-3', what: 'no client id', sends: connect({}, [0]), codes: malformed },
  { clause: 'MQTT-2.2.2-1', what: 'no length of properties', sends: connect({ flags: 2 }), codes: malformed },
  { clause: 'MQTT-3.1.4-1', what: 'a CONNECT of no bytes', sends: packet(0x10), codes: malformed },
  { clause: 'MQTT-3.1.4-1', what: 'an end within the flags', sends: packet(0x10, 'MQTT', [5]), codes: malformed },
  {
    clause: 'MQTT-3.1.4-1',
    what: 'an end within the keep-alive',
    sends: packet(0x10, 'MQTT', [5, 2, 0]),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.1.4-1',
    what: 'a client id longer than the packet',
    sends: connect({ flags: 2 }, [0, 0, 9, 0x61]),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.1.4-1',
    what: 'bytes behind the last field',
    sends: connect({}, [0], id, ...login, [0]),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.1.4-1',
    what: 'properties longer than the packet',
    sends: connect({}, [100], id, ...login),
    codes: malformed,
  },
  {
    clause: 'MQTT-1.5.5-1',
    what: 'a length of properties in more bytes than it needs',
    sends: connect({}, [0x80, 0], id, ...login),
    codes: malformed,
  },
  {
    clause: 'MQTT-1.5.5-1',
    what: 'a length of properties of five bytes',
    sends: connect({}, [0x80, 0x80, 0x80, 0x80, 0], id, ...login),
    codes: malformed,
  },
  {
    clause: 'MQTT-1.5.5-1',
    what: 'a remaining length of five bytes',
    sends: Buffer.concat([Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x01]), Buffer.from('more')]),
    codes: malformed,
  },
  ...Object.entries({ ...foreign, ...willProperties }).map(([what, bytes]) => ({
    clause: '2.2.2.2',
    what: `a CONNECT with ${what}`,
    sends: withProperties(properties(bytes)),
    codes: either,
  })),
  ...Object.entries({ ...foreign, ...connectProperties }).map(([what, bytes]) => ({
    clause: '2.2.2.2',
    what: `a will with ${what}`,
    sends: withWillProperties(properties(bytes)),
    codes: either,
  })),
  ...Object.entries(connectProperties).flatMap(([what, bytes]) => [
    {
      clause: '3.1.2.11',
      what: `${what} twice`,
      sends: withProperties(properties(bytes, bytes)),
      codes: protocolError,
    },
    {
      clause: '2.2.2',
      what: `${what} cut short`,
      sends: withProperties(properties(bytes.subarray(0, -1))),
      codes: malformed,
    },
  ]),
  ...Object.entries(willProperties).flatMap(([what, bytes]) => [
    {
      clause: '3.1.3.2',
      what: `${what} of a will twice`,
      sends: withWillProperties(properties(bytes, bytes)),
      codes: protocolError,
    },
    {
      clause: '2.2.2',
      what: `${what} of a will cut short`,
      sends: withWillProperties(properties(bytes.subarray(0, -1))),
      codes: malformed,
    },
  ]),
  ...Object.entries({
    'Receive Maximum 0': ['3.1.2.11.3', [0x21, 0, 0]],
    'Maximum Packet Size 0': ['3.1.2.11.4', [0x27, 0, 0, 0, 0]],
    'Request Response Information 2': ['3.1.2.11.6', [0x19, 2]],
    'Request Problem Information 2': ['3.1.2.11.7', [0x17, 2]],
  } as const).map(([what, [clause, bytes]]) => ({
    clause,
    what,
    sends: withProperties(properties(bytes)),
    codes: protocolError,
  })),
  {
    clause: '3.1.2.11.10',
    what: 'authentication data without a method',
    sends: withProperties(properties(textProperty(0x16, 'data'))),
    codes: protocolError,
  },
  {
    clause: '3.1.3.2.3',
    what: 'a Payload Format Indicator 2 of a will',
    sends: withWillProperties(properties([0x01, 2])),
    codes: either,
  },
  ...['a/+', '#', 'a#b'].map((topic) => ({
    clause: 'MQTT-3.3.2-14',
    what: `the response topic ${topic} of a will`,
    sends: withWillProperties(properties(textProperty(0x08, topic))),
    codes: [0x81, 0x82, 0x90],
  })),
  ...['', 'a/+', 'a/#', 'a+b'].map((topic) => ({
    clause: topic === '' ? 'MQTT-4.7.3-1' : 'MQTT-4.7.0-1',
    what: `a will to ${JSON.stringify(topic)}`,
    sends: connect({ flags: withWill }, [0], id, [0], topic, 'gone', ...login),
    codes: [0x81, 0x82, 0x90],
  })),
  ...badTexts.flatMap(([what, bytes, clause]) => [
    { clause, what: `a client id with ${what}`, sends: connect({}, [0], prefixed(bytes), ...login), codes: malformed },
    {
      clause,
      what: `a user name with ${what}`,
      sends: connect({}, [0], id, prefixed(bytes), password),
      codes: malformed,
    },
    {
      clause,
      what: `the topic of a will with ${what}`,
      sends: connect({ flags: withWill }, [0], id, [0], prefixed(bytes), 'gone', ...login),
      codes: malformed,
    },
    {
      clause: 'MQTT-1.5.7-1',
      what: `the name of a user property with ${what}`,
      sends: withProperties(properties(userProperty(bytes, 'x'))),
      codes: malformed,
    },
    {
      clause: 'MQTT-1.5.7-1',
      what: `the value of a user property of a will with ${what}`,
      sends: withWillProperties(properties(userProperty('x', bytes))),
      codes: malformed,
    },
    {
      clause,
      what: `an authentication method with ${what}`,
      sends: withProperties(properties(textProperty(0x15, bytes))),
      codes: malformed,
    },
    {
      clause: 'MQTT-3.3.2-19',
      what: `the content type of a will with ${what}`,
      sends: withWillProperties(properties(textProperty(0x03, bytes))),
      codes: malformed,
    },
  ]),
];
