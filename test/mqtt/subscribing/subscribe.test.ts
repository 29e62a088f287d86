// Subscribing is always granted; each message is checked at delivery with the rights of that moment, for every form of
// filter (contract 8; I6).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
/** A connection for each of everybody, subscribed to all there is, in one form or the other. */
let as: Record<string, Client>;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
  const connect = async (name: string, index: number) => {
    const client = await Client.connect(server, name);
    // Admins get figures there (sys-topics.test.ts).
    const system = name === 'admin' ? [] : ['$SYS/#'];
    await client.subscribe(index % 2 === 0 ? ['#', ...system] : ['/#', '+/#', ...system], 1);
    return [name, client] as const;
  };
  as = Object.fromEntries(await Promise.all(everybody.map(connect)));
});
after(() => server.stop());

suite('who gets', () => {
  const rows = { private: ['reader', 'owner', 'admin'], public: everybody };
  for (const [visibility, may] of Object.entries(rows)) {
    test(`the values of a ${visibility} device: ${may.join(' ')}`, async () => {
      const id = await makeDevice({ visibility });
      for (const push of await allPushes(id)) {
        await push();
        assert.deepEqual(await whoGets(id), may);
      }
    });
  }

  test('nothing of what was refused', async () => {
    const id = await makeDevice({ visibility: 'public' });
    await as['stranger']?.publish(`devices/${id}/actuators/a1/value`, '1', { qos: 1, retain: true });
    await as['stranger']?.publish(`devices/${id}/sensors/s2/value`, { value: 1 }, { qos: 1, retain: true });
    await as['stranger']?.publish(`devices/${id}/sensors/s1/value`, 'no JSON', { qos: 1, retain: true });
    assert.equal((await server.call('guest', 'PUT', `/devices/${id}/actuators/a1/value`, { json: 1 })).status, 403);
    assert.deepEqual(await whoGets(id), []);
  });
});

suite('while subscribed', () => {
  const owners = ['owner', 'admin'];
  test('each change of visibility, shares and owner counts from the next message on', async () => {
    const id = await makeDevice({ visibility: 'private', shared: false });
    const device = `/devices/${id}`;
    const put =
      (path: string, carries: { json?: unknown; text?: string }, by = 'owner') =>
      async () => {
        const { status, text } = await server.call(by, 'PUT', `${device}${path}`, carries);
        assert.equal(status, 204, text);
      };
    const share = (...scopes: string[]) => put('/shares/stranger', { json: { scopes } });
    const steps: readonly [change: () => Promise<unknown>, gets: readonly string[]][] = [
      [async () => {}, owners],
      [put('/visibility', { text: 'public' }), everybody],
      [put('/name', { text: 'another name' }), everybody],
      [put('/visibility', { text: 'private' }), owners],
      [share('device-data:view'), ['stranger', ...owners]],
      [share('device:view', 'device:update', 'device:delete', 'device-data:create'), owners],
      [share('device:view', 'device-data:view'), ['stranger', ...owners]],
      [() => server.call('owner', 'DELETE', `${device}/shares/stranger`), owners],
      [share('device-data:view'), ['stranger', ...owners]],
      // A share ends with the owner who gave it.
      [put('/owner', { text: 'viewer' }), ['viewer', 'admin']],
      [put('/visibility', { text: 'public' }, 'viewer'), everybody],
      [put('/owner', { text: 'guest' }, 'admin'), everybody],
      [put('/owner', { text: 'owner' }, 'admin'), everybody],
      [put('/visibility', { text: 'private' }), owners],
      [share('devices-data:view'), ['stranger', ...owners]],
      [share(), owners],
    ];
    for (const [number, [change, gets]] of steps.entries()) {
      await change();
      for (const push of await allPushes(id, 'admin')) {
        await push();
        assert.deepEqual(await whoGets(id), gets, `step ${number}`);
      }
    }
  });

  test('a device that is removed, and made anew by somebody else, is another one', async () => {
    const id = await makeDevice({ visibility: 'private' });
    await server.call('owner', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 1 } });
    assert.deepEqual(await whoGets(id), ['reader', 'owner', 'admin']);
    await server.call('owner', 'DELETE', `/devices/${id}`);
    const device = { id, visibility: 'private', sensors: [{ id: 's1' }] };
    assert.equal((await server.call('stranger', 'POST', '/devices', { json: device })).status, 204);
    await server.call('stranger', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 2 } });
    assert.deepEqual(await whoGets(id), ['stranger', 'admin']);
  });

  test('who unsubscribes gets no more, in the form that was given up', async () => {
    const id = await makeDevice({ visibility: 'public' });
    const client = await Client.connect(server, 'guest');
    await client.subscribe([`devices/${id}/#`, `/devices/${id}/#`, '/#']);
    const push = () => server.call('guest', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 1 } });
    const bare = `devices/${id}/sensors/s1/value`;
    const steps: [filter: string | undefined, gets: string[]][] = [
      [undefined, [bare, `/${bare}`]],
      [`/devices/${id}/#`, [bare, `/${bare}`]],
      [`devices/${id}/#`, [`/${bare}`]],
      ['never/asked', [`/${bare}`]],
      ['/#', []],
    ];
    for (const [filter, gets] of steps) {
      if (filter !== undefined) await client.unsubscribe(filter);
      await push();
      const [seen = []] = await takeAll(server, client);
      assert.deepEqual(seen.map(({ topic }) => topic).sort(), [...gets].sort());
    }
  });
});

