// The answers of a server, as mqtt-packet reads them in each version.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Packet, parser } from 'mqtt-packet';
import { limits } from '../../config/limits.ts';
import {
  acknowledgement,
  connack,
  disconnect,
  pingResponse,
  suback,
  unsuback,
  writeAcknowledgement,
} from './answers.ts';
import { type AcknowledgementType, type ProtocolVersion, packetTypes } from './packet-types.ts';
import { reasonCodes, returnCodeOf } from './reason-codes.ts';

const { success, quotaExceeded, notAuthorized, grantedQos1, noSubscriptionExisted } = reasonCodes;

function parsed(bytes: Buffer, protocolVersion: ProtocolVersion): Record<string, unknown> {
  const found: Packet[] = [];
  const parse = parser({ protocolVersion });
  parse.on('packet', (packet) => found.push(packet));
  parse.on('error', (error: Error) => assert.fail(error.message));
  assert.equal(parse.parse(bytes), 0);
  assert.equal(found.length, 1);
  return found[0] as unknown as Record<string, unknown>;
}

const types: readonly AcknowledgementType[] = [
  packetTypes.puback,
  packetTypes.pubrec,
  packetTypes.pubrel,
  packetTypes.pubcomp,
];
const versions: readonly ProtocolVersion[] = [3, 4, 5];

