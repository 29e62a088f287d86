// Compares what came to the clients of a stream in one step with what the model says.
import assert from 'node:assert/strict';
import type { IPublishPacket } from 'mqtt-packet';
import type { Came } from '../../support/mqtt/packet-client.ts';
import type { Delivery, Expected, Member, MqttModel, Session } from './session-model.ts';

type Published = Extract<Expected, { kind: 'publish' }>;

/** Gives what came by shared subscriptions, and begins the next step. @throws AssertionError where anything differs. */
export function compare(
  model: MqttModel,
  came: ReadonlyMap<Session, readonly Came[]>,
  what: string,
): Map<Session, Came[]> {
  const shared = new Map<Session, Came[]>();
  for (const [session, all] of came) {
    dropUnsure(model, session, all);
    const expected = [...(model.expected.get(session) ?? [])];
    const name = `${what}, to ${session.clientId}`;
    assertReleases(all, expected, name);
    const due = expected.filter((one) => one.kind === 'publish');
    const messages = all.filter((packet) => packet.cmd === 'publish');
    const isOfAnyGroup = (packet: IPublishPacket) =>
      model.shared.some((members) => memberOf(model, members, session, packet) !== undefined);
    for (const [n, packet] of messages.entries()) {
      const isDue = (other: IPublishPacket, { delivery, isAgain }: Published) =>
        other.dup === isAgain && faultOf(model, session, other, delivery) === undefined;
      const found = due.findIndex((one) => isDue(packet, one));
      const next = due[found];
      // Groups are given a message first: where it may be either, it is of the group if a later one may be what is due.
      const isOfGroup = (one: Published) =>
        isOfAnyGroup(packet) && messages.slice(n + 1).some((other) => isDue(other, one));
      if (next !== undefined && !isOfGroup(next)) {
        const before = due.slice(0, found).filter((one) => isInOrder(one, next));
        assert.deepEqual(before, [], `${name}: ${packet.topic} ${packet.payload} came before`);
        due.splice(found, 1);
        take(session, packet, next, name);
        continue;
      }
      const faults = due.map(
        ({ delivery }) => `${faultOf(model, session, packet, delivery)} ${delivery.topic} ${delivery.payload}`,
      );
      const told = `${name}: ${packet.raw.toString('hex')} (${packet.topic} ${packet.payload}): ${faults}`;
      assert.ok(isOfAnyGroup(packet), told);
      shared.set(session, [...(shared.get(session) ?? []), packet]);
    }
    assert.deepEqual(due, [], `${name}: has not come`);
  }
  assertEachToOne(model, shared, what);
  model.expected.clear();
  model.shared = [];
  return shared;
}

/**
 * One message has come for each group. A message may be the one of several groups that its receiver is a member of, so they
 * are given away by augmenting paths: where a group finds none, a group before it takes another.
 */
function assertEachToOne(model: MqttModel, shared: ReadonlyMap<Session, readonly Came[]>, what: string): void {
  const messages = [...shared].flatMap(([session, packets]) => packets.map((packet) => ({ session, packet })));
  const groupOf = new Map<number, readonly Member[]>();
  const finds = (members: readonly Member[], tried: Set<number>): boolean =>
    messages.some(({ session, packet }, n) => {
      const isPublish = packet.cmd === 'publish' && memberOf(model, members, session, packet) !== undefined;
      if (!isPublish || tried.has(n)) return false;
      tried.add(n);
      const before = groupOf.get(n);
      if (before !== undefined && !finds(before, tried)) return false;
      groupOf.set(n, members);
      return true;
    });
  const without = model.shared.filter((members) => !finds(members, new Set()));
  const left = without.map((members) => members.map(({ session, delivery }) => [session.clientId, delivery]));
  assert.deepEqual(left, [], `${what}: has come to nobody of its group`);
  const extra = messages.filter((_, n) => !groupOf.has(n));
  const told = extra.map(({ session, packet }) => `${session.clientId} ${packet.raw.toString('hex')}`);
  assert.deepEqual(told, [], `${what}: has come once more than there are groups`);
}

