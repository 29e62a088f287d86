// A device that has another id, over MQTT (decision 42): what is published under either id is stored, and subscribers to
// either hear it.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { runSql } from '../support/data.ts';
import { Client, takeAll } from '../support/mqtt/mqtt-client.ts';
import { TestServer } from '../support/test-server.ts';

let server: TestServer;
let count = 0;
let from = '';
let to = '';
let owner: Client;
const yearMs = 365 * 24 * 3_600_000;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  count += 1;
  [from, to] = [`before-${count}`, `after-${count}`];
  await call('POST', '/devices', { json: { id: from, sensors: [{ id: 's' }], actuators: [{ id: 'a' }] } });
  owner = await Client.connect(server, 'owner');
});

async function call(method: string, path: string, carries: { json?: unknown; text?: string } = {}): Promise<void> {
  const { status, text } = await server.call('owner', method, path, carries);
  assert.ok(status < 300, text);
}

const rename = (id = from, into = to) => call('PUT', `/devices/${id}/id`, { text: into });
const sensor = (id: string) => `devices/${id}/sensors/s/value`;
const actuator = (id: string) => `devices/${id}/actuators/a/value`;
const values = async () =>
  (await server.call('owner', 'GET', `/devices/${to}/sensors/s/values`)).body.map(
    ({ value }: { value: unknown }) => value,
  );
const topicsOf = (messages: { topic: string; payload: unknown }[] = []) =>
  messages.map(({ topic, payload }) => `${topic} ${payload}`);

test('what a device publishes under its former id is stored, in every QoS, and by a connection from before', async () => {
  const device = await Client.connect(server, 'owner');
  await device.publish(sensor(from), { value: 0 }, { qos: 1 });
  await rename();
  for (const qos of [0, 1, 2] as const) await device.publish(sensor(from), { value: qos + 1 }, { qos });
  await device.publish(`/${sensor(from)}`, { value: 4 }, { qos: 1 });
  await device.publish(sensor(to), { value: 5 }, { qos: 1 });
  await device.publish(actuator(from), 7, { qos: 1 });
  await server.running.idle();
  assert.deepEqual(await values(), [0, 1, 2, 3, 4, 5]);
  const { body } = await server.call('owner', 'GET', `/devices/${to}/actuators/a`);
  assert.equal(body.value, 7);
  const drops = await server.call('owner', 'GET', `/devices/${from}/drops`);
  assert.deepEqual(drops.body, []);
});

test('subscribers to either id hear what is published under either, once for each filter that names it; wildcards once', async () => {
  const filters = {
    former: [sensor(from), `/${sensor(from)}`, actuator(from)],
    present: [sensor(to), `/${sensor(to)}`, actuator(to)],
    formerTree: [`devices/${from}/#`],
    all: ['#'],
    each: ['devices/+/sensors/+/value', 'devices/+/actuators/+/value'],
    slashed: ['+/devices/+/sensors/s/value'],
  };
  const names = Object.keys(filters) as (keyof typeof filters)[];
  const clients = new Map<string, Client>();
  for (const name of names) {
    const client = await Client.connect(server, 'owner');
    await client.subscribe(filters[name]);
    clients.set(name, client);
  }
  await rename();
  await owner.publish(sensor(from), '{"value":1}', { qos: 1 });
  await owner.publish(sensor(to), '{"value":2}', { qos: 1 });
  await call('PUT', `/devices/${from}/actuators/a/value`, { json: 3 });
  const heard = await takeAll(server, ...(clients.values() as Iterable<Client>));
  const under = (id: string) => [`${sensor(id)} {"value":1}`, `${sensor(id)} {"value":2}`, `${actuator(id)} 3`];
  const slashed = (id: string) =>
    under(id)
      .slice(0, 2)
      .map((message) => `/${message}`);
  const expected: Record<string, string[]> = {
    former: [...under(from), ...slashed(from)],
    present: [...under(to), ...slashed(to)],
    formerTree: under(from),
    all: under(to),
    each: under(to),
    slashed: slashed(to),
  };
  for (const [index, name] of names.entries()) {
    assert.deepEqual(topicsOf(heard[index]).sort(), (expected[name] ?? []).sort(), name);
  }
});

