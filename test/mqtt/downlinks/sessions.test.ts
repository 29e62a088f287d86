// What a gateway missed, beside what other ways give it: the queue of its stored session, retained messages, and a
// connection that a proxy cuts under a client library that reconnects by itself (contract 6, 8).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { connect as connectMqtt } from 'mqtt';
import { CuttingProxy } from '../../support/cutting-proxy.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
let count = 0;
let gateway = '';
let device = '';
let other: Client;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async (t) => {
  count += 1;
  gateway = `gateway-${count}`;
  device = `device-${count}`;
  await owner('POST', '/gateways', { json: { id: gateway } });
  await owner('POST', '/devices', { json: { id: device, gateway_id: gateway, actuators: [{ id: 'valve' }] } });
  other = await Client.connect(server, 'owner');
  (t as { after?: (end: () => Promise<void>) => void }).after?.(() => other.end());
});

async function owner(method: string, path: string, carries: { json?: unknown; text?: string } = {}): Promise<void> {
  const { status, text } = await server.call('owner', method, path, carries);
  assert.ok(status < 300, text);
}

const topic = () => `devices/${device}/actuators/valve/value`;
const connect = (clean: boolean) => Client.connect(server, 'owner', { clientId: gateway, clean });
const set = (value: unknown) => owner('PUT', `/devices/${device}/actuators/valve/value`, { json: value });
const publish = (value: unknown, options: { qos: 0 | 1 | 2; retain?: boolean } = { qos: 1 }) =>
  other.publish(topic(), JSON.stringify(value), options);

async function taken(client: Client): Promise<string[]> {
  const [messages = []] = await takeAll(server, client);
  return messages.map(({ payload }) => payload);
}

async function leave(client: Client): Promise<void> {
  await client.cut();
  await until(async () => !(await server.call('owner', 'GET', `/gateways/${gateway}`)).body.connected);
}

const history = async () => {
  const { body } = await server.call('owner', 'GET', `/devices/${device}/actuators/valve/values?lastN=20`);
  return (body as { value: unknown; delivered: boolean }[]).map(({ value, delivered }) => [value, delivered]);
};

suite('a stored session', () => {
  beforeEach(async () => {
    const client = await connect(false);
    await client.subscribe('devices/#', 1);
    await leave(client);
  });

  test('gives what it has queued, and nothing of it is given again, after a restart either', async () => {
    for (const value of [1, 2, 3]) await publish(value);
    await server.restart();
    let client = await connect(false);
    assert.deepEqual(await taken(client), ['1', '2', '3']);
    await client.subscribe('devices/#', 1);
    assert.deepEqual(await taken(client), []);
    assert.deepEqual(await history(), [
      [3, true],
      [2, true],
      [1, true],
    ]);
    await leave(client);
    client = await connect(true);
    await client.subscribe('devices/#', 1);
    assert.deepEqual(await taken(client), []);
    await client.end();
  });

  test('that does not queue a value set by REST is given it when it is resumed, behind what was queued', async () => {
    await publish('queued');
    await set('by REST');
    const client = await connect(false);
    assert.deepEqual(await taken(client), ['"queued"', '"by REST"']);
    await client.subscribe('devices/#', 1);
    assert.deepEqual(await taken(client), []);
    await client.end();
  });

  test('that queued the last value gives that alone, not the one set by REST before it', async () => {
    await set('by REST');
    await publish('queued');
    const client = await connect(false);
    assert.deepEqual(await taken(client), ['"queued"']);
    assert.deepEqual(await history(), [
      ['queued', true],
      ['by REST', false],
    ]);
    await client.end();
  });

  test('that is given up with what it has queued leaves the last value to be handed over', async () => {
    for (const value of [1, 2]) await publish(value);
    const client = await connect(true);
    await client.subscribe('devices/#', 1);
    assert.deepEqual(await taken(client), ['2']);
    await client.end();
  });

  test('opens no valve days later: what was queued is dropped where the last setting is too old', async () => {
    await publish('open');
    await server.running.idle();
    server.clock.advance(3 * 86_400_000);
    const client = await connect(false);
    assert.equal(client.sessionPresent, true);
    assert.deepEqual(await taken(client), []);
    assert.deepEqual(await history(), [['open', false]]);
    await set('close');
    assert.deepEqual(await taken(client), ['"close"']);
    await client.end();
  });
});

