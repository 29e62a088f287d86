// Wills: published like any message, in the name of the user who left them, checked when they are sent; sent when a
// connection ends without DISCONNECT, also by a crash of the server (contract 8).
import assert from 'node:assert/strict';
import { after, before, mock, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { bytesSql, databaseOf, runSql } from '../../support/data.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { addUsers, setPassword } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

type QoS = 0 | 1 | 2;
type Will = { topic: string; payload: Buffer; qos: QoS; retain: boolean };

let server: TestServer;
let number = 0;

before(async () => {
  // The broker looks for the wills of earlier runs at intervals; the test says when those have passed.
  mock.timers.enable({ apis: ['setInterval'] });
  server = await TestServer.start();
});
after(async () => {
  await server.stop();
  mock.timers.reset();
});

suite('a will is published', () => {
  const ends: Record<string, (client: RawClient, clientId: string) => Promise<unknown>> = {
    'when the connection breaks': (client) => client.cut(),
    'when it is reset': async (client) => client.socket.resetAndDestroy(),
    'when it ends without DISCONNECT': async (client) => client.socket.end(),
    'when the client is silent for too long': async () => {},
    'when what it sends is no MQTT': async (client) => client.send(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff])),
    'when it connects twice': async (client) => client.signIn('owner').catch(() => {}),
    'when another connection takes over': (_, clientId) => RawClient.connect(server, 'owner', { clientId }),
  };
  for (const [name, end] of Object.entries(ends)) {
    test(`${name}, stored once and delivered`, async () => {
      const id = await makeDevice();
      const qos = (number % 3) as QoS;
      const clientId = `leaves-${id}`;
      const witness = await watch(id);
      const client = await connect('owner', { clientId, will: willOf(id, { qos }), keepalive: 1 });
      await end(client, clientId);
      const { topic, payload, qos: sent } = await witness.next('publish');
      assert.deepEqual([topic, `${payload}`, sent], [`devices/${id}/sensors/s1/value`, '{"value":"gone"}', qos]);
      await client.closed;
      assert.deepEqual(await readValues(id), ['gone']);
      assert.deepEqual((await server.rows())['mqtt_will'], []);
      await witness.end();
    });
  }

  test('not after DISCONNECT', async () => {
    const id = await makeDevice();
    const client = await connect('owner', { will: willOf(id) });
    await client.end();
    const other = await connect('owner', {});
    await other.roundTrip();
    assert.deepEqual(await readValues(id), []);
    assert.deepEqual((await server.rows())['mqtt_will'], []);
    await other.end();
  });

  test('not for a connection that was refused', async () => {
    const id = await makeDevice();
    const holder = await connect('owner', { clientId: 'held' });
    const other = await RawClient.open(server);
    assert.equal((await other.signIn('admin', { clientId: 'held', will: willOf(id) })).returnCode, 2);
    await other.closed;
    await holder.roundTrip();
    assert.deepEqual(await readValues(id), []);
    await holder.end();
  });

  test('retained where it says so, and kept for who is away', async () => {
    const id = await makeDevice();
    const away = await connect('owner', { clientId: 'away', clean: false });
    await away.subscribe(`devices/${id}/#`, 1);
    await away.end();
    const client = await connect('owner', { will: willOf(id, { qos: 1, retain: true }) });
    await client.cut();
    const late = await watch(id, 1);
    assert.equal(`${(await late.next('publish')).payload}`, '{"value":"gone"}');
    const back = await connect('owner', { clientId: 'away', clean: false });
    assert.equal(`${(await back.next('publish')).payload}`, '{"value":"gone"}');
    await Promise.all([late.end(), back.end()]);
  });
});

suite('a will is judged', () => {
  const share = (id: string, ...scopes: string[]) =>
    server.call('owner', 'PUT', `/devices/${id}/shares/stranger`, { json: { scopes } });

  test('by the rights its user has when it is sent', async () => {
    for (const [before, after, stored] of [
      [['device-data:create'], [], []],
      [[], ['device-data:create'], ['gone']],
    ] as const) {
      const id = await makeDevice();
      await share(id, ...before);
      const client = await connect('stranger', { will: willOf(id) });
      await share(id, ...after);
      await client.cut();
      await ended(id, stored.length === 0);
      assert.deepEqual(await readValues(id), stored);
    }
  });

  test('as nobody’s when the password has changed', async () => {
    await addUsers(server.folder, ['fleeting'], server.clock);
    const id = await makeDevice('public');
    const witness = await watch(id);
    const client = await connect('fleeting', { will: willOf(id) });
    await setPassword(server.folder, 'fleeting', 'another password');
    server.clock.advance(limits.userFreshMs);
    await client.cut();
    // What comes after it tells that it does not come.
    await (await connect('owner', { will: willOf(id, { payload: '{"value":"later"}' }) })).cut();
    assert.equal(`${(await witness.next('publish')).payload}`, '{"value":"later"}');
    assert.deepEqual(await readValues(id), ['later']);
    await witness.end();
  });

  test('like any message: what is no reading, or goes to nobody, is dropped', async () => {
    const id = await makeDevice();
    const wills = [
      willOf(id, { payload: 'no JSON' }),
      willOf(id, { payload: '' }),
      willOf(id, { topic: `devices/${id}/sensors/s9/value` }),
      willOf(id, { topic: `users/owner${'/x'.repeat(limits.topicLevelsMax)}` }),
      willOf(id, { topic: '$SYS/broker', retain: true }),
      willOf(id, { topic: 'anything' }),
    ];
    const witness = await connect('owner', {});
    for (const filter of [`devices/${id}/#`, 'users/#', '$SYS/#', 'anything']) await witness.subscribe(filter);
    for (const will of wills) await (await connect('owner', { will })).cut();
    await (await connect('owner', { will: willOf(id) })).cut();
    assert.equal((await witness.next('publish')).topic, `devices/${id}/sensors/s1/value`);
    assert.deepEqual(witness.packets, []);
    assert.deepEqual(await readValues(id), ['gone']);
    await server.running.idle();
    assert.equal((await server.call('owner', 'GET', `/devices/${id}/drops`)).body.length, 3);
    await witness.end();
  });
});

