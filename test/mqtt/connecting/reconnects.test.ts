// Clients that come back all at once, as after a restart: they are let in at their first try, in turn, and what they left
// behind when they gave up waiting costs nothing and takes nothing from anybody.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import type { Packet } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { connectBytes, RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const users = ['fleet-0', 'fleet-1', 'fleet-2', 'fleet-3', 'fleet-4'];
/** Each takes a hash, of which two are made at once, in tens of milliseconds. */
const heldLogins = 50;
const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
/** How soon a thousand are in. Held in the long test alone, which has the machine to itself. */
const inMsMax = 5_000;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, [...users, 'again'], server.clock);
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', visibility: 'public', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

async function connections(of = server): Promise<number> {
  const { text } = await of.request('admin', 'GET', '/metrics');
  return Number(/^dundun_mqtt_connections (\d+)$/m.exec(text)?.[1]);
}

interface Hold {
  /** Whether whoever came after the hold still waits: its last login has not had its turn. */
  readonly isOn: () => boolean;
  /** The statuses of its logins, once all have had their turns. */
  readonly answers: Promise<number[]>;
}

/**
 * Has every later login wait for its hash, for most of a second at least: logins from as many addresses, which take turns, under names
 * that nobody has.
 */
async function holdHashes(): Promise<Hold> {
  let answered = 0;
  // So that to look at the metrics takes no login meanwhile.
  await server.token('admin');
  const answers = Array.from({ length: heldLogins }, async (_, n) => {
    const json = { username: `invented-${n}`, password };
    const { status } = await server.send('POST', '/api/v2/auth/token', { from: `127.0.1.${n + 1}`, json });
    answered += 1;
    return status;
  });
  return { isOn: () => answered < heldLogins, answers: Promise.all(answers) };
}

test('a thousand clients of five users that come back at once are let in at their first try, and pushes go on', async (t) => {
  const connect = () =>
    Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        const client = await RawClient.open(server);
        const signIn = { clientId: `of-fleet-${n}`, clean: false };
        return { client, answer: await client.signIn(users[n % users.length] as string, signIn) };
      }),
    );
  for (const { client } of await connect()) client.socket.destroy();
  await server.restart();
  let areIn = false;
  const comeMs = performance.now();
  const back = connect().finally(() => {
    areIn = true;
  });
  const statuses = new Set<number>();
  while (!areIn) {
    const json = { value: 1 };
    statuses.add((await server.call('guest', 'POST', '/devices/d/sensors/s/value', { json })).status);
  }
  const answers = (await back).map(({ answer }) => answer);
  const inMs = Math.round(performance.now() - comeMs);
  t.diagnostic(`in after ${inMs} ms`);
  if (isLong) assert.ok(inMs <= inMsMax, `${inMs} ms`);
  assert.deepEqual([...new Set(answers.map(({ returnCode }) => returnCode))], [0]);
  assert.ok(answers.every(({ sessionPresent }) => sessionPresent));
  assert.deepEqual([...statuses], [204]);
  assert.equal(await connections(), 1_000);
  for (const { client } of await back) client.socket.destroy();
  await until(async () => (await connections()) === 0);
});

suite('a connection that its client gave up while it waited', () => {
  const rows: Record<string, (client: RawClient) => void> = {
    'and closed': (client) => client.socket.end(),
    'and reset': (client) => client.socket.resetAndDestroy(),
    // The service sees the end of the connection behind what was sent early.
    'and closed, with packets sent behind CONNECT': (client) => {
      client.send({ cmd: 'pingreq' });
      client.socket.end();
    },
    'and forgot': () => {},
  };
  for (const [how, giveUp] of Object.entries(rows)) {
    test(`${how} does not take the session from the one that came after it`, async () => {
      const { key } = (await server.call('again', 'POST', '/auth/keys', { json: { name: how } })).body;
      await until(async () => (await connections()) === 0);
      // So that the next login by password takes a hash, which waits behind others.
      server.clock.advance(limits.loginRememberedMs);
      const hold = await holdHashes();
      const clientId = 'comes-again';
      const first = await RawClient.open(server);
      first.send(connectBytes({ clientId, clean: false, username: 'again', password }));
      await until(async () => (await connections()) === 1);
      giveUp(first);
      const second = await RawClient.open(server);
      const { returnCode } = await second.signIn('again', { clientId, clean: false, password: Buffer.from(key) });
      assert.equal(returnCode, 0);
      assert.ok(hold.isOn(), 'the first one waited until then');
      assert.deepEqual([...new Set(await hold.answers)], [401]);
      await first.closed;
      await server.running.idle();
      await second.roundTrip();
      assert.equal(await connections(), 1);
      await second.end();
    });
  }
});

suite('a connection that its client closes while it waits for its turn', () => {
  const rows: Record<string, readonly Packet[]> = {
    alone: [],
    'behind packets that it sent early': [{ cmd: 'pingreq' }, { cmd: 'pingreq' }],
    'behind a DISCONNECT': [{ cmd: 'disconnect' }],
  };
  for (const [how, early] of Object.entries(rows)) {
    test(`${how} is closed, and no other waits for it`, async () => {
      server.clock.advance(limits.loginRememberedMs);
      const hold = await holdHashes();
      const client = await RawClient.open(server);
      client.send(connectBytes({ clientId: 'closes', clean: false, username: 'again', password }));
      await until(async () => (await connections()) === 1);
      client.send(...early);
      client.socket.end();
      if (early.length === 0) {
        await client.closed;
        assert.ok(hold.isOn(), 'its turn had not come');
        assert.deepEqual(client.packets, []);
      }
      await hold.answers;
      await client.closed;
      await until(async () => (await connections()) === 0);
    });
  }
});

suite('where more wait than hashes can be made', () => {
  const kept = { ...limits };
  const startWith = async (bounds: Partial<Record<keyof typeof limits, number>>) => {
    Object.assign(limits, bounds);
    small = await TestServer.start();
  };
  let small: TestServer;
  afterEach(async () => {
    Object.assign(limits, kept);
    await small.stop();
  });

  const begin = (count: number, name: string) =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const client = await RawClient.open(small);
        client.send(connectBytes({ clientId: `${name}-${n}`, username: `${name}-${n}`, password }));
        return client;
      }),
    );
  const codesOf = async (clients: readonly RawClient[]) => {
    const codes = await Promise.all(clients.map(async (client) => (await client.next('connack')).returnCode));
    await Promise.all(clients.map(({ closed }) => closed));
    return [...new Set(codes)].sort();
  };

  test('those whose turn does not come in time get CONNACK 3, and the next one is let in', async () => {
    await startWith({ hashesWaitMsMax: 200 });
    assert.deepEqual(await codesOf(await begin(100, 'nobody')), [3, 4]);
    await (await RawClient.connect(small, 'owner')).end();
    assert.equal(await connections(small), 0);
  });

  test('those who have hung up leave their places to others', async () => {
    await startWith({ hashesWaitingMax: 60, hashesWaitingReserve: 20, goneSweptMs: 0 });
    // Signs in before the queue is full.
    assert.equal(await connections(small), 0);
    const gone = await begin(62, 'gone');
    await until(async () => (await connections(small)) > 40);
    for (const client of gone) client.socket.resetAndDestroy();
    await until(async () => (await connections(small)) === 0);
    assert.deepEqual(await codesOf(await begin(50, 'next')), [4]);
  });
});
