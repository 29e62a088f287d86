// The memory of active rules is counted: no rule takes much more than estimated, and when it is used up a new rule is
// refused and the existing ones go on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { setLimits } from '../../support/limits.ts';
import { TestServer } from '../../support/test-server.ts';

// Two rules of five devices fit, and what is made of one device with two rules.
setLimits({ ruleBytesMax: 40_000, ruleBytesMultiple: 3, sortedRuleBytesMax: 4_000 });

const action = { usernames: ['owner'], channels: ['none'], message: 'now {id}' };
const devices = ['d0', 'd1', 'd2', 'd3', 'd4'];
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  for (const id of devices) {
    await make(server, { as: 'owner', call: 'POST /devices', json: { id, sensors: [{ id: 's' }] }, expect: 204 });
  }
});
after(() => server.stop());

const ruleOf = (more: object = {}) => ({ condition: { devices, sensors: ['s'], expression: 's>1' }, action, ...more });
const create = (as: string, rule: object) => server.call(as, 'POST', '/notifications', { json: rule });

async function push(device: string, value: number): Promise<void> {
  const path = `/devices/${device}/sensors/s/values`;
  assert.equal((await server.call('owner', 'POST', path, { json: { value } })).status, 204);
}

test('where rules take all memory of their author, more are 503, others have theirs, and what is given back is free', async () => {
  const ids: string[] = [];
  let refused: Awaited<ReturnType<typeof create>> | undefined;
  while (refused === undefined && ids.length < 100) {
    const made = await create('owner', ruleOf());
    if (made.status === 200) ids.push(made.text);
    else refused = made;
  }
  assert.equal(refused?.status, 503);
  assert.ok(Number(refused?.headers['retry-after']) > 0);
  assert.ok(ids.length >= 10, `${ids.length} rules`);
  // One that is not active takes none.
  const idle = await create('owner', ruleOf({ status: 'inactive' }));
  assert.equal(idle.status, 200);
  const start = () => server.call('owner', 'PUT', `/notifications/${idle.text}/status`, { json: 'active' });
  assert.equal((await start()).status, 503);
  assert.equal((await create('sharer', ruleOf())).status, 200);
  // All that are there fire, whichever device they are of.
  for (const device of devices) await push(device, 2);
  for (const device of devices) await push(device, 3);
  await server.running.idle();
  for (const id of ids) {
    const { body } = await server.call('owner', 'GET', `/notifications/${id}`);
    assert.equal(body.times_sent, 2 * devices.length);
  }
  // An edit that makes it no larger is taken, and a removal makes room.
  const edit = { condition: { expression: 's>2' } };
  const edited = await server.call('owner', 'PATCH', `/notifications/${ids[0]}`, { json: edit });
  assert.ok(edited.status < 300, edited.text);
  for (const id of ids.slice(0, 2)) await server.call('owner', 'DELETE', `/notifications/${id}`);
  assert.ok((await start()).status < 300);
});

test('a rule about the silence of sensors counts each of them on each device, whether it is there or not', async () => {
  const sensors = Array.from({ length: 50 }, (_, n) => `s${n}`);
  const json = { condition: { devices: ['n0', 'n1', 'n2', 'n3', 'n4'], sensors }, action };
  const plain = await create('guest', json);
  assert.equal(plain.status, 200, plain.text);
  assert.equal((await create('guest', { ...json, silence: 60 })).status, 503);
  const silent = await server.call('guest', 'PATCH', `/notifications/${plain.text}`, { json: { silence: 60 } });
  assert.equal(silent.status, 503);
  await server.call('guest', 'DELETE', `/notifications/${plain.text}`);
});

test('the text about a recovery counts like the rest of a rule', async () => {
  const recovery = { recovery_message: 'x'.repeat(4096) };
  const made = [];
  for (let n = 0; n < 10; n++) made.push(await create('stranger', ruleOf(recovery)));
  const statuses = made.map(({ status }) => status);
  assert.ok(statuses.includes(503), statuses.join());
  for (const { status, text } of made)
    if (status === 200) await server.call('stranger', 'DELETE', `/notifications/${text}`);
});

test('a rule about silence stores nothing about devices and sensors that are not there', async () => {
  const condition = { devices: ['d0', 'nowhere'], sensors: ['s', 'gone'] };
  const { text: id } = await create('sharer', { condition, action, silence: 60 });
  server.clock.advance(61_000);
  await server.running.idle();
  const rows = (await server.rows())['notification_memory'] as readonly { device: string; memory: string }[];
  assert.deepEqual(
    rows.map(({ device, memory }) => [device, JSON.parse(memory)]),
    [['d0', { silent: [['s', false]] }]],
  );
  await server.call('sharer', 'DELETE', `/notifications/${id}`);
});