test('no filter lets a stranger or guest see what is private', async () => {
  const secret = await makeDevice({ visibility: 'private' });
  const open = await makeDevice({ visibility: 'public' });
  const filters = [
    ...['#', '/#', '+/#', '+/+/#', '/+/#', '+/+/+/+/+', '+/+/+/+/+/+', '/+/+/+/+/+', 'devices/#', '/devices/#'],
    ...['+', '/+', '//#', '/', '$SYS/#', '$SYS/+/new/clients', '$SYS/+/disconnect/clients', '$SYS/+/+/+'],
    ...['$share/g/#', '$share/g//#', '$share/g/devices/#', '$shared/#', '$queue/#', '$local/#', '$delayed/1/#'],
    ...[`devices/${secret}/#`, `/devices/${secret}/#`, `devices/${secret}/sensors/s1/value`, `devices/+/sensors/#`],
    ...[`/devices/${secret}/sensors/s1/value`, `devices/${secret}/actuators/a1/value`, 'users/#', 'users/owner/#'],
    ...[`devices/${secret}/sensors/s1/value/#`, 'devices/__proto__/#', 'constructor', '__proto__'],
  ];
  for (const name of ['guest', 'stranger']) {
    const client = await Client.connect(server, name, { over: name === 'guest' ? 'ws' : 'tcp' });
    await client.subscribe(filters, 2);
    for (const push of await allPushes(secret)) await push();
    await as['owner']?.publish('users/owner/secret', 'word', { qos: 1, retain: true });
    for (const push of await allPushes(open, 'admin')) await push();
    await server.running.idle();
    await client.roundTrip();
    // The open device tells that whatever was before it has arrived. QoS 2 comes in its own time.
    const seen = await client.take(16);
    assert.deepEqual(await takeAll(server, client), [[]]);
    for (const { topic } of seen) assert.match(topic, new RegExp(`^/?devices/${open}/`));
    await client.end();
  }
  await takeAll(server, ...Object.values(as));
});

test('every subscription is granted as asked: to what is private, unknown, or nobody’s', async () => {
  const secret = await makeDevice({ visibility: 'private' });
  const client = await RawClient.connect(server, 'guest', { clientId: 'asks' });
  const topics = ['#', `devices/${secret}/#`, 'devices/unknown/sensors/s/value', 'users/owner/#', '$SYS/#', ' ', '/'];
  const subscriptions = topics.flatMap((topic) => ([0, 1, 2] as const).map((qos) => ({ topic: `${topic}`, qos })));
  for (const [index, subscription] of subscriptions.entries()) {
    client.send({ cmd: 'subscribe', messageId: index + 1, subscriptions: [subscription] });
    const { granted, messageId } = await client.next('suback');
    assert.deepEqual([messageId, granted], [index + 1, [subscription.qos]]);
  }
  await client.cut();
});

let devices = 0;

async function makeDevice(options: { visibility: string; shared?: boolean }): Promise<string> {
  const { visibility, shared = true } = options;
  const id = `subscribe-${++devices}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  if (shared) await shareWithAll(server, id);
  return id;
}

/** Every way in which a value can come. */
async function allPushes(id: string, by = 'owner'): Promise<(() => Promise<unknown>)[]> {
  const publisher = as[by];
  assert.ok(publisher !== undefined);
  return [
    () => server.call(by, 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 1 } }),
    () => server.call(by, 'POST', `/devices/${id}/sensors/s1/values`, { json: [{ value: 2 }, { value: 3 }] }),
    () => server.call(by, 'PUT', `/devices/${id}/actuators/a1/value`, { json: 4 }),
    () => publisher.publish(`devices/${id}/sensors/s1/value`, { value: 5 }, { qos: 1 }),
    () => publisher.publish(`/devices/${id}/sensors/s1/values`, [{ value: 6 }], { qos: 2 }),
    () => publisher.publish(`devices/${id}/actuators/a1/value`, '7', { qos: 1 }),
    async () => {
      await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 8 }, { qos: 0 });
      await publisher.roundTrip();
    },
  ];
}

/** Who has got anything about the device since the last look; nobody may have got anything else. */
async function whoGets(id: string): Promise<string[]> {
  const seen = await takeAll(server, ...Object.values(as));
  for (const { topic } of seen.flat()) assert.match(topic, new RegExp(`^/?devices/${id}/`));
  return Object.keys(as).filter((_, index) => (seen[index]?.length ?? 0) > 0);
}
