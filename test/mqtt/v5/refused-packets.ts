// Packets after CONNACK that MQTT 5 does not allow, clause by clause. Data of refused.test.ts.
import { connectOf, type Part, packet, prefixed } from '../../support/mqtt/packet-bytes.ts';
import { password } from '../../support/people.ts';
import { badTexts, properties, type Refused, textProperty, userProperty } from './refused-connects.ts';

const malformed = [0x81];
const protocolError = [0x82];
const either = [0x81, 0x82];
const topicInvalid = [0x81, 0x82, 0x90];
const filterInvalid = [0x81, 0x82, 0x8f];
const topic = 'devices/d/sensors/s/value';
const value = Buffer.from('{"value":1}');
const retained = 'users/owner/r';
const packetId = [0, 7];
const subscribe = (...parts: readonly Part[]) => packet(0x82, packetId, ...parts);
const unsubscribe = (...parts: readonly Part[]) => packet(0xa2, packetId, ...parts);
const publish = (bytes: Buffer, name = topic) => packet(0x32, name, packetId, bytes, value);

const publishProperties: Readonly<Record<string, Buffer>> = {
  'Payload Format Indicator': Buffer.from([0x01, 1]),
  'Message Expiry Interval': Buffer.from([0x02, 0, 0, 0, 9]),
  'Content Type': textProperty(0x03, 'text'),
  'Response Topic': textProperty(0x08, 'answer'),
  'Correlation Data': textProperty(0x09, 'data'),
  'Topic Alias': Buffer.from([0x23, 0, 1]),
};

/** Those that a PUBLISH of a client, an acknowledgement, a SUBSCRIBE or a DISCONNECT has not. */
const foreign: Readonly<Record<string, Buffer>> = {
  'Assigned Client Identifier': textProperty(0x12, 'x'),
  'Server Keep Alive': Buffer.from([0x13, 0, 1]),
  'Authentication Method': textProperty(0x15, 'x'),
  'Request Problem Information': Buffer.from([0x17, 1]),
  'Will Delay Interval': Buffer.from([0x18, 0, 0, 0, 1]),
  'Receive Maximum': Buffer.from([0x21, 0, 1]),
  'Maximum QoS': Buffer.from([0x24, 1]),
  'Maximum Packet Size': Buffer.from([0x27, 0, 0, 1, 0]),
  'number 0': Buffer.from([0x00, 1]),
  'number 127': Buffer.from([0x7f, 1]),
};

const acknowledgements = { PUBACK: 0x40, PUBREC: 0x50, PUBREL: 0x62, PUBCOMP: 0x70 } as const;
/** A reason that each of them may not give. */
const foreignReasons = { PUBACK: 0x92, PUBREC: 0x92, PUBREL: 0x80, PUBCOMP: 0x10 } as const;