suite('a retained message', () => {
  test('that is the last value is given as the retained one alone', async () => {
    await publish(true, { qos: 1, retain: true });
    // Delivery comes behind the acknowledgement: who subscribes at once may be given both.
    await server.running.idle();
    let client = await connect(true);
    await client.subscribe(`devices/${device}/#`);
    assert.deepEqual(await taken(client), ['true']);
    assert.deepEqual(await history(), [[true, true]]);
    await leave(client);
    // As MQTT has it, retained messages are given at each SUBSCRIBE.
    client = await connect(true);
    await client.subscribe(`devices/${device}/#`);
    assert.deepEqual(await taken(client), ['true']);
    await client.end();
  });

  test('that contradicts the last value is not given to the gateway, which is given the last value', async () => {
    await publish('open', { qos: 1, retain: true });
    await set('close');
    await server.running.idle();
    const watcher = await Client.connect(server, 'owner');
    const client = await connect(true);
    await client.subscribe(`devices/${device}/#`);
    await watcher.subscribe(`devices/${device}/#`);
    assert.deepEqual(await taken(client), ['"close"']);
    assert.deepEqual(await taken(watcher), ['"open"']);
    await client.end();
    await watcher.end();
  });
});

suite('a proxy that cuts', () => {
  test('a library that reconnects and subscribes by itself gets each missed value once', async (t) => {
    const proxy = await CuttingProxy.open(server.running.ports.mqtt as number);
    t.after(() => proxy.close());
    const received: string[] = [];
    let subscribed = 0;
    const client = connectMqtt(`mqtt://127.0.0.1:${proxy.port}`, {
      ...{ clientId: gateway, clean: true, username: 'owner', password, reconnectPeriod: 10, resubscribe: false },
    });
    t.after(() => client.endAsync(true));
    client.on('message', (_, payload) => received.push(payload.toString()));
    client.on('connect', () => {
      client.subscribe(`devices/${device}/actuators/+/value`, { qos: 1 }, () => {
        subscribed += 1;
      });
    });
    client.on('error', () => {});
    await until(() => subscribed === 1);
    const connected = async () => (await server.call('owner', 'GET', `/gateways/${gateway}`)).body.connected;
    for (let round = 0; round < 5; round++) {
      client.options.reconnectPeriod = 600_000;
      proxy.cut();
      await until(async () => !(await connected()));
      await set([round, 'first']);
      await set([round, 'last']);
      client.options.reconnectPeriod = 10;
      client.reconnect();
      await until(() => subscribed === round + 2);
      await until(() => received.length > round);
    }
    await server.running.idle();
    const [first] = await takeAll(server, other);
    assert.deepEqual(first, []);
    assert.deepEqual(
      received,
      [0, 1, 2, 3, 4].map((round) => JSON.stringify([round, 'last'])),
    );
  });

  test('while values are set all the time, each is given at most once, and the last one is', async (t) => {
    const proxy = await CuttingProxy.open(server.running.ports.mqtt as number);
    t.after(() => proxy.close());
    const received: number[] = [];
    const client = connectMqtt(`mqtt://127.0.0.1:${proxy.port}`, {
      ...{ clientId: gateway, clean: true, username: 'owner', password, reconnectPeriod: 5 },
    });
    t.after(() => client.endAsync(true));
    client.on('message', (_, payload) => received.push(Number(payload.toString())));
    client.on('error', () => {});
    await client.subscribeAsync(`devices/${device}/actuators/+/value`);
    for (let value = 0; value < 200; value++) {
      if (value % 9 === 4) proxy.cut();
      await set(value);
    }
    await until(async () => received.at(-1) === 199);
    await server.running.idle();
    assert.equal(new Set(received).size, received.length);
    assert.deepEqual(
      received,
      received.toSorted((one, next) => one - next),
    );
  });
});
