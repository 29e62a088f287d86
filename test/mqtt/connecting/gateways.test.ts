// A gateway over MQTT (contract 6 and 8): who may use its client id, when it counts as connected, and when it was last
// seen.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
let count = 0;
let id = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(() => {
  count += 1;
  id = `gateway-${count}`;
});

async function declare(as: string, visibility = 'private'): Promise<void> {
  assert.equal((await server.call(as, 'POST', '/gateways', { json: { id, visibility } })).status, 200);
}
const read = async () => (await server.call('admin', 'GET', `/gateways/${id}`)).body;
const connect = (as: string, clean = true) => Client.connect(server, as, { clientId: id, clean });
const refused = (connecting: Promise<Client>) => assert.rejects(connecting, { code: 2 });

/** Waits until the server has learned that a connection has ended. */
async function untilGone(): Promise<void> {
  await until(async () => !(await read()).connected);
}

suite('the id of a gateway', () => {
  test('is for who may change the gateway; everybody else gets CONNACK 2, also where it is public', async () => {
    for (const visibility of ['private', 'public']) {
      id = `${id}-${visibility}`;
      await declare('owner', visibility);
      for (const as of ['guest', 'stranger', 'sharer'])
        for (const clean of [true, false]) await refused(connect(as, clean));
      for (const as of ['owner', 'admin']) {
        const client = await connect(as);
        await client.roundTrip();
        for (const other of ['guest', 'stranger', as === 'owner' ? 'admin' : 'owner']) await refused(connect(other));
        await client.roundTrip();
        await client.end();
        await untilGone();
      }
    }
  });

  test('of guest is for guest', async () => {
    await declare('guest');
    await refused(connect('stranger'));
    const client = await connect('guest');
    assert.equal((await read()).connected, true);
    await client.end();
  });

  test('taken by a guest before it was declared goes to its owner, and the guest is cut', async () => {
    const squatter = await connect('guest', false);
    await squatter.subscribe('devices/#', 1);
    await declare('owner');
    assert.equal((await read()).connected, false);
    await squatter.roundTrip();
    const gateway = await connect('owner', false);
    await squatter.closed;
    assert.equal(gateway.sessionPresent, false);
    assert.equal((await read()).connected, true);
    await refused(connect('stranger', false));
    // Nothing of the squatter's session is left in it.
    await server.call('owner', 'POST', '/devices', { json: { id: `${id}-d`, sensors: [{ id: 's' }] } });
    await server.call('owner', 'POST', `/devices/${id}-d/sensors/s/value`, { json: { value: 1 } });
    assert.deepEqual(await takeAll(server, gateway), [[]]);
    await gateway.end();
  });

  test('goes with the gateway to a new owner, from a stored session too, also after a restart', async () => {
    await declare('owner');
    const first = await connect('owner', false);
    await first.subscribe('users/owner/#', 1);
    await first.end();
    await untilGone();
    await refused(connect('admin', false));
    await server.call('owner', 'PUT', `/gateways/${id}/owner`, { text: 'sharer' });
    await refused(connect('owner', false));
    await server.restart();
    const next = await connect('sharer', false);
    assert.equal(next.sessionPresent, false);
    await refused(connect('owner', false));
    await next.end();
  });

  test('is like any other once the gateway is gone', async () => {
    await declare('owner');
    await refused(connect('stranger'));
    await server.call('owner', 'DELETE', `/gateways/${id}`);
    const client = await connect('stranger');
    await client.end();
  });
});

suite('a gateway', () => {
  test('is connected while a client with its id is, and was last seen when that did something', async () => {
    await declare('owner');
    assert.deepEqual([(await read()).connected, (await read()).last_seen], [false, undefined]);
    const gateway = await connect('owner');
    const seenNow = async () => assert.equal(Date.parse((await read()).last_seen), server.clock.now());
    assert.equal((await read()).connected, true);
    await seenNow();
    server.clock.advance(5_000);
    await gateway.roundTrip();
    await seenNow();
    const lastMs = server.clock.now();
    server.clock.advance(5_000);
    await gateway.cut();
    await untilGone();
    assert.equal(Date.parse((await read()).last_seen), lastMs);
    await server.restart();
    assert.deepEqual([(await read()).connected, Date.parse((await read()).last_seen)], [false, lastMs]);
  });

  test('stays connected when its client takes over from itself', async () => {
    await declare('owner');
    const first = await connect('owner');
    const second = await connect('owner');
    await first.closed;
    await second.roundTrip();
    assert.equal((await read()).connected, true);
    await second.end();
    await untilGone();
  });

  test('is connected no more when it is handed over, and is again when it is handed back', async () => {
    await declare('owner');
    const client = await connect('owner');
    await server.call('owner', 'PUT', `/gateways/${id}/owner`, { text: 'stranger' });
    assert.equal((await read()).connected, false);
    const { last_seen: seen } = await read();
    server.clock.advance(1_000);
    await client.roundTrip();
    assert.equal((await read()).last_seen, seen);
    await server.call('stranger', 'PUT', `/gateways/${id}/owner`, { text: 'owner' });
    assert.equal((await read()).connected, true);
    await client.end();
  });

  test('shows in lists as it stands', async () => {
    await declare('owner');
    const client = await connect('owner');
    const { body } = await server.call('owner', 'GET', '/gateways');
    const found = body.filter((gateway: { connected: boolean }) => gateway.connected);
    assert.deepEqual(
      found.map((gateway: { id: string }) => gateway.id),
      [id],
    );
    await client.end();
  });
});
