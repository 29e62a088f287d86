// A user who is created under the name of a removed user gets nothing of theirs: no retained messages, stored
// sessions, wills or webhook key (contract 3: what belongs to a user belongs to the id).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, takeAll } from '../support/mqtt/mqtt-client.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { addUsers, password, removeUser } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';

let server: TestServer;
let count = 0;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

/** Both ways in which a user goes: by the API, and from the command line, of which the service is not told. */
const removals: Record<string, (name: string) => Promise<void>> = {
  'by an admin': async (name) => {
    const { body } = await server.call('admin', 'GET', `/users?username=${name}`);
    assert.equal((await server.call('admin', 'DELETE', `/users/${body[0].id}`)).status, 204);
    const json = { username: name, password };
    assert.equal((await server.call('admin', 'POST', '/users', { json })).status, 200);
  },
  'beside the service': async (name) => {
    await removeUser(server.folder, name);
    await addUsers(server.folder, [name], server.clock);
    server.clock.advance(60_000);
  },
};

for (const [how, removeAndMakeAgain] of Object.entries(removals)) {
  test(`after a removal ${how} a user of the same name starts with nothing`, async () => {
    const name = `returns-${++count}`;
    await addUsers(server.folder, [name], server.clock);
    const webhook = ['https://hook.dundun.example/messages'];
    const first = (await server.call(name, 'GET', '/users/me')).body;
    await server.call(name, 'PUT', `/users/${first.id}`, { json: { webhook } });
    const firstKey = (await server.call(name, 'GET', '/users/me')).body.webhook_key;
    const publisher = await Client.connect(server, name, { clientId: `${name}-publisher` });
    for (const form of ['', '/']) {
      await publisher.publish(`${form}users/${name}/secret${form === '' ? '' : '-too'}`, 'secret', {
        qos: 1,
        retain: true,
      });
    }
    await publisher.end();
    const subscriber = await Client.connect(server, name, { clientId: `${name}-away`, clean: false });
    await subscriber.subscribe([`users/${name}/#`, `/users/${name}/#`], 1);
    await subscriber.end();
    const sender = await Client.connect(server, name, { clientId: `${name}-sender` });
    await sender.publish(`users/${name}/word`, 'kept for who is away', { qos: 1 });
    await sender.end();
    await server.running.idle();

    await removeAndMakeAgain(name);

    const again = await Client.connect(server, name, { clientId: `${name}-away`, clean: false });
    assert.equal(again.sessionPresent, false);
    await again.subscribe([`users/${name}/#`, `/users/${name}/#`, '#', '+/#'], 1);
    assert.deepEqual(await takeAll(server, again), [[]]);
    await again.publish(`users/${name}/own`, 'own', { qos: 1, retain: true });
    const late = await Client.connect(server, name, { clientId: `${name}-late` });
    await late.subscribe(`users/${name}/#`, 1);
    const seen = (await late.take(1)).map(({ payload }) => payload);
    assert.deepEqual(seen, ['own']);
    await again.end();
    await late.end();
    const second = (await server.call(name, 'GET', '/users/me')).body;
    await server.call(name, 'PUT', `/users/${second.id}`, { json: { webhook } });
    assert.notEqual((await server.call(name, 'GET', '/users/me')).body.webhook_key, firstKey);
  });
}

test('what is retained goes with its user, and nobody else’s does', async () => {
  await addUsers(server.folder, ['leaves'], server.clock);
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', visibility: 'public', sensors: [{ id: 's' }] } });
  for (const as of ['leaves', 'owner']) {
    const client = await RawClient.connect(server, as, { clientId: `retains-${as}` });
    client.publish({ topic: `users/${as}/last`, payload: 'x', retain: true, messageId: 1 });
    await client.next('puback');
    await client.end();
  }
  await server.running.idle();
  const topics = async () =>
    ((await server.rows())['mqtt_retained'] ?? []).map((row) => (row as { topic: string }).topic).sort();
  assert.ok((await topics()).includes('users/leaves/last'));
  const { body } = await server.call('admin', 'GET', '/users?username=leaves');
  await server.call('admin', 'DELETE', `/users/${body[0].id}`);
  await server.running.idle();
  const left = await topics();
  assert.ok(!left.includes('users/leaves/last') && !left.includes('/users/leaves/last'));
  assert.ok(left.includes('users/owner/last') && left.includes('/users/owner/last'));
});
