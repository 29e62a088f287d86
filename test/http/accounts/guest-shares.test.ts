// Quotas of all guests together are shared out by address (contract 1): an address takes no more than its share of
// each kind, over HTTP and MQTT, and of the allowance for strangers of a device.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

const each = limits.datapointBytesCounted;
const [one, two, three] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;
const dayMs = 86_400_000;
let server: TestServer;

beforeEach(async () => {
  await server?.stop();
  server = await TestServer.start({
    DUNDUN_GUEST_QUOTAS: `devices=12,sensors=40,gateways=4,projects=4,rules=4,mqtt_sessions=4,description_bytes=4000B,datapoint_bytes=${each * 100}B`,
    DUNDUN_STRANGER_BYTES: `${each * 40}B`,
  });
});
after(() => server.stop());

const post = (from: string, path: string, json: object) => server.call('guest', 'POST', path, { from, json });
const create = (from: string, id: string, more: object = {}) => post(from, '/devices', { id, ...more });
const push = async (from: string, device: string, count: number, as = 'guest'): Promise<number> => {
  const json = Array.from({ length: count }, (_, n) => ({ value: n }));
  const answer = await server.call(as, 'POST', `/devices/${device}/sensors/s/values`, { from, json });
  await server.running.idle();
  return answer.status;
};
/** How many of so many attempts are answered as done. */
async function countDone(attempts: number, attempt: (n: number) => Promise<Answer>): Promise<number> {
  let done = 0;
  for (let n = 0; n < attempts; n++) {
    const answer = await attempt(n);
    if (answer.status < 300) done += 1;
    else assert.deepEqual([answer.status, answer.body.type], [403, 'urn:dundun:problem:quota'], answer.text);
  }
  return done;
}

test('an address makes half of the devices, and what it removes it may make again', async () => {
  assert.equal(await countDone(12, (n) => create(one, `one-${n}`)), 6);
  const refused = await create(one, 'more');
  assert.deepEqual(refused.body.quota, { kind: 'devices', used: 6, limit: 12 });
  assert.match(refused.body.detail, /your address/);
  assert.equal(await countDone(6, (n) => create(two, `two-${n}`)), 3);
  assert.equal(await countDone(6, (n) => create(three, `three-${n}`)), 2);
  for (let n = 0; n < 5; n++) await server.call('guest', 'DELETE', `/devices/one-${n}`, { from: one });
  assert.equal((await create(one, 'again')).status, 204);
  // Who signed in has a quota of their own.
  assert.equal((await server.call('owner', 'POST', '/devices', { from: one, json: { id: 'owned' } })).status, 204);
});

test('what was refused for another reason is not counted', async () => {
  await create(one, 'taken');
  for (let n = 0; n < 20; n++) assert.equal((await create(one, 'taken')).status, 422);
  assert.equal(await countDone(12, (n) => create(one, `other-${n}`)), 5);
});

test('many at a time from one address leave as much for the next', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => create(one, `at-once-${n}`)));
  assert.ok(answers.filter(({ status }) => status === 204).length <= 7);
  assert.equal((await create(two, 'next')).status, 204);
});

test('sensors, descriptions, gateways and projects are shared out alike', async () => {
  const sensors = Array.from({ length: 30 }, (_, n) => ({ id: `s${n}` }));
  assert.equal((await create(one, 'many', { sensors })).body.quota.kind, 'sensors');
  assert.equal((await create(one, 'long', { meta: { text: 'x'.repeat(2500) } })).body.quota.kind, 'description_bytes');
  assert.equal((await create(one, 'plain', { sensors: [{ id: 's' }] })).status, 204);
  const meta = (n: number) => `/devices/plain/sensors/s${n}`;
  const put = (n: number) =>
    server.call('guest', 'POST', '/devices/plain/sensors', {
      from: one,
      json: { id: meta(n).slice(-2), meta: { text: 'x'.repeat(500) } },
    });
  assert.equal(await countDone(8, put), 3);
  assert.equal(await countDone(4, (n) => post(one, '/gateways', { id: `gateway-${n}` })), 2);
  assert.equal(await countDone(1, (n) => post(two, '/gateways', { id: `gateway-two-${n}` })), 1);
  assert.equal(await countDone(4, (n) => post(one, '/projects', { name: `p${n}` })), 2);
});

