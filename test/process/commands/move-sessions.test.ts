// MQTT sessions that are moved between engines while all is half way, in either direction: a client that comes back finds its session as it
// left it, with what waits for it in its order, its packet ids, and its handshakes where they were.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { IPublishPacket } from 'mqtt-packet';
import { type Came, heard, PacketClient, propertiesOf, type Version } from '../../support/mqtt/packet-client.ts';
import { createDatabase, withoutPostgres } from '../../support/postgres.ts';
import {
  call,
  type Dundun,
  login,
  makeFolder,
  readValues,
  runVerb,
  type Settings,
  startDundun,
  withLimits,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';

const password = 'talking drum';
const doors = (dundun: Dundun) => ({ running: { ports: dundun.ports } });
type Options = Parameters<PacketClient['signIn']>[0] & { readonly version?: Version };

/** With a session that is kept, where nothing else is said. */
async function connect(
  dundun: Dundun,
  clientId: string,
  { version = 5, ...more }: Options = {},
): Promise<PacketClient> {
  const client = await PacketClient.open(doors(dundun), { version });
  const kept = version === 5 ? { properties: { sessionExpiryInterval: 86_400 } } : {};
  const connack = await client.signIn({ as: 'awa', clientId, clean: false, ...kept, ...more });
  assert.equal(connack.reasonCode ?? connack.returnCode, 0, clientId);
  return client;
}

/** Comes back, to a session that is there. */
async function comeBack(dundun: Dundun, clientId: string, options: Options = {}): Promise<PacketClient> {
  const client = await connect(dundun, clientId, options);
  assert.equal(client.connack?.sessionPresent, true, clientId);
  return client;
}

/** Packets of deliveries, by their ids. */
const ofDelivery = (came: readonly Came[]) =>
  came.map((packet) => {
    const { cmd, messageId, payload, dup } = packet as Came & Partial<IPublishPacket>;
    return cmd === 'publish' ? `publish ${messageId} ${payload}${dup ? ' again' : ''}` : `${cmd} ${messageId}`;
  });

/** What a subscriber sees of messages, with their properties; what is left of their time differs. */
const seen = (came: readonly Came[]) =>
  heard(came).map((message, n) => {
    const { messageExpiryInterval, ...properties } = propertiesOf(came)[n] ?? {};
    return { ...message, properties: { ...properties, expires: messageExpiryInterval !== undefined } };
  });

/** Packet ids of `taker`: what it was sent, and has not acknowledged to the end. */
interface Ids {
  readonly once: number;
  readonly twice: number;
  readonly released: number;
}

const text = { contentType: 'text/plain', userProperties: { of: 'speaker' } };
const dying = (payload: string, willDelayInterval = 0): Options => ({
  will: {
    topic: 'users/awa/will',
    payload: Buffer.from(payload),
    qos: 1,
    retain: false,
    properties: { willDelayInterval },
  },
});

/** Leaves sessions half way: of `second`, where the data have another server, too. */
async function leaveHalfWay(first: Dundun, second: Dundun) {
  const speaker = await connect(first, 'speaker', { clean: true, properties: {} });
  // One that hears before the move what the other hears after it.
  for (const name of ['sleeper', 'twin']) {
    const client = await connect(first, name);
    await client.subscribe({ topic: 'users/awa/q/#', qos: 2 }, 7);
    await client.subscribe({ topic: 'users/awa/q/1', qos: 1 }, 9);
    await client.leave();
  }
  for (let n = 1; n <= 5; n++) {
    const properties = n === 3 ? { ...text, messageExpiryInterval: 3_600 } : text;
    await speaker.publish({ topic: `users/awa/q/${n}`, payload: String(n), qos: n % 2 === 0 ? 2 : 1, properties });
  }
  const before = await queueOf(await comeBack(first, 'twin'));
  // Delivered to the taker, and answered by it in part.
  const taker = await connect(second, 'taker', { version: 4 });
  await taker.subscribe('users/awa/t/#');
  for (const [n, qos] of ([1, 2, 2] as const).entries())
    await speaker.publish({ topic: `users/awa/t/${n}`, payload: String(n), qos });
  const [once, twice, released] = (await taker.take(3)).map(({ messageId }) => Number(messageId));
  await taker.send({ cmd: 'pubrec', messageId: Number(released) });
  assert.equal((await taker.take(1))[0]?.cmd, 'pubrel');
  // Half given: with PUBREC, and without PUBREL.
  const hearer = await connect(first, 'hearer');
  await hearer.subscribe([
    { topic: 'users/awa/g/#', qos: 2 },
    { topic: 'users/awa/will', qos: 1 },
  ]);
  await hearer.leave();
  for (const [clientId, version] of [
    ['giver4', 4],
    ['giver5', 5],
  ] as const) {
    const giver = await connect(first, clientId, { version });
    const message = { cmd: 'publish', topic: `users/awa/g/${clientId}`, payload: clientId, qos: 2 } as const;
    await giver.send({ ...message, messageId: 77, dup: false, retain: false });
    await giver.answer('pubrec');
  }
  await leaveOthers(first, speaker);
  return { before, ids: { once, twice, released } as Ids };
}

async function leaveOthers(dundun: Dundun, speaker: PacketClient): Promise<void> {
  for (const topic of ['kept', 'cleared'])
    await speaker.publish({ topic: `users/awa/r/${topic}`, payload: topic, retain: true, properties: text });
  await speaker.publish({ topic: 'users/awa/r/cleared', payload: '', retain: true });
  for (const name of ['member1', 'member2']) {
    const member = await connect(dundun, name);
    await member.subscribe({ topic: '$share/group/users/awa/s', qos: 1 });
    await member.leave();
  }
  for (let n = 0; n < 4; n++) await speaker.publish({ topic: 'users/awa/s', payload: String(n) });
  const own = await connect(dundun, 'own');
  await own.subscribe({ topic: 'users/awa/own', qos: 1, nl: true });
  await own.leave();
  const brief = await connect(dundun, 'brief', { properties: { sessionExpiryInterval: 1 } });
  await brief.leave();
  await connect(dundun, 'dying', dying('gone'));
  await connect(dundun, 'fainting', dying('fainted', 3_600));
  const meter = await connect(dundun, 'meter', { version: 4, clean: true });
  await meter.send(reading(false));
  await meter.answer('puback');
}

const reading = (dup: boolean): IPublishPacket => ({
  ...{ cmd: 'publish', topic: 'devices/field/sensors/level/value', payload: '{"value": 1}' },
  ...{ qos: 1, messageId: 5, retain: false, dup },
});

async function queueOf(client: PacketClient) {
  return seen([...(await client.take(5)), ...(await client.deliveries())]);
}

/** What waited, as it was, and in order. */
async function findQueue(dundun: Dundun, before: readonly unknown[]): Promise<void> {
  const queue = await queueOf(await comeBack(dundun, 'sleeper'));
  assert.deepEqual(queue, before);
  assert.ok(queue.every(({ properties }) => properties.subscriptionIdentifier !== undefined));
}

/** Handshakes of what was sent to it go on, and no id of theirs is given meanwhile. */
async function findHandshakes(dundun: Dundun, { once, twice, released }: Ids): Promise<void> {
  const taker = await comeBack(dundun, 'taker', { version: 4 });
  assert.deepEqual(ofDelivery(await taker.take(3)), [
    `publish ${once} 0 again`,
    `publish ${twice} 1 again`,
    `pubrel ${released}`,
  ]);
  const speaker = await connect(dundun, 'later', { clean: true, properties: {} });
  await speaker.publish({ topic: 'users/awa/t/3', payload: '3', qos: 1 });
  const [fresh] = await taker.take(1);
  assert.ok(![once, twice, released].includes(Number(fresh?.messageId)), `${fresh?.messageId} is in use`);
  await taker.send({ cmd: 'puback', messageId: once }, { cmd: 'pubrec', messageId: twice });
  assert.deepEqual(ofDelivery(await taker.take(1)), [`pubrel ${twice}`]);
  await taker.send({ cmd: 'pubcomp', messageId: twice }, { cmd: 'pubcomp', messageId: released });
  await taker.send({ cmd: 'puback', messageId: Number(fresh?.messageId) });
  assert.deepEqual(await taker.deliveries(), []);
  await taker.leave();
  assert.deepEqual(await (await comeBack(dundun, 'taker', { version: 4 })).deliveries(), []);
}

/** What was given half is given once, whether its client sends it again or goes on behind PUBREC; the will is heard once. */
async function findGiven(dundun: Dundun): Promise<void> {
  const four = await comeBack(dundun, 'giver4', { version: 4 });
  const message = { cmd: 'publish', topic: 'users/awa/g/giver4', payload: 'giver4', qos: 2 } as const;
  await four.send({ ...message, messageId: 77, dup: true, retain: false });
  await four.answer('pubrec');
  for (const giver of [four, await comeBack(dundun, 'giver5')]) {
    await giver.send({ cmd: 'pubrel', messageId: 77 });
    assert.equal((await giver.answer('pubcomp')).reasonCode ?? 0, 0);
  }
  const hearer = await comeBack(dundun, 'hearer');
  const came: Came[] = [];
  await until(async () => {
    came.push(...(await hearer.deliveries()));
    return came.length >= 3;
  });
  // The one that waits was forgotten when its client came back.
  await (await comeBack(dundun, 'fainting')).leave();
  await four.publish({ topic: 'users/awa/g/last', payload: 'last', qos: 1 });
  came.push(...(await hearer.take(1)));
  const payloads = heard(came).map(({ payload }) => payload);
  assert.deepEqual(payloads.toSorted(), ['giver4', 'giver5', 'gone', 'last']);
}

async function findOthers(dundun: Dundun): Promise<void> {
  const late = await connect(dundun, 'late', { clean: true, properties: {} });
  await late.subscribe({ topic: 'users/awa/r/#', qos: 1 });
  const retained = await late.take(1);
  assert.deepEqual(heard(retained), [{ topic: 'users/awa/r/kept', payload: 'kept', qos: 1, retain: true, dup: false }]);
  assert.deepEqual({ ...propertiesOf(retained)[0]?.userProperties }, { of: 'speaker' });
  assert.deepEqual(await late.deliveries(), []);
  const shared: string[] = [];
  const members = [await comeBack(dundun, 'member1'), await comeBack(dundun, 'member2')];
  // What waits for a session is read from the database behind its CONNACK.
  await until(async () => {
    for (const member of members) {
      const came = await member.deliveries();
      await member.acknowledge(came);
      shared.push(...heard(came).map(({ payload }) => payload));
    }
    return shared.length >= 4;
  });
  for (const member of members) await member.leave();
  assert.deepEqual(shared.toSorted(), ['0', '1', '2', '3']);
  const own = await comeBack(dundun, 'own');
  await own.publish({ topic: 'users/awa/own', payload: 'mine' });
  await late.publish({ topic: 'users/awa/own', payload: 'yours' });
  assert.deepEqual(
    heard(await own.take(1)).map(({ payload }) => payload),
    ['yours'],
  );
  assert.equal((await connect(dundun, 'brief')).connack?.sessionPresent, false);
  const meter = await connect(dundun, 'meter', { version: 4, clean: true });
  await meter.send(reading(true));
  await meter.answer('puback');
  assert.deepEqual(await readValues(dundun, 'field', 'level'), [1]);
}

suite('MQTT sessions that are half way', { skip: withoutPostgres, timeout: 300_000 }, () => {
  const start = (settings: Settings) => startDundun(withLimits({ lostWillsEveryMs: 100 }, settings));
  const addAwa = async (settings: Settings) => {
    const added = await runVerb(['user', 'add', 'awa', '--password-stdin'], { settings, input: `${password}\n` });
    assert.equal(added.code, 0, added.stderr);
  };
  const makeField = async (dundun: Dundun) => {
    const token = String(await login(dundun, 'awa', password));
    const json = { id: 'field', visibility: 'public', sensors: [{ id: 'level' }] };
    const made = await call(dundun, '/api/v2/devices', { token, json });
    assert.ok(made.ok, await made.text());
  };

  for (const direction of ['to a folder', 'to a database'] as const) {
    test(`go on where they were after a move ${direction} from servers that were killed`, async () => {
      const folder = { DUNDUN_DATA_DIR: join(makeFolder(), 'data') };
      const database = { DUNDUN_DATABASE_URL: await createDatabase() };
      const [from, to] = direction === 'to a folder' ? [database, folder] : [folder, database];
      await addAwa(from);
      const first = await start(from);
      const second = direction === 'to a folder' ? await start(from) : first;
      await makeField(first);
      const { before, ids } = await leaveHalfWay(first, second);
      await Promise.all([first, second].map((dundun) => dundun.stop('SIGKILL')));
      const place = direction === 'to a folder' ? folder.DUNDUN_DATA_DIR : database.DUNDUN_DATABASE_URL;
      const moved = await runVerb(['move', '--to', place], { settings: from });
      assert.match(moved.stdout, /^Moved /, moved.stderr);
      const dundun = await start(to);
      await findQueue(dundun, before);
      await findHandshakes(dundun, ids);
      await findGiven(dundun);
      await findOthers(dundun);
      await dundun.stop();
    });
  }
});
