// What a gateway missed (contract 6): the last value of each actuator set while its client was not connected is handed to
// it once, when it subscribes, if it is young enough. With a real client library.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
let count = 0;
let gateway = '';
let device = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  count += 1;
  gateway = `gateway-${count}`;
  device = `device-${count}`;
  await owner('POST', '/gateways', { json: { id: gateway } });
  await makeDevice(device);
});

async function makeDevice(id: string, actuator: object = {}): Promise<void> {
  const actuators = [
    { id: 'valve', ...actuator },
    { id: 'pump', ...actuator },
  ];
  await owner('POST', '/devices', { json: { id, gateway_id: gateway, actuators } });
}

async function owner(method: string, path: string, carries: { json?: unknown; text?: string } = {}): Promise<void> {
  const { status, text } = await server.call('owner', method, path, carries);
  assert.ok(status < 300, text);
}

const connect = (clean = true, as = 'owner') => Client.connect(server, as, { clientId: gateway, clean });
const set = (value: unknown, actuator = 'valve', id = device) =>
  owner('PUT', `/devices/${id}/actuators/${actuator}/value`, { json: value });
const isDelivered = async (actuator = 'valve', id = device) =>
  (await server.call('owner', 'GET', `/devices/${id}/actuators/${actuator}/values?lastN=1`)).body[0].delivered;

/** What has come, as topic and payload. */
async function taken(client: Client): Promise<string[]> {
  const [messages = []] = await takeAll(server, client);
  return messages.map(({ topic, payload }) => `${topic} ${payload}`);
}

async function untilGone(): Promise<void> {
  await until(async () => !(await server.call('owner', 'GET', `/gateways/${gateway}`)).body.connected);
}

async function leave(client: Client): Promise<void> {
  await client.cut();
  await untilGone();
}

suite('a gateway that subscribes', () => {
  test('is given the last value of each actuator that was set before, and no earlier one', async () => {
    await set('early');
    await set(false);
    await set({ speed: [1, null] }, 'pump');
    const client = await connect();
    await client.subscribe(`devices/${device}/actuators/+/value`, 1);
    assert.deepEqual(await taken(client), [
      `devices/${device}/actuators/valve/value false`,
      `devices/${device}/actuators/pump/value {"speed":[1,null]}`,
    ]);
    assert.equal(await isDelivered(), true);
    assert.equal(await isDelivered('pump'), true);
    await client.end();
  });

  test('is given it once: not at a second SUBSCRIBE, not after it reconnects, not after a restart', async () => {
    await set(true);
    let client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), [`devices/${device}/actuators/valve/value true`]);
    await client.subscribe(['devices/#', `devices/${device}/#`, `/devices/${device}/actuators/valve/value`]);
    assert.deepEqual(await taken(client), []);
    await leave(client);
    client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    await leave(client);
    await server.restart();
    client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    await client.end();
  });

  test('is given what it missed before a restart', async () => {
    await set(true);
    await server.restart();
    const client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), [`devices/${device}/actuators/valve/value true`]);
    await client.end();
  });

  const forms: readonly (readonly [filters: readonly string[], slashes: readonly string[]])[] = [
    [['#'], ['']],
    [['/#'], ['/']],
    [['devices/+/actuators/+/value'], ['']],
    [['+/devices/#'], ['/']],
    [
      ['/devices/#', 'devices/#'],
      ['', '/'],
    ],
    [['devices/#', '#', 'devices/+/actuators/#'], ['']],
  ];
  for (const [filters, slashes] of forms) {
    test(`with ${filters.join(' and ')} gets the form that it asks for, once`, async () => {
      await set(1);
      const client = await connect();
      await client.subscribe(filters);
      const expected = slashes.map((slash) => `${slash}devices/${device}/actuators/valve/value 1`);
      assert.deepEqual(await taken(client), expected);
      await client.end();
    });
  }

  test('to something else keeps what it missed until it subscribes to its actuators', async () => {
    await set(1);
    const client = await connect();
    await client.subscribe(['users/owner/#', `devices/${device}/sensors/#`, `devices/${device}/actuators/pump/value`]);
    assert.deepEqual(await taken(client), []);
    assert.equal(await isDelivered(), false);
    await client.subscribe(`devices/${device}/actuators/valve/value`);
    assert.deepEqual(await taken(client), [`devices/${device}/actuators/valve/value 1`]);
    await client.end();
  });

  test('gets what is set while it is connected as any subscriber, and nothing of it again', async () => {
    let client = await connect();
    await client.subscribe('devices/#');
    await set(1);
    assert.deepEqual(await taken(client), [`devices/${device}/actuators/valve/value 1`]);
    assert.equal(await isDelivered(), true);
    await client.subscribe('#');
    await leave(client);
    client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    await client.end();
  });

  test('of a hundred devices gets every value once, in the order in which they were set', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => `${device}-${n}`);
    for (const id of ids) await makeDevice(id);
    await Promise.all(ids.map((id) => set(id, 'valve', id)));
    await Promise.all(ids.map((id) => set(id, 'pump', id)));
    const client = await connect();
    await client.subscribe('devices/#');
    const messages = await taken(client);
    assert.equal(messages.length, 200);
    assert.equal(new Set(messages).size, 200);
    assert.ok(messages.slice(0, 100).every((message) => message.includes('/valve/')));
    await client.end();
  });
});