test('a stored session keeps what waits for it, and hears by the filter that it has', async () => {
  for (const [clientId, filter] of [
    [`s-former-${count}`, sensor(from)],
    [`s-each-${count}`, 'devices/+/sensors/+/value'],
  ] as const) {
    const client = await Client.connect(server, 'owner', { clientId, clean: false });
    await client.subscribe(filter, 1);
    await client.end();
  }
  await owner.publish(sensor(from), '{"value":1}', { qos: 1 });
  await rename();
  await owner.publish(sensor(from), '{"value":2}', { qos: 1 });
  const formerly = await Client.connect(server, 'owner', { clientId: `s-former-${count}`, clean: false });
  const each = await Client.connect(server, 'owner', { clientId: `s-each-${count}`, clean: false });
  const [first, second] = await takeAll(server, formerly, each);
  assert.deepEqual(topicsOf(first), [`${sensor(from)} {"value":1}`, `${sensor(from)} {"value":2}`]);
  assert.deepEqual(topicsOf(second), [`${sensor(from)} {"value":1}`, `${sensor(to)} {"value":2}`]);
});

test('a retained message is retained under the new id, replaced and removed by either', async () => {
  const retained = async (id: string) => {
    // A message is delivered and retained behind its acknowledgement.
    await server.running.idle();
    const client = await Client.connect(server, 'owner');
    await client.subscribe(`devices/${id}/#`);
    const [messages] = await takeAll(server, client);
    await client.end();
    return topicsOf(messages);
  };
  await owner.publish(sensor(from), '{"value":1}', { qos: 1, retain: true });
  await owner.publish(actuator(from), '1', { qos: 1, retain: true });
  await server.running.idle();
  await rename();
  assert.deepEqual((await retained(to)).sort(), [`${actuator(to)} 1`, `${sensor(to)} {"value":1}`]);
  await owner.publish(sensor(from), '{"value":2}', { qos: 1, retain: true });
  assert.deepEqual((await retained(to)).sort(), [`${actuator(to)} 1`, `${sensor(to)} {"value":2}`]);
  assert.deepEqual((await retained(from)).sort(), [`${actuator(from)} 1`, `${sensor(from)} {"value":2}`]);
  await owner.publish(sensor(from), '', { qos: 1, retain: true });
  await owner.publish(actuator(from), '', { qos: 1, retain: true });
  assert.deepEqual(await retained(to), []);
  assert.deepEqual(await retained(from), []);
});

test('a gateway that subscribes to the former id hears settings, and is given what it missed', async () => {
  const gateway = `gateway-${count}`;
  await call('POST', '/gateways', { json: { id: gateway } });
  await call('PUT', `/devices/${from}/gateway_id`, { text: gateway });
  await rename();
  await call('PUT', `/devices/${to}/actuators/a/value`, { json: 1 });
  const client = await Client.connect(server, 'owner', { clientId: gateway });
  await client.subscribe(actuator(from), 1);
  assert.deepEqual(topicsOf((await takeAll(server, client))[0]), [`${actuator(from)} 1`]);
  await call('PUT', `/devices/${to}/actuators/a/value`, { json: 2 });
  assert.deepEqual(topicsOf((await takeAll(server, client))[0]), [`${actuator(from)} 2`]);
  const { body } = await server.call('owner', 'GET', `/devices/${to}/actuators/a/values?lastN=2`);
  assert.deepEqual(
    body.map(({ delivered }: { delivered: unknown }) => delivered),
    [true, true],
  );
});

test('a stranger hears nothing by either id; after a year nothing comes or is stored by the former', async () => {
  await rename();
  const stranger = await Client.connect(server, 'stranger');
  await stranger.subscribe([sensor(from), sensor(to), '#']);
  const subscriber = await Client.connect(server, 'owner');
  await subscriber.subscribe(sensor(from));
  await owner.publish(sensor(from), '{"value":1}', { qos: 1 });
  const [foreign, own] = await takeAll(server, stranger, subscriber);
  assert.deepEqual(topicsOf(foreign), []);
  assert.deepEqual(topicsOf(own), [`${sensor(from)} {"value":1}`]);
  server.clock.advance(yearMs);
  const later = await Client.connect(server, 'owner');
  const still = await Client.connect(server, 'owner');
  await still.subscribe([sensor(from), sensor(to)]);
  await later.publish(sensor(from), '{"value":2}', { qos: 1 });
  await later.publish(sensor(to), '{"value":3}', { qos: 1 });
  assert.deepEqual(topicsOf((await takeAll(server, still))[0]), [`${sensor(to)} {"value":3}`]);
  assert.deepEqual(await values(), [1, 3]);
});

