// The reader in place and the encoder of PUBLISH packets, beside mqtt-packet, in each version, with any cuts.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet';
import { properties } from '../../../test/support/properties.ts';
import { limits } from '../../config/limits.ts';
import { packetFault } from './packet-faults.ts';
import type { ProtocolVersion, Qos } from './packet-types.ts';
import { type PublishForm, PublishForms, packetBytesOf, patched } from './publish-forms.ts';
import { PublishFrame } from './publish-frame.ts';
import { variableIntegerMax } from './variable-integers.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).map((some) => some.replaceAll('\0', '').toWellFormed());
const topic = fc.oneof(
  fc.constantFrom('devices/d/sensors/s/value', 'a', '/', 'x'.repeat(127), 'y'.repeat(200)),
  text.map((some) => `t/${some.replaceAll(/[+#]/g, '')}`),
);
const payload = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(0, 110, 127, 128, 16_383, 16_384, 70_000).map((length) => Buffer.alloc(length, 0x7b)),
);
const qos = fc.constantFrom<Qos[]>(0, 1, 2);
const version = fc.constantFrom<ProtocolVersion[]>(3, 4, 5);
const number = (min: number, max: number) => fc.integer({ min, max });
const seconds = number(0, 2 ** 32 - 1);
const identifier = fc.oneof(number(1, 300), fc.constantFrom(127, 128, 16_383, 16_384, 2_097_152, variableIntegerMax));
/** mqtt-packet loses the order of names, and values that are empty: one name with several values shows that all are there. */
const userProperties = fc
  .array(text, { minLength: 2, maxLength: 3 })
  .map((values) => ({ name: values.map((value) => `v${value}`) }));
/** Without those that are undefined. */
const some = <T extends object>(record: fc.Arbitrary<T>) =>
  record.map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const kept = some(
  fc.record({
    payloadFormatIndicator: maybe(fc.boolean()),
    contentType: maybe(text),
    responseTopic: maybe(topic),
    correlationData: maybe(fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes))),
    userProperties: maybe(userProperties),
  }),
) as fc.Arbitrary<NonNullable<IPublishPacket['properties']>>;
const ofHop = some(
  fc.record({ topicAlias: maybe(number(1, 65_535)), messageExpiryInterval: maybe(seconds) }),
) as fc.Arbitrary<{ readonly topicAlias?: number; readonly messageExpiryInterval?: number }>;
const publish = fc
  .record({ topic, payload, qos, dup: fc.boolean(), retain: fc.boolean(), messageId: number(1, 65_535), kept, ofHop })
  .map(({ kept: forwarded, ofHop: own, ...fields }) => ({ ...fields, properties: { ...own, ...forwarded } }));

function written(fields: Omit<IPublishPacket, 'cmd'>, protocolVersion: ProtocolVersion): Buffer {
  const { qos: level, dup, properties: all = {}, ...others } = fields;
  const packet: Packet = { cmd: 'publish', ...others, qos: level, dup: dup && level > 0, properties: all };
  return generate(packet, { protocolVersion });
}

/** What mqtt-packet reads in these bytes. */
function parsed(bytes: Buffer, protocolVersion: ProtocolVersion): IPublishPacket {
  const found: Packet[] = [];
  const parse = parser({ protocolVersion });
  parse.on('packet', (packet) => found.push(packet));
  parse.on('error', (error: Error) => assert.fail(error.message));
  parse.parse(bytes);
  assert.equal(found.length, 1);
  return found[0] as IPublishPacket;
}

/** An object of no prototype is as good as another. */
const plain = (value: unknown): unknown => (value === undefined ? {} : { ...(value as object) });
const assertSameProperties = (actual: unknown, expected: unknown) =>
  assert.deepEqual(JSON.parse(JSON.stringify(plain(actual))), JSON.parse(JSON.stringify(plain(expected))));