suite('an answer', () => {
  test('of success takes four bytes in each version', () => {
    const hex = ['40020203', '50020203', '62020203', '70020203'];
    for (const version of versions)
      assert.deepEqual(
        types.map((type) => acknowledgement(type, 0x203, version).toString('hex')),
        hex,
      );
  });

  test('of success is written behind others in one piece', () => {
    const bytes = Buffer.alloc(8);
    const next = writeAcknowledgement(bytes, 0, packetTypes.puback, 0x203);
    assert.equal(writeAcknowledgement(bytes, next, packetTypes.pubrel, 0xfffe), 8);
    assert.equal(bytes.toString('hex'), '400202036202fffe');
  });

  test('of failure has its code and words in version 5, and neither in older ones', () => {
    for (const type of types) {
      const reasonCode = type < packetTypes.pubrel ? quotaExceeded : reasonCodes.packetIdentifierNotFound;
      const words = { reason: 'too much' };
      const told = parsed(acknowledgement(type, 7, 5, reasonCode, words), 5);
      assert.deepEqual(
        [told['messageId'], told['reasonCode'], told['properties']],
        [7, reasonCode, { reasonString: 'too much' }],
      );
      assert.equal(parsed(acknowledgement(type, 7, 5, reasonCode), 5)['reasonCode'], reasonCode);
      assert.equal(acknowledgement(type, 7, 5, reasonCode).length, 5);
      assert.equal(acknowledgement(type, 7, 4, reasonCode, words).length, 4);
    }
  });

  test('leaves out words that its client does not take, or that are too long', () => {
    const reason = 'x'.repeat(50);
    const all = [
      (packetBytesMax: number) => acknowledgement(packetTypes.puback, 7, 5, notAuthorized, { reason, packetBytesMax }),
      (packetBytesMax: number) => suback(7, 5, [notAuthorized], { reason, packetBytesMax }),
      (packetBytesMax: number) => unsuback(7, 5, [notAuthorized], { reason, packetBytesMax }),
      (packetBytesMax: number) => disconnect(notAuthorized, { reason, packetBytesMax }),
      (packetBytesMax: number) => connack(5, { reasonCode: notAuthorized, words: { reason, packetBytesMax } }),
    ];
    for (const answer of all) {
      for (let bytesMax = 10; bytesMax < 100; bytesMax++) assert.ok(answer(bytesMax).length <= bytesMax);
      assert.deepEqual(parsed(answer(100), 5)['properties'], { reasonString: reason });
      assert.equal(parsed(answer(40), 5)['properties'], undefined);
    }
    const long = acknowledgement(packetTypes.puback, 7, 5, notAuthorized, { reason: '\0€'.repeat(1_000) });
    const { reasonString } = parsed(long, 5)['properties'] as { reasonString: string };
    assert.equal(reasonString, ' €'.repeat(limits.reasonStringLengthMax / 2));
  });

  test('to SUBSCRIBE and UNSUBSCRIBE has a code for each filter, which older versions know in part or not', () => {
    const codes = [grantedQos1, notAuthorized, success];
    assert.deepEqual(parsed(suback(258, 5, codes), 5)['granted'], [1, 0x87, 0]);
    assert.deepEqual(parsed(suback(258, 4, codes), 4)['granted'], [1, 0x80, 0]);
    assert.equal(suback(258, 3, codes).toString('hex'), '90050102018000');
    assert.deepEqual(parsed(unsuback(258, 5, [success, noSubscriptionExisted]), 5)['granted'], [0, 0x11]);
    assert.equal(unsuback(258, 4, [success]).toString('hex'), 'b0020102');
    const many = suback(1, 5, Array(200).fill(success), { reason: 'all' });
    assert.equal((parsed(many, 5)['granted'] as number[]).length, 200);
  });

  test('to CONNECT tells version 5 all, 3.1.1 of the session, 3.1 its code alone', () => {
    const properties = {
      ...{ sessionExpiryS: 9, receiveMaximum: 1_000, packetBytesMax: 16 * 2 ** 20, assignedClientId: 'auto' },
      ...{ topicAliasMaximum: 16, serverKeepAliveS: 60, responseInformation: 'users/u/', serverReference: 'other' },
    };
    const answer = { reasonCode: success, sessionPresent: true, properties, words: { reason: 'welcome' } };
    const told = parsed(connack(5, answer), 5);
    assert.deepEqual([told['sessionPresent'], told['reasonCode']], [true, 0]);
    assert.deepEqual(told['properties'], {
      ...{ sessionExpiryInterval: 9, receiveMaximum: 1_000, maximumPacketSize: 16 * 2 ** 20 },
      ...{ assignedClientIdentifier: 'auto', topicAliasMaximum: 16, serverKeepAlive: 60 },
      ...{ responseInformation: 'users/u/', serverReference: 'other', reasonString: 'welcome' },
    });
    assert.equal(connack(4, answer).toString('hex'), '20020100');
    assert.equal(connack(3, answer).toString('hex'), '20020000');
    assert.equal(connack(5, { reasonCode: success }).toString('hex'), '2003000000');
  });

  test('that refuses says nothing of a session, and what older versions have words for', () => {
    const codes = [
      [reasonCodes.unsupportedProtocolVersion, 1],
      [reasonCodes.clientIdentifierNotValid, 2],
      [reasonCodes.serverUnavailable, 3],
      [reasonCodes.quotaExceeded, 3],
      [reasonCodes.badUserNameOrPassword, 4],
      [reasonCodes.notAuthorized, 5],
    ] as const;
    for (const [reasonCode, returnCode] of codes) {
      assert.equal(returnCodeOf(reasonCode), returnCode);
      assert.equal(connack(4, { reasonCode, sessionPresent: true }).toString('hex'), `2002000${returnCode}`);
      const told = parsed(connack(5, { reasonCode, sessionPresent: true }), 5);
      assert.deepEqual([told['sessionPresent'], told['reasonCode']], [false, reasonCode]);
    }
  });

  test('that ends a connection says why, and where to go', () => {
    assert.equal(disconnect(reasonCodes.sessionTakenOver).toString('hex'), 'e0018e');
    const told = parsed(disconnect(reasonCodes.serverMoved, { reason: 'moved' }, { serverReference: 'host:1' }), 5);
    assert.deepEqual(
      [told['reasonCode'], told['properties']],
      [reasonCodes.serverMoved, { serverReference: 'host:1', reasonString: 'moved' }],
    );
    assert.equal(pingResponse.toString('hex'), 'd000');
  });
});