test('after a restart subscribers and gateways hear by the former id, though nothing was published to it', async () => {
  const gateway = `gateway-${count}`;
  await call('POST', '/gateways', { json: { id: gateway } });
  await call('PUT', `/devices/${from}/gateway_id`, { text: gateway });
  await rename();
  await server.restart();
  const subscriber = await Client.connect(server, 'owner');
  await subscriber.subscribe([sensor(from), actuator(from)]);
  const publisher = await Client.connect(server, 'owner');
  await publisher.publish(sensor(to), '{"value":1}', { qos: 1 });
  await call('PUT', `/devices/${to}/actuators/a/value`, { json: 2 });
  assert.deepEqual(topicsOf((await takeAll(server, subscriber))[0]), [
    `${sensor(from)} {"value":1}`,
    `${actuator(from)} 2`,
  ]);
  await server.restart();
  const client = await Client.connect(server, 'owner', { clientId: gateway });
  await client.subscribe(actuator(from), 1);
  assert.deepEqual(topicsOf((await takeAll(server, client))[0]), [`${actuator(from)} 2`]);
});

test('a gateway of the same id keeps its topics and what is retained on them, and nobody is given another’s', async () => {
  await call('POST', '/gateways', { json: { id: from } });
  const { status } = await server.call('stranger', 'POST', '/gateways', { json: { id: to, visibility: 'private' } });
  assert.equal(status, 200);
  const retain = { qos: 1, retain: true } as const;
  const own = [`devices/${from}/x/sensors/s/value`, `devices/${from}/sensors/other/value/deep`];
  for (const topic of own) await owner.publish(topic, 'own', retain);
  const stranger = await Client.connect(server, 'stranger');
  await stranger.publish(`devices/${to}/secret`, 'foreign', retain);
  await owner.publish(sensor(from), '{"value":1}', retain);
  await server.running.idle();
  await rename();
  const client = await Client.connect(server, 'owner');
  await client.subscribe([`devices/${from}/#`]);
  assert.deepEqual(
    topicsOf((await takeAll(server, client))[0]).sort(),
    [...own.toSorted().map((topic) => `${topic} own`), `${sensor(from)} {"value":1}`].sort(),
  );
});

test('what was retained of an earlier device under the new id goes, and the count of retained messages stays right', async () => {
  const counted = async () => {
    const admin = await Client.connect(server, 'admin');
    await admin.subscribe('$SYS/broker/retained messages/count');
    const [messages = []] = await takeAll(server, admin);
    await admin.end();
    return Number(messages.at(-1)?.payload);
  };
  const stored = async () => Number((await runSql(server.folder, 'SELECT count(*) AS n FROM mqtt_retained'))[0]?.['n']);
  await call('POST', '/devices', { json: { id: to, sensors: [{ id: 's' }] } });
  const retain = { qos: 1, retain: true } as const;
  await owner.publish(sensor(to), '{"value":1}', retain);
  await owner.publish(sensor(from), '{"value":2}', retain);
  await server.running.idle();
  await call('DELETE', `/devices/${to}`);
  await rename();
  await server.running.idle();
  server.clock.advance(10_000);
  assert.equal(await counted(), await stored());
  const client = await Client.connect(server, 'owner');
  await client.subscribe(sensor(to));
  assert.deepEqual(topicsOf((await takeAll(server, client))[0]), [`${sensor(to)} {"value":2}`]);
  // A second request for the same change changes nothing more.
  const again = await Promise.all(
    ['x', 'x'].map((each) => server.call('owner', 'PUT', `/devices/${to}/id`, { text: `${to}-${each}` })),
  );
  assert.ok(again.some(({ status }) => status === 204));
  const retained = await Client.connect(server, 'owner');
  await retained.subscribe(sensor(`${to}-x`));
  assert.deepEqual(topicsOf((await takeAll(server, retained))[0]), [`${sensor(`${to}-x`)} {"value":2}`]);
});