suite('the reader in place', () => {
  test('finds in a PUBLISH what mqtt-packet finds, wherever it lies', () => {
    const frame = new PublishFrame();
    const property = fc.property(publish, version, number(0, 5), (fields, level, before) => {
      const bytes = written(fields, level);
      assert.equal(packetFault(bytes, level), undefined);
      const expected = parsed(bytes, level);
      const around = Buffer.concat([Buffer.alloc(before, 0xff), bytes, Buffer.from('behind')]);
      assert.equal(frame.look(around, before, level), 'whole');
      assert.ok(frame.isPublish);
      assert.deepEqual(
        {
          topic: around.toString('utf8', frame.topicStart, frame.topicEnd),
          payload: around.subarray(frame.payloadStart, frame.end),
          flags: [frame.qos, frame.isDup, frame.isRetain],
          id: frame.packetId,
          end: frame.end,
        },
        {
          topic: expected.topic,
          payload: expected.payload,
          flags: [expected.qos, expected.dup, expected.retain],
          id: expected.messageId ?? 0,
          end: before + bytes.length,
        },
      );
      const {
        topicAlias = 0,
        messageExpiryInterval = -1,
        payloadFormatIndicator,
        responseTopic = '',
      } = expected.properties ?? {};
      assert.deepEqual([frame.topicAlias, frame.expiryS], [topicAlias, messageExpiryInterval]);
      assert.equal(frame.payloadFormat, payloadFormatIndicator === undefined ? -1 : Number(payloadFormatIndicator));
      assert.equal(around.toString('utf8', frame.responseTopicStart, frame.responseTopicEnd), responseTopic);
    });
    fc.assert(property, properties());
  });

  test('finds the same packets in a stream, wherever that is cut', () => {
    const packets = fc.array(publish, { minLength: 1, maxLength: 4 });
    const property = fc.property(packets, version, fc.array(fc.nat(), { maxLength: 6 }), (all, level, cuts) => {
      const frames = all.map((fields) => written(fields, level));
      const bytes = Buffer.concat(frames);
      const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((one, other) => one - other);
      const frame = new PublishFrame();
      const found: Buffer[] = [];
      let at = 0;
      for (const end of ends) {
        const received = bytes.subarray(0, end);
        while (at < end) {
          const state = frame.look(received, at, level);
          if (state === 'partial') {
            const whole = at + (frames[found.length] as Buffer).length;
            assert.ok(frame.end === -1 || frame.end === whole, 'the end of a partial packet is known or unknown');
            break;
          }
          assert.equal(state, 'whole');
          found.push(received.subarray(at, frame.end));
          at = frame.end;
        }
      }
      assert.deepEqual(found, frames);
    });
    fc.assert(property, properties());
  });

  test('finds packet id and reason code of an acknowledgement', () => {
    const frame = new PublishFrame();
    for (const cmd of ['puback', 'pubrec', 'pubrel', 'pubcomp'] as const) {
      const reasonCode = cmd === 'puback' || cmd === 'pubrec' ? 0x97 : 0x92;
      const failed = generate({ cmd, messageId: 513, reasonCode }, { protocolVersion: 5 });
      assert.equal(frame.look(failed, 0, 5), 'whole');
      assert.deepEqual([frame.packetId, frame.reasonCode, frame.isPublish], [513, reasonCode, false]);
      assert.equal(frame.look(generate({ cmd, messageId: 513 }, { protocolVersion: 4 }), 0, 4), 'whole');
      assert.deepEqual([frame.packetId, frame.reasonCode], [513, 0]);
    }
  });

  test('says of a broken length that it is, and takes no PUBLISH whose fields do not add up', () => {
    const frame = new PublishFrame();
    assert.equal(frame.look(Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff]), 0, 5), 'broken');
    assert.equal(frame.look(Buffer.from([0x30, 0xff, 0xff, 0xff]), 0, 5), 'partial');
    assert.equal(frame.end, -1);
    for (const hex of [
      '3000',
      '300100',
      '30020001',
      '3204000161ff',
      '3003000161',
      '300400016105',
      '3006000161020205',
    ]) {
      assert.equal(frame.look(Buffer.from(hex, 'hex'), 0, 5), 'whole', hex);
      assert.equal(frame.isPublish, false, hex);
    }
    // In more bytes than it takes: the length of the packet, which 3.1.1 allows, and that of the properties.
    for (const hex of ['30840000016100', '30050001618000']) {
      assert.equal(frame.look(Buffer.from(hex, 'hex'), 0, 5), 'whole', hex);
      assert.equal(frame.isPublish, false, hex);
      assert.equal(frame.look(Buffer.from(hex, 'hex'), 0, 4), 'whole', hex);
      assert.equal(frame.isPublish, true, hex);
    }
  });

  test('passes on all properties but those of one hop, in their order', () => {
    const bytes = written(
      {
        ...{ topic: 'a', payload: 'x', qos: 0, dup: false, retain: false },
        properties: {
          ...{
            contentType: 'text',
            topicAlias: 3,
            userProperties: { b: ['1', '2'], a: '3' },
            messageExpiryInterval: 9,
          },
          correlationData: Buffer.from('data'),
        },
      },
      5,
    );
    const frame = new PublishFrame();
    frame.look(bytes, 0, 5);
    const expected = written(
      {
        ...{ topic: 'a', payload: '', qos: 0, dup: false, retain: false },
        properties: {
          ...{ contentType: 'text', userProperties: { b: ['1', '2'], a: '3' }, correlationData: Buffer.from('data') },
        },
      },
      5,
    );
    assert.deepEqual(frame.forwardable(), expected.subarray(6));
  });
});

