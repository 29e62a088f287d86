// Whoever gets the name of a user who was removed gets nothing that was for that user: rules and messages name their
// recipients, and mean who had the name when they were written.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { Provider } from '../../support/peers/provider.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let provider: Provider;

before(async () => {
  provider = await Provider.start();
  server = await TestServer.start({ DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' });
  await make(server, {
    as: 'owner',
    call: 'POST /devices',
    json: { id: 'd', sensors: [{ id: 'TC' }] },
    expect: 204,
  });
});
after(async () => {
  await server.stop();
  await provider.stop();
});

/** A user of this name, who gets webhooks at this path. */
async function add(username: string, path: string): Promise<string> {
  const json = { username, password: `a long one, ${username}`, webhook: [`${provider.url}/${path}`] };
  return (await make(server, { as: 'admin', call: 'POST /users', json, expect: 200 })).text;
}

const remove = (id: string) => make(server, { as: 'admin', call: `DELETE /users/${id}`, expect: 204 });

async function addRule(action: object): Promise<string> {
  const condition = { devices: ['d'], sensors: ['TC'], expression: 'TC<40' };
  return (await make(server, { as: 'owner', call: 'POST /notifications', json: { condition, action }, expect: 200 }))
    .text;
}

async function push(value: number): Promise<void> {
  await make(server, { as: 'owner', call: 'POST /devices/d/sensors/TC/values', json: { value }, expect: 204 });
  await server.running.idle();
}

const paths = () => provider.asked.splice(0).map(({ path }) => path);
const newest = async () =>
  (await make(server, { as: 'owner', call: 'GET /socials?limit=1', expect: 200 })).body[0] as Record<string, string>;

for (const [form, wrap] of [
  ['flat', (value: object) => value],
  ['wrapped', (value: object) => ({ type: 'SocialAction', value })],
] as const) {
  test(`a rule does not send to who got the name of a removed user (${form}), until it is saved again`, async () => {
    const name = `fanta-${form}`;
    const first = await add(name, 'first');
    const action = wrap({ usernames: [name], channels: ['webhook'], message: '{TC}' });
    const rule = await addRule(action);
    await push(1);
    assert.deepEqual(paths(), ['/first']);
    await remove(first);
    await push(2);
    await add(name, 'second');
    await server.restart();
    await push(3);
    assert.deepEqual(paths(), []);
    const { status, reason } = await newest();
    assert.equal(status, 'failed');
    assert.match(reason ?? '', /^no such user: who had this name was removed/);
    await make(server, { as: 'owner', call: `PATCH /notifications/${rule}`, json: { description: 'x' }, expect: 204 });
    await push(4);
    assert.deepEqual(paths(), []);
    await make(server, { as: 'owner', call: `PATCH /notifications/${rule}`, json: { action }, expect: 204 });
    await push(5);
    assert.deepEqual(paths(), ['/second']);
    await make(server, { as: 'owner', call: `DELETE /notifications/${rule}`, expect: 204 });
  });
}

test('a rule does not send to who got the name of a removed user after its device got another id', async () => {
  const json = { id: 'e', sensors: [{ id: 'TC' }], actuators: [{ id: 'a' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  const first = await add('pepsi', 'first');
  const condition = { devices: ['e'], sensors: ['TC'], expression: 'TC<40' };
  const action = { usernames: ['pepsi'], channels: ['webhook'], message: '{TC}' };
  await make(server, { as: 'owner', call: 'POST /notifications', json: { condition, action }, expect: 200 });
  const value = { device_id: 'e', actuator_id: 'a', actuator_value: '{TC}' };
  const setting = { condition, action: { type: 'ActuationAction', value } };
  const { text } = await make(server, { as: 'owner', call: 'POST /notifications', json: setting, expect: 200 });
  await remove(first);
  await add('pepsi', 'second');
  await make(server, { as: 'owner', call: 'PUT /devices/e/id', text: 'f', expect: 204 });
  const { body } = await make(server, { as: 'owner', call: `GET /notifications/${text}`, expect: 200 });
  assert.deepEqual([body.condition.devices, body.action.value.device_id], [['f'], 'f']);
  await make(server, { as: 'owner', call: 'POST /devices/f/sensors/TC/values', json: { value: 1 }, expect: 204 });
  await server.running.idle();
  assert.deepEqual(paths(), []);
  assert.equal((await newest())['status'], 'failed');
});

test('a message that waits for a removed user does not go to who got the name', async () => {
  const first = await add('issa', 'first');
  provider.reply = { status: 503 };
  const json = { username: 'issa', channel: 'webhook', message: 'The pump stands still.' };
  await make(server, { as: 'owner', call: 'POST /socials', json, expect: 200 });
  await server.running.idle();
  assert.deepEqual(paths(), ['/first']);
  await remove(first);
  await add('issa', 'second');
  provider.reply = { status: 204 };
  server.clock.advance(3_600_000);
  await make(server, { as: 'owner', call: 'POST /socials', json: { ...json, channel: 'none' }, expect: 200 });
  await server.running.idle();
  assert.deepEqual(paths(), []);
  await make(server, { as: 'owner', call: 'POST /socials', json, expect: 200 });
  await server.running.idle();
  assert.deepEqual(paths(), ['/second']);
});

test('a rule may name a user who is still to come', async () => {
  await addRule({ usernames: ['late'], channels: ['webhook'], message: '{TC}' });
  await push(6);
  assert.deepEqual(paths(), []);
  await add('late', 'late');
  await push(7);
  assert.deepEqual(paths(), ['/late']);
});
