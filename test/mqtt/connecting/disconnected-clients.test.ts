// Clients of MQTT that are disconnected by their user or an admin (contract 8): what becomes of their session, their will, and others.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['self'], server.clock);
});
after(() => server.stop());

const path = (id: string) => `/mqtt/clients/${encodeURIComponent(id)}`;
const get = async (as: string, id: string) => (await make(server, { as, call: `GET ${path(id)}`, expect: 200 })).body;
const idsOf = async (as: string) => {
  const { body } = await make(server, { as, call: 'GET /mqtt/clients', expect: 200 });
  return body.map(({ id }: { id: string }) => id) as string[];
};
const disconnect = (as: string, id: string, expect = 204, session?: 'keep' | 'end') =>
  make(server, { as, call: `POST ${path(id)}/disconnect${session ? `?session=${session}` : ''}`, expect });

suite('a client that is disconnected', () => {
  test('keeps its session unless that is to end, and may come back', async () => {
    const client = await Client.connect(server, 'self', { clientId: 'back', clean: false });
    await client.subscribe('users/self/kept', 1);
    await disconnect('self', 'back');
    await client.closed;
    assert.equal((await get('self', 'back')).connected, false);
    const second = await Client.connect(server, 'self', { clientId: 'back', clean: false });
    assert.equal(second.sessionPresent, true);
    await disconnect('self', 'back', 204, 'end');
    await second.closed;
    await server.running.idle();
    const third = await Client.connect(server, 'self', { clientId: 'back', clean: false });
    assert.equal(third.sessionPresent, false);
    await third.end();
    // Nothing is connected now: this ends the kept session alone, and is not there for a second time.
    await disconnect('self', 'back', 204, 'keep');
    await disconnect('self', 'back', 204, 'end');
    await disconnect('self', 'back', 404, 'end');
  });

  test('has its last will published', async () => {
    const watcher = await Client.connect(server, 'self');
    await watcher.subscribe('users/self/gone', 1);
    const will = { topic: 'users/self/gone', payload: Buffer.from('off'), qos: 1, retain: false } as const;
    await Client.connect(server, 'self', { clientId: 'willed', will });
    await disconnect('admin', 'willed');
    assert.equal((await watcher.take(1))[0]?.payload, 'off');
    await watcher.end();
  });

  test('is kept from nobody else: other connections of the user stay', async () => {
    const one = await Client.connect(server, 'self', { clientId: 'one' });
    const two = await Client.connect(server, 'self', { clientId: 'two' });
    await disconnect('self', 'one');
    await one.closed;
    await two.roundTrip();
    assert.deepEqual(await idsOf('self'), ['two']);
    await two.end();
  });
});
