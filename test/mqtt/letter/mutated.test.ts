// Packets of which some bytes are changed, taken away or doubled at random: whatever the parser of packets makes of them, they end
// their own connection at most.
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { PacketClient, type Version } from '../../support/mqtt/packet-client.ts';
import { properties, roundsOf } from '../../support/properties.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const five: readonly Packet[] = [
  {
    ...{ cmd: 'subscribe', messageId: 3, subscriptions: [{ topic: 'users/owner/#', qos: 1, nl: true, rh: 1 }] },
    properties: { subscriptionIdentifier: 300, userProperties: { a: 'b' } },
  },
  { cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['users/owner/#'], properties: { userProperties: { a: 'b' } } },
  { cmd: 'disconnect', reasonCode: 4, properties: { sessionExpiryInterval: 10, reasonString: 'leaves' } },
  {
    ...{ cmd: 'publish', topic: 'users/owner/x', payload: 'x', qos: 1, messageId: 5, dup: false, retain: false },
    properties: { messageExpiryInterval: 9, contentType: 'a', topicAlias: 1, userProperties: { a: ['b', 'c'] } },
  },
  { cmd: 'puback', messageId: 6, reasonCode: 16, properties: { reasonString: 'none' } },
  { cmd: 'auth', reasonCode: 0, properties: { authenticationMethod: 'm' } } as Packet,
];
const four: readonly Packet[] = [
  { cmd: 'subscribe', messageId: 3, subscriptions: [{ topic: 'users/owner/#', qos: 1 }] },
  { cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['users/owner/#'] },
  { cmd: 'publish', topic: 'users/owner/x', payload: 'x', qos: 2, messageId: 5, dup: false, retain: false },
  { cmd: 'pubrel', messageId: 6 },
];

const packetOf = (version: Version) => {
  const packets = version === 5 ? five : four;
  const bytes = packets.map((packet) => generate(packet, { protocolVersion: version }));
  return fc.constantFrom(...bytes).map((one) => ({ version, bytes: one }));
};

const change = fc.record({
  at: fc.nat(80),
  to: fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.integer({ min: 0, max: 255 })),
  how: fc.constantFrom('set' as const, 'set' as const, 'removed' as const, 'doubled' as const),
});

/** Changes the packet behind its first byte, and has its length say what there is: otherwise the rest is waited for. */
function mutated(packet: Buffer, changes: readonly { at: number; to: number; how: 'set' | 'removed' | 'doubled' }[]) {
  const body = [...packet.subarray(2)];
  for (const { at, to, how } of changes) {
    const place = at % Math.max(1, body.length);
    if (how === 'set') body[place] = to;
    else if (how === 'removed') body.splice(place, 1);
    else body.splice(place, 0, body[place] ?? to);
  }
  return Buffer.from([packet[0] as number, body.length & 0x7f, ...body.slice(0, 127)]);
}

test('a packet with changed bytes ends no connection but its own', async () => {
  const witness = await PacketClient.open(server);
  await witness.signIn({ clientId: 'witness' });
  const cases = fc.record({
    packet: fc.constantFrom<Version>(4, 5).chain(packetOf),
    changes: fc.array(change, { minLength: 1, maxLength: 4 }),
  });
  const property = fc.asyncProperty(cases, async ({ packet: { version, bytes }, changes }) => {
    const client = await PacketClient.open(server, { version });
    await client.signIn({ clientId: 'mutated' });
    await client.send(mutated(bytes, changes));
    await client.cut();
    await witness.send({ cmd: 'pingreq' });
    await witness.answer('pingresp');
  });
  await fc.assert(property, { ...properties(), numRuns: roundsOf({ usual: 300, long: 20_000 }) });
});