export const refusedPackets: readonly Refused[] = [
  {
    clause: 'MQTT-3.1.0-2',
    what: 'a second CONNECT, as somebody else',
    sends: connectOf({ level: 5, flags: 0xc2 }, [0], 'b', 'stranger', password),
    codes: protocolError,
  },
  ...[0, 2, 9, 11, 13].map((type) => ({
    clause: type === 0 ? '2.1.2: reserved' : '2.1.2: of servers alone',
    what: `a packet of type ${type}`,
    sends: packet(type << 4, type === 9 || type === 11 ? [0, 7, 0, 0] : type === 2 ? [0, 0, 0] : []),
    codes: either,
  })),
  ...Object.entries({
    PUBACK: [0x40, 0, packetId],
    PUBREC: [0x50, 0, packetId],
    PUBREL: [0x60, 2, packetId],
    PUBCOMP: [0x70, 0, packetId],
    SUBSCRIBE: [0x80, 2, [...packetId, 0, 0, 1, 0x61, 0]],
    UNSUBSCRIBE: [0xa0, 2, [...packetId, 0, 0, 1, 0x61]],
    PINGREQ: [0xc0, 0, []],
    DISCONNECT: [0xe0, 0, []],
    AUTH: [0xf0, 0, [0x19, 0]],
  } as const).flatMap(([name, [type, right, body]]) =>
    [0, 1, 2, 4, 8, 15]
      .filter((flags) => flags !== right)
      .map((flags) => ({
        clause:
          {
            PUBREL: 'MQTT-3.6.1-1',
            SUBSCRIBE: 'MQTT-3.8.1-1',
            UNSUBSCRIBE: 'MQTT-3.10.1-1',
            DISCONNECT: 'MQTT-3.14.1-1',
            AUTH: 'MQTT-3.15.1-1',
          }[name as string] ?? 'MQTT-2.1.3-1',
        what: `flags ${flags} in a ${name}`,
        sends: packet(type | flags, body),
        codes: malformed,
      })),
  ),
  ...Object.entries(acknowledgements).flatMap(([name, header]) => [
    ...[[], [0]].map((body) => ({
      clause: '4.13.1',
      what: `a ${name} of ${body.length} bytes`,
      sends: packet(header, body),
      codes: malformed,
    })),
    { clause: 'MQTT-2.2.1-3', what: `a ${name} of packet id 0`, sends: packet(header, [0, 0]), codes: either },
    ...[0x01, 0x7f, foreignReasons[name as keyof typeof foreignReasons], 0xff].map((code) => ({
      clause: { PUBACK: 'MQTT-3.4.2-1', PUBREC: 'MQTT-3.5.2-1', PUBREL: 'MQTT-3.6.2-1', PUBCOMP: 'MQTT-3.7.2-1' }[
        name as keyof typeof acknowledgements
      ],
      what: `a ${name} with reason ${code.toString(16)}`,
      sends: packet(header, packetId, [code]),
      codes: either,
    })),
    {
      clause: '2.2.2',
      what: `a ${name} with properties longer than it`,
      sends: packet(header, packetId, [0, 5, 0x1f]),
      codes: malformed,
    },
    {
      clause: '4.13.1',
      what: `a ${name} with bytes behind its properties`,
      sends: packet(header, packetId, [0, 0, 0]),
      codes: malformed,
    },
    ...Object.entries(foreign).map(([what, bytes]) => ({
      clause: '2.2.2.2',
      what: `a ${name} with ${what}`,
      sends: packet(header, packetId, [0], properties(bytes)),
      codes: either,
    })),
    {
      clause: '3.4.2.2.2',
      what: `a ${name} with two reason strings`,
      sends: packet(header, packetId, [0], properties(textProperty(0x1f, 'a'), textProperty(0x1f, 'b'))),
      codes: protocolError,
    },
  ]),
  { clause: '4.13.1', what: 'a PINGREQ with bytes', sends: packet(0xc0, [0]), codes: malformed },
  ...[0x01, 0x05, 0x7f, 0x8c, 0xa3, 0xff].map((code) => ({
    clause: 'MQTT-3.14.2-1',
    what: `a DISCONNECT with reason ${code.toString(16)}`,
    sends: packet(0xe0, [code]),
    codes: either,
  })),
  ...Object.entries({ ...foreign, 'Topic Alias': Buffer.from([0x23, 0, 1]) }).map(([what, bytes]) => ({
    clause: '2.2.2.2',
    what: `a DISCONNECT with ${what}`,
    sends: packet(0xe0, [0], properties(bytes)),
    codes: either,
  })),
  {
    clause: '3.14.2.2.2',
    what: 'a DISCONNECT with two expiries',
    sends: packet(0xe0, [0], properties([0x11, 0, 0, 0, 0], [0x11, 0, 0, 0, 0])),
    codes: protocolError,
  },
  {
    clause: '4.13.1',
    what: 'a DISCONNECT with bytes behind its properties',
    sends: packet(0xe0, [0, 0, 0]),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.3.1-4',
    what: 'a PUBLISH of QoS 3',
    sends: packet(0x36, topic, packetId, [0], value),
    codes: malformed,
  },
  {
    clause: 'MQTT-3.3.1-2',
    what: 'a PUBLISH of QoS 0 with DUP',
    sends: packet(0x38, topic, [0], value),
    codes: either,
  },
  ...[0x32, 0x34].flatMap((header) => [
    {
      clause: 'MQTT-2.2.1-3',
      what: `a PUBLISH ${header.toString(16)} of packet id 0`,
      sends: packet(header, topic, [0, 0, 0], value),
      codes: either,
    },
    ...[[], [0], [0, 7]].map((body) => ({
      clause: '4.13.1',
      what: `a PUBLISH ${header.toString(16)} that ends ${body.length} bytes behind its topic`,
      sends: packet(header, topic, body),
      codes: malformed,
    })),
  ]),
  ...[[], [0], [0, 30, 0x61]].map((body) => ({
    clause: '4.13.1',
    what: `a PUBLISH that ends within its topic, of ${body.length} bytes`,
    sends: packet(0x30, body),
    codes: malformed,
  })),
  ...['#', '+', 'devices/+/sensors/s/value', 'devices/d/#', 'users/owner/a#', 'users/owner/a+b'].flatMap((name) =>
    [0x30, 0x33, 0x35].map((header) => ({
      clause: 'MQTT-3.3.2-2',
      what: `a PUBLISH ${header.toString(16)} to ${JSON.stringify(name)}`,
      sends: packet(header, name, header === 0x30 ? [] : packetId, [0], value),
      codes: topicInvalid,
    })),
  ),
  {
    clause: '3.3.2.1',
    what: 'a PUBLISH without topic and alias',
    sends: publish(properties(), ''),
    codes: protocolError,
  },
  {
    clause: '3.3.2.3.4',
    what: 'a PUBLISH with an alias that stands for nothing',
    sends: publish(properties([0x23, 0, 9]), ''),
    codes: protocolError,
  },
  {
    clause: 'MQTT-3.3.4-6',
    what: 'a PUBLISH of a client with a Subscription Identifier',
    sends: publish(properties([0x0b, 1])),
    codes: either,
  },
  ...Object.entries(foreign).map(([what, bytes]) => ({
    clause: '2.2.2.2',
    what: `a PUBLISH with ${what}`,
    sends: publish(properties(bytes)),
    codes: either,
  })),
  ...Object.entries(publishProperties).flatMap(([what, bytes]) => [
    {
      clause: '3.3.2.3',
      what: `a PUBLISH with ${what} twice`,
      sends: publish(properties(bytes, bytes)),
      codes: protocolError,
    },
    {
      clause: '2.2.2',
      what: `a PUBLISH with ${what} cut short`,
      sends: publish(properties(bytes.subarray(0, -1))),
      codes: malformed,
    },
  ]),
  { clause: '3.3.2.3.2', what: 'a Payload Format Indicator 2', sends: publish(properties([0x01, 2])), codes: either },
  ...['a/+', '#', 'a#b'].map((name) => ({
    clause: 'MQTT-3.3.2-14',
    what: `the response topic ${name}`,
    sends: publish(properties(textProperty(0x08, name))),
    codes: topicInvalid,
  })),
  {
    clause: 'MQTT-1.5.5-1',
    what: 'a length of properties in more bytes than it needs',
    sends: publish(Buffer.from([0x80, 0])),
    codes: malformed,
  },
  ...badTexts.flatMap(([what, bytes, clause]) => [
    ...[0x30, 0x33, 0x34].map((header) => ({
      clause,
      what: `a PUBLISH ${header.toString(16)} to a topic with ${what}`,
      sends: packet(
        header,
        prefixed(Buffer.concat([Buffer.from(`${retained}/`), bytes])),
        header === 0x30 ? [] : packetId,
        [0],
        value,
      ),
      codes: [0x81, 0x90],
    })),
    ...Object.entries({
      'a response topic': ['MQTT-3.3.2-13', textProperty(0x08, bytes)],
      'a content type': ['MQTT-3.3.2-19', textProperty(0x03, bytes)],
      'the name of a user property': ['MQTT-1.5.7-1', userProperty(bytes, 'x')],
      'the value of a user property': ['MQTT-1.5.7-1', userProperty('x', bytes)],
    } as const).map(([field, [number, property]]) => ({
      clause: number,
      what: `${field} with ${what}`,
      sends: publish(properties(property)),
      codes: malformed,
    })),
    {
      clause: 'MQTT-3.8.3-1',
      what: `a SUBSCRIBE to a filter with ${what}`,
      sends: subscribe([0], 'good', [1], prefixed(bytes), [1]),
      codes: [0x81, 0x8f],
    },
    {
      clause: 'MQTT-3.10.3-1',
      what: `an UNSUBSCRIBE from a filter with ${what}`,
      sends: unsubscribe([0], 'good', prefixed(bytes)),
      codes: [0x81, 0x8f],
    },
  ]),
  { clause: 'MQTT-3.8.3-2', what: 'a SUBSCRIBE without a filter', sends: subscribe([0]), codes: either },
  { clause: 'MQTT-3.10.3-2', what: 'an UNSUBSCRIBE without a filter', sends: unsubscribe([0]), codes: either },
  ...(['SUBSCRIBE', 'UNSUBSCRIBE'] as const).flatMap((name) => {
    const header = name === 'SUBSCRIBE' ? 0x82 : 0xa2;
    const option = name === 'SUBSCRIBE' ? [1] : [];
    const bodies: readonly (readonly [what: string, body: readonly Part[]])[] = [
      ['of no bytes', []],
      ['of one byte', [[0]]],
      ['without a length of properties', [packetId]],
      ['that ends within its filter', [packetId, [0], 'good', option, [0, 9, 0x61]]],
      ['with properties longer than it', [packetId, [9], 'good', option]],
    ];
    return [
      ...bodies.map(([what, body]) => ({
        clause: '4.13.1',
        what: `a ${name} ${what}`,
        sends: packet(header, ...body),
        codes: malformed,
      })),
      {
        clause: 'MQTT-2.2.1-3',
        what: `a ${name} of packet id 0`,
        sends: packet(header, [0, 0, 0], 'good', option),
        codes: either,
      },
      ...Object.entries({ ...foreign, 'Topic Alias': Buffer.from([0x23, 0, 1]) }).map(([what, bytes]) => ({
        clause: '2.2.2.2',
        what: `a ${name} with ${what}`,
        sends: packet(header, packetId, properties(bytes), 'good', option),
        codes: either,
      })),
      ...['', 'a#', '#/a', 'a/#/b', '+a', 'a+', 'a/+b/c', '##', '++'].map((filter) => ({
        clause: filter === '' ? 'MQTT-4.7.3-1' : filter.includes('#') ? 'MQTT-4.7.1-1' : 'MQTT-4.7.1-2',
        what: `a ${name} with the filter ${JSON.stringify(filter)}`,
        sends: packet(header, packetId, [0], 'good', option, filter, option),
        codes: filterInvalid,
      })),
    ];
  }),
  ...['$share/', '$share/g', '$share/g/', '$share//a', '$share/+/a', '$share/#/a', '$share/a+/a', '$share/g#/a'].map(
    (filter) => ({
      clause: filter.endsWith('/a') && filter !== '$share//a' ? 'MQTT-4.8.2-2' : 'MQTT-4.8.2-1',
      what: `a SUBSCRIBE to ${filter}`,
      sends: subscribe([0], filter, [1]),
      codes: filterInvalid,
    }),
  ),
  {
    clause: 'MQTT-3.8.3-4',
    what: 'No Local of a shared subscription',
    sends: subscribe([0], '$share/g/a', [0x05]),
    codes: protocolError,
  },
  ...[0x03, 0x30, 0x40, 0x80, 0xff].map((option) => ({
    clause: option === 0x03 || option === 0x30 ? '3.8.3.1' : 'MQTT-3.8.3-5',
    what: `a SUBSCRIBE with the options ${option}`,
    sends: subscribe([0], 'good', [1], 'a', [option]),
    codes: either,
  })),
  {
    clause: '4.13.1',
    what: 'a SUBSCRIBE that ends before its options',
    sends: subscribe([0], 'good'),
    codes: malformed,
  },
  ...Object.entries({
    'Subscription Identifier 0': properties([0x0b, 0]),
    'Subscription Identifier twice': properties([0x0b, 1], [0x0b, 2]),
    'a Subscription Identifier in more bytes than it needs': properties([0x0b, 0x81, 0]),
    'a Subscription Identifier of five bytes': properties([0x0b, 0xff, 0xff, 0xff, 0xff, 1]),
  }).map(([what, bytes]) => ({
    clause: '3.8.2.1.2',
    what: `a SUBSCRIBE with ${what}`,
    sends: subscribe(bytes, 'good', [1]),
    codes: either,
  })),
  ...[0x00, 0x18, 0x19].map((code) => ({
    clause: '4.12',
    what: `an AUTH with reason ${code} of who gave no method`,
    sends: packet(0xf0, [code], properties(textProperty(0x15, 'x'))),
    codes: protocolError,
  })),
  { clause: '3.15.2.2.2', what: 'an AUTH without a method', sends: packet(0xf0, [0x18, 0]), codes: protocolError },
  {
    clause: 'MQTT-3.15.2-1',
    what: 'an AUTH with another reason',
    sends: packet(0xf0, [0x01], properties(textProperty(0x15, 'x'))),
    codes: either,
  },
  ...[0x30, 0x82, 0xc0].map((header) => ({
    clause: 'MQTT-1.5.5-1',
    what: `a remaining length of five bytes behind ${header.toString(16)}`,
    sends: Buffer.from([header, 0x80, 0x80, 0x80, 0x80, 0x01, 0]),
    codes: malformed,
  })),
];