/** Messages whose time has passed while they were under way, and which the server did not send again. */
function dropUnsure(model: MqttModel, session: Session, came: readonly Came[]): void {
  const expected = model.expected.get(session) ?? [];
  const ids = new Set(
    came.flatMap((packet) => (packet.cmd === 'publish' && packet.dup ? (packet.messageId ?? 0) : [])),
  );
  const gone = expected.filter((one) => one.kind === 'publish' && !one.isSure && !ids.has(one.delivery.packetId ?? 0));
  if (gone.length === 0) return;
  model.expected.set(
    session,
    expected.filter((one) => !gone.includes(one)),
  );
  const deliveries = new Set((gone as readonly Published[]).map(({ delivery }) => delivery));
  session.deliveries = session.deliveries.filter((delivery) => !deliveries.has(delivery));
  model.send(session);
}

function assertReleases(came: readonly Came[], expected: readonly Expected[], name: string): void {
  assert.deepEqual(
    came.flatMap(({ cmd, messageId }) => (cmd === 'pubrel' ? messageId : [])),
    expected.flatMap((one) => (one.kind === 'pubrel' ? one.packetId : [])),
    `${name}: PUBRELs`,
  );
}

const isInOrder = (one: Published, other: Published) =>
  one.delivery.row === other.delivery.row && one.delivery.qos === other.delivery.qos && one.isAgain === other.isAgain;

const isOfTopic = (packet: IPublishPacket, { topic, qos }: Delivery) => packet.topic === topic && packet.qos === qos;

/** What is wrong with the packet as this delivery. */
function faultOf(model: MqttModel, session: Session, packet: IPublishPacket, delivery: Delivery): string | undefined {
  const { properties = {} } = packet;
  if (!isOfTopic(packet, delivery)) return 'another topic or QoS';
  if (`${packet.payload}` !== delivery.payload) return `the payload is not ${delivery.payload}`;
  const wants = [delivery, ...(delivery.later === undefined ? [] : [delivery.later])];
  if (!wants.some(({ retain }) => retain === 'either' || packet.retain === retain))
    return `RETAIN is not ${delivery.retain}`;
  // Older versions are sent no properties.
  if (!session.isOfFive) return packet.properties === undefined ? undefined : 'properties';
  const ids = [properties.subscriptionIdentifier ?? []].flat().toSorted((a, b) => a - b);
  if (!wants.some((want) => `${ids}` === `${want.ids}`))
    return `the subscription identifiers are ${ids}, not ${delivery.ids}`;
  if (properties.contentType !== delivery.contentType) return `the content type is not ${delivery.contentType}`;
  const { messageExpiryInterval: told } = properties;
  if ((told === undefined) !== (delivery.expiresMs === undefined)) return 'an expiry, or none';
  if (told === undefined || delivery.expiresMs === undefined) return undefined;
  const leftS = (delivery.expiresMs - model.nowMs) / 1_000;
  return Math.abs(told - leftS) <= 1 || leftS < 0 ? undefined : `the expiry is ${told}, not ${leftS}`;
}

function memberOf(
  model: MqttModel,
  members: readonly Member[],
  session: Session,
  packet: IPublishPacket,
): Member | undefined {
  return members.find(
    (member) => member.session === session && faultOf(model, session, packet, member.delivery) === undefined,
  );
}

function take(session: Session, packet: IPublishPacket, { delivery, isAgain }: Published, name: string): void {
  if (packet.qos === 0) return;
  const { messageId = 0 } = packet;
  if (isAgain) assert.equal(messageId, delivery.packetId, `${name}: the packet id of what is sent again`);
  const isUsed = session.underWay.some((other) => other !== delivery && other.packetId === messageId);
  assert.ok(messageId > 0 && !isUsed, `${name}: packet id ${messageId} [MQTT-2.2.1-4]`);
  delivery.packetId = messageId;
}