suite('the forms of a message', () => {
  const wholeOf = (form: PublishForm, own: Parameters<typeof patched>[1]) =>
    Buffer.concat([patched(form, own), form.tail ?? Buffer.alloc(0)]);

  test('are read by mqtt-packet as what was published, and are lawful', () => {
    const ids = fc.array(identifier, { maxLength: 3 });
    const alias = maybe(fc.record({ alias: number(1, 65_535), isKnown: fc.boolean() }));
    const property = fc.property(
      fc.record({ fields: publish, level: version, ids, alias, secondsLeft: seconds, from: version }),
      ({ fields, level, ids: subscriptionIds, alias: own, secondsLeft, from }) => {
        const frame = new PublishFrame();
        assert.equal(frame.look(written(fields, from), 0, from), 'whole');
        const expiryS = frame.expiryS < 0 ? undefined : frame.expiryS;
        const forms = new PublishForms({ ...fields, properties: frame.forwardable(), expiryS });
        const form =
          level === 5
            ? forms.ofReceiver(fields.qos, fields.retain, { subscriptionIds, alias: own })
            : forms.of(level, fields.qos, fields.retain);
        const isDup = fields.dup && fields.qos > 0;
        const bytes = wholeOf(form, { packetId: fields.messageId, isDup, expiryS: secondsLeft });
        assert.equal(bytes.length, packetBytesOf(form));
        const { topic: name, payload: content, properties: told, ...rest } = parsed(bytes, level);
        assert.equal(name, level === 5 && own?.isKnown === true ? '' : fields.topic);
        assert.deepEqual(content, fields.payload);
        assert.deepEqual([rest.qos, rest.dup, rest.retain], [fields.qos, isDup, fields.retain]);
        assert.equal(rest.messageId, fields.qos > 0 ? fields.messageId : undefined);
        const { topicAlias: _, messageExpiryInterval: __, ...forwarded } = fields.properties;
        const [first] = subscriptionIds;
        assertSameProperties(
          told,
          level === 5
            ? {
                ...(expiryS === undefined ? {} : { messageExpiryInterval: secondsLeft }),
                ...(own === undefined ? {} : { topicAlias: own.alias }),
                ...(first === undefined
                  ? {}
                  : { subscriptionIdentifier: subscriptionIds.length === 1 ? first : subscriptionIds }),
                ...(from === 5 ? forwarded : {}),
              }
            : {},
        );
        if (subscriptionIds.length === 0) assert.equal(packetFault(bytes, level), undefined);
      },
    );
    fc.assert(property, properties());
  });

  test('are made once for each version, QoS and RETAIN, and once in a row for receivers with the same identifiers', () => {
    let encoded = 0;
    const count = () => {
      encoded += 1;
    };
    const forms = new PublishForms({ topic: 'a', payload: 'x' }, count);
    assert.equal(forms.of(4, 1), forms.of(3, 1));
    assert.equal(forms.of(5, 1), forms.ofReceiver(1, false, {}));
    assert.notEqual(forms.of(5, 1), forms.of(5, 1, true));
    assert.equal(encoded, 3);
    const first = forms.ofReceiver(1, false, { subscriptionIds: [1, 2] });
    assert.equal(forms.ofReceiver(1, false, { subscriptionIds: [1, 2] }), first);
    assert.notEqual(forms.ofReceiver(1, false, { subscriptionIds: [2, 1] }), first);
    assert.equal(encoded, 5);
  });

  test('with identifiers do not copy a large payload', () => {
    const large = Buffer.alloc(limits.joinedWriteBytesMax + 1);
    const forms = new PublishForms({ topic: 'a', payload: large });
    const { bytes, tail } = forms.ofReceiver(0, false, { subscriptionIds: [1] });
    assert.equal(tail, large);
    assert.ok(bytes.length < 20);
  });
});