suite('who is not given it', () => {
  test('another client of the same user, and a client whose user may not act for the gateway', async () => {
    await set(1);
    const other = await Client.connect(server, 'owner', { clientId: `other-${count}` });
    await other.subscribe('devices/#');
    assert.deepEqual(await taken(other), []);
    await other.end();
    await assert.rejects(connect(true, 'stranger'), { code: 2 });
    assert.equal(await isDelivered(), false);
  });

  test('the gateway of another device, and one whose user may not read the device now', async () => {
    await owner('PUT', `/gateways/${gateway}/owner`, { text: 'sharer' });
    await set(1);
    const client = await connect(true, 'sharer');
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    await owner('PUT', `/devices/${device}/shares/sharer`, { json: { scopes: ['device-data:view'] } });
    await client.subscribe('#');
    assert.deepEqual(await taken(client), [`devices/${device}/actuators/valve/value 1`]);
    await client.end();
  });

  test('a stranger who claims the device for a gateway of theirs', async () => {
    const { status } = await server.call('stranger', 'POST', '/gateways', { json: { id: `${gateway}-x` } });
    assert.equal(status, 200);
    await owner('PUT', `/devices/${device}/visibility`, { text: 'public' });
    await set(1);
    const moved = await server.call('stranger', 'PUT', `/devices/${device}/gateway_id`, { text: `${gateway}-x` });
    assert.equal(moved.status, 403);
    const client = await Client.connect(server, 'stranger', { clientId: `${gateway}-x` });
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    await client.end();
  });

  test('the gateway of the new owner, where the device was handed over', async () => {
    await set(1);
    await owner('PUT', `/devices/${device}/owner`, { text: 'sharer' });
    await owner('PUT', `/gateways/${gateway}/owner`, { text: 'sharer' });
    const client = await connect(true, 'sharer');
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    await client.end();
  });
});

const ages: readonly (readonly [validFor: number | undefined, ageS: number, isGiven: boolean])[] = [
  [undefined, 3_600, true],
  [undefined, 3_601, false],
  [60, 60, true],
  [60, 61, false],
  [0, 0, false],
  [86_400, 86_400, true],
  [86_400, 3 * 86_400, false],
];

suite('a value that is too old', () => {
  for (const [valid_for, ageS, isGiven] of ages) {
    test(`set ${ageS} s before, good for ${valid_for ?? 'the default'}: ${isGiven ? 'is' : 'is not'} given`, async () => {
      const id = `${device}-aged`;
      await makeDevice(id, { valid_for });
      await set(1, 'valve', id);
      server.clock.advance(ageS * 1000);
      const client = await connect();
      await client.subscribe('devices/#');
      assert.deepEqual(await taken(client), isGiven ? [`devices/${id}/actuators/valve/value 1`] : []);
      assert.equal(await isDelivered('valve', id), isGiven);
      await client.end();
    });
  }

  test('counts by what the actuator says when the gateway comes', async () => {
    await set(1);
    await set(2, 'pump');
    await owner('PUT', `/devices/${device}/actuators/valve/valid_for`, { json: 10 });
    server.clock.advance(11_000);
    const client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), [`devices/${device}/actuators/pump/value 2`]);
    await client.end();
  });
});

suite('a clock that is in doubt', () => {
  const hour = 3_600_000;
  const rows: readonly (readonly [name: string, story: () => Promise<void>])[] = [
    ['set ahead after the setting', async () => server.jump(2 * hour)],
    ['set back after the setting', async () => server.jump(-2 * hour)],
    [
      'set back by what has passed, so that the value looks young',
      async () => {
        server.clock.advance(3 * 24 * hour);
        server.jump(-3 * 24 * hour);
      },
    ],
    [
      'set back by what has passed, and steady since',
      async () => {
        server.clock.advance(3 * 24 * hour);
        server.jump(-3 * 24 * hour);
        await server.running.idle();
        for (let minutes = 0; minutes < 10; minutes++) {
          server.clock.advance(60_000);
          await server.running.idle();
        }
      },
    ],
  ];
  for (const [name, story] of rows) {
    test(`gives nothing: ${name}`, async (t) => {
      const before = server.clock.now();
      t.after(() => settleClock(before));
      await set(1);
      await story();
      const client = await connect();
      await client.subscribe('devices/#');
      assert.deepEqual(await taken(client), []);
      await client.end();
    });
  }

  test('gives nothing that was set during the doubt, even when it has ended', async (t) => {
    const before = server.clock.now();
    t.after(() => settleClock(before));
    server.jump(2 * hour);
    await server.running.idle();
    await set(1);
    server.jump(-2 * hour);
    await settleClock(before);
    const client = await connect();
    await client.subscribe('devices/#');
    assert.deepEqual(await taken(client), []);
    assert.equal(await isDelivered(), false);
    await client.end();
  });

  /** Puts the clock right, not before `atMs`, and waits until it is trusted. */
  async function settleClock(atMs: number): Promise<void> {
    server.jump(Math.max(0, atMs - server.clock.now()));
    await server.restart();
    for (let minutes = 0; minutes < 10; minutes++) {
      server.clock.advance(60_000);
      await server.running.idle();
    }
  }
});