suite('over a stop of the server', () => {
  test('the wills of who is connected are stored once', async () => {
    const id = await makeDevice();
    await connect('owner', { will: willOf(id, { qos: 1 }) });
    await connect('owner', { will: willOf(id, { qos: 0 }) });
    await server.restart();
    await publishOldWills();
    assert.deepEqual(await readValues(id), ['gone', 'gone']);
    assert.deepEqual((await server.rows())['mqtt_will'], []);
  });

  test('the wills that a crash left are published by the next run, each in the name of who left it', async () => {
    const id = await makeDevice();
    await leaveWill({ clientId: 'crashed', user: await keyOf('owner'), ...willOf(id) });
    await leaveWill({
      clientId: 'crashed-too',
      user: await keyOf('stranger'),
      ...willOf(id, { payload: '{"value":"stranger"}' }),
    });
    await leaveWill({ clientId: 'crashed-as-well', user: 4711, ...willOf(id, { payload: '{"value":"nobody"}' }) });
    await server.restart();
    // Somebody else has the client id by now; the will is not theirs.
    const other = await connect('owner', { clientId: 'crashed-too' });
    await publishOldWills();
    assert.deepEqual(await readValues(id), ['gone']);
    const drops = (await server.call('owner', 'GET', `/devices/${id}/drops`)).body;
    assert.deepEqual(
      drops.map((drop: { username: string }) => drop.username),
      ['stranger'],
    );
    assert.deepEqual((await server.rows())['mqtt_will'], []);
    await publishOldWills();
    assert.deepEqual(await readValues(id), ['gone']);
    await other.end();
  });
});

async function makeDevice(visibility = 'private'): Promise<string> {
  const id = `wills-${++number}`;
  await server.call('owner', 'POST', '/devices', { json: { id, visibility, sensors: [{ id: 's1' }] } });
  return id;
}

function willOf(id: string, options: { topic?: string; payload?: string; qos?: QoS; retain?: boolean } = {}): Will {
  const { topic = `devices/${id}/sensors/s1/value`, payload = '{"value":"gone"}', qos = 1, retain = false } = options;
  return { topic, payload: Buffer.from(payload), qos, retain };
}

function connect(
  as: string,
  options: { clientId?: string; will?: Will; clean?: boolean; keepalive?: number },
): Promise<RawClient> {
  return RawClient.connect(server, as, { clientId: `wills-client-${++number}`, ...options });
}

async function watch(id: string, qos: QoS = 2): Promise<RawClient> {
  const witness = await connect('admin', {});
  await witness.subscribe(`devices/${id}/#`, qos);
  return witness;
}

async function readValues(id: string): Promise<unknown[]> {
  await server.running.idle();
  const { body } = await server.call('admin', 'GET', `/devices/${id}/sensors/s1/values`);
  return body.map((point: { value: unknown }) => point.value);
}

/** Waits until the will has been stored or dropped. */
async function ended(id: string, isDropped: boolean): Promise<void> {
  const path = isDropped ? `/devices/${id}/drops` : `/devices/${id}/sensors/s1/values`;
  await until(async () => (await server.call('owner', 'GET', path)).body.length > 0);
}

async function keyOf(username: string): Promise<number> {
  const users = (await server.rows())['user'] as readonly { readonly key: number; readonly username: string }[];
  return users.find((user) => user.username === username)?.key ?? 0;
}

/** As a run that crashed leaves it. */
async function leaveWill(row: Will & { readonly clientId: string; readonly user: number }): Promise<void> {
  const { clientId, user, topic, payload, qos } = row;
  const retain = databaseOf(server.folder) === undefined ? '0' : 'false';
  await runSql(
    server.folder,
    `INSERT INTO mqtt_will (client_id, broker_id, "user", topic, payload, qos, retain) VALUES
      ('${clientId}', 'an earlier run', ${user}, '${topic}', ${bytesSql(server.folder, payload)}, ${qos}, ${retain})`,
  );
}

async function publishOldWills(): Promise<void> {
  mock.timers.tick(60_000);
  await until(async () => ((await server.rows())['mqtt_will'] ?? []).length === 0);
  await server.running.idle();
}