test('an address pushes half of what guests may, the next has room, and another day begins anew', async () => {
  await create(one, 'd', { sensors: [{ id: 's' }] });
  assert.equal(await push(one, 'd', 51), 204);
  assert.equal(await push(one, 'd', 1), 403);
  const bulk = await post(one, '/datapoints', [{ device_id: 'd', sensor_id: 's', value: 1 }] as object);
  assert.equal(bulk.body.accepted, 0, bulk.text);
  assert.equal(await push(two, 'd', 20), 204);
  assert.equal(await push(one, 'd', 1), 403);
  server.clock.advance(dayMs);
  assert.equal(await push(one, 'd', 1), 204);
});

test('one stranger pushes half of what strangers may push to a device, and the others the rest', async () => {
  const json = { id: 'open', visibility: 'public', sensors: [{ id: 's' }] };
  await server.call('owner', 'POST', '/devices', { json });
  assert.equal(await push(two, 'open', 3), 204);
  assert.equal(await push(one, 'open', 25), 204);
  assert.equal(await push(one, 'open', 1), 403);
  assert.equal(await push(two, 'open', 1), 204);
  assert.equal(await push(one, 'open', 1, 'stranger'), 204);
  assert.equal(await push(one, 'open', 1, 'owner'), 204);
  assert.equal(await push(one, 'open', 1), 403);
  server.clock.advance(dayMs);
  assert.equal(await push(one, 'open', 1), 204);
});

test('an address stores half of the MQTT sessions; one that is there is taken up again', async () => {
  const connect = async (from: string, clientId: string) => {
    const client = await RawClient.open(server, from);
    const { returnCode } = await client.signIn('guest', { clientId, clean: false });
    await (returnCode === 0 ? client.end() : client.closed);
    await server.running.idle();
    return returnCode;
  };
  assert.deepEqual([await connect(one, 'a'), await connect(one, 'b'), await connect(one, 'c')], [0, 0, 3]);
  assert.deepEqual([await connect(one, 'a'), await connect(two, 'd')], [0, 0]);
});

test('an address retains half of what guests may, and in the place of what it has it may retain again', async () => {
  await server.restart({ DUNDUN_GUEST_QUOTAS: 'retained_bytes=20000B' });
  const sensors = Array.from({ length: 6 }, (_, n) => ({ id: `s${n}` }));
  await create(one, 'd', { sensors });
  const retain = async (from: string, sensor: string, chars: number): Promise<string> => {
    const client = await RawClient.open(server, from);
    await client.signIn('guest', { clientId: `retains-${from}` });
    const payload = chars === 0 ? '' : JSON.stringify({ value: 'x'.repeat(chars) });
    client.publish({ topic: `devices/d/sensors/${sensor}/value`, payload, retain: true });
    const outcome = await Promise.race([client.next('puback').then(() => 'kept'), client.closed.then(() => 'cut')]);
    client.socket.destroy();
    await server.running.idle();
    return outcome;
  };
  // Both forms of the topic are kept, so that each takes twice its bytes and some.
  for (const sensor of ['s0', 's1']) assert.equal(await retain(one, sensor, 250), 'kept');
  assert.equal(await retain(one, 's2', 3_500), 'kept');
  assert.equal(await retain(one, 's3', 3_500), 'cut');
  assert.equal(await retain(two, 's3', 2_000), 'kept');
  assert.equal(await retain(one, 's2', 3_400), 'kept');
  assert.equal(await retain(one, 's2', 0), 'kept');
  assert.equal(await retain(one, 's4', 1_500), 'kept');
});

test('a stored session of a stranger takes half of the bytes that guests have, and the next one its even part', async () => {
  await server.restart({ DUNDUN_GUEST_QUOTAS: 'mqtt_sessions=4,mqtt_session_bytes=16000B' });
  /** How many filters of some 500 bytes a session takes. */
  const subscribe = async (from: string, clientId: string): Promise<number> => {
    const client = await RawClient.open(server, from);
    assert.equal((await client.signIn('guest', { clientId, clean: false })).returnCode, 0);
    for (let n = 0; ; n++) {
      const topic = `${clientId}/${n}/${'x'.repeat(430)}`;
      client.send({ cmd: 'subscribe', messageId: n + 1, subscriptions: [{ topic, qos: 1 }] });
      const { granted } = await client.next('suback');
      if (granted[0] === 1) continue;
      await client.end();
      await server.running.idle();
      return n;
    }
  };
  const first = await subscribe(one, 'greedy');
  assert.ok(first >= 10 && first <= 16, `${first}`);
  assert.equal(await subscribe(one, 'greedy-too'), 3);
  assert.equal(await subscribe(two, 'modest'), 3);
});
