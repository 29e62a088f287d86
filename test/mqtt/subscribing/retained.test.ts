// Retained messages: stored for both forms of a topic, sent to subscribers who may see them at that moment, replaced,
// removed, and present after a restart (contract 8).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let owner: Client;
let number = 0;
/** A topic with a retained message that everybody may see. */
const marker = 'devices/zzz/sensors/s1/value';

before(async () => {
  server = await TestServer.start();
  owner = await Client.connect(server, 'owner');
  const device = { id: 'zzz', visibility: 'public', sensors: [{ id: 's1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  await owner.publish(marker, { value: 1 }, { qos: 0, retain: true });
});
after(() => server.stop());

suite('a retained message', () => {
  test('of a sensor is one datapoint, and is given with RETAIN to who subscribes later, in the form asked for', async () => {
    const id = await makeDevice('public');
    const there = await Client.connect(server, 'guest');
    await there.subscribe([`devices/${id}/#`, `/devices/${id}/#`]);
    const topic = `devices/${id}/sensors/s1/value`;
    await owner.publish(`/${topic}`, ' {"value":1}', { qos: 1, retain: true });
    const [seen = []] = await takeAll(server, there);
    assert.deepEqual(
      seen.map((message) => [message.topic, message.retain]),
      [
        [topic, false],
        [`/${topic}`, false],
      ],
    );
    assert.equal((await server.call('owner', 'GET', `/devices/${id}/sensors/s1/values`)).body.length, 1);
    const rows: [filter: string | string[], topics: string[]][] = [
      [topic, [topic]],
      [`/${topic}`, [`/${topic}`]],
      [`devices/${id}/#`, [topic]],
      [`+/devices/${id}/sensors/+/value`, [`/${topic}`]],
      [
        [topic, `devices/${id}/#`, `devices/${id}/sensors/+/value`, `/devices/${id}/#`],
        [topic, `/${topic}`],
      ],
      [`devices/${id}/sensors/s2/value`, []],
      ['+/+/sensors/+/value', []],
    ];
    for (const [filter, topics] of rows) {
      for (const qos of [0, 1, 2] as const) {
        const message = { payload: ' {"value":1}', qos: Math.min(1, qos), retain: true, dup: false };
        assert.deepEqual(
          await retainedFor('stranger', filter, qos),
          topics.map((name) => ({ topic: name, ...message })),
        );
      }
    }
  });

  test('is replaced by the next one, and by nothing else', async () => {
    const id = await makeDevice('private');
    const topic = `devices/${id}/sensors/s1/value`;
    await owner.publish(topic, { value: 1 }, { qos: 2, retain: true });
    await owner.publish(topic, { value: 2 }, { qos: 0, retain: true });
    await owner.publish(topic, { value: 3 }, { qos: 1 });
    await server.call('owner', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 4 } });
    await owner.publish(topic, 'no JSON', { qos: 1, retain: true });
    const stranger = await Client.connect(server, 'stranger');
    await stranger.publish(topic, { value: 5 }, { qos: 1, retain: true });
    const [retained, ...more] = await retainedFor('owner', `devices/${id}/#`, 2);
    assert.deepEqual([retained?.payload, retained?.qos, more], ['{"value":2}', 0, []]);
  });

  test('outlives the server', async () => {
    const id = await makeDevice('private');
    await owner.publish(`devices/${id}/sensors/s1/values`, ' [{"value":1}] ', { qos: 1, retain: true });
    await owner.publish(`devices/${id}/actuators/a1/value`, 'true', { qos: 1, retain: true });
    await server.restart();
    owner = await Client.connect(server, 'owner');
    const seen = await retainedFor('owner', `/devices/${id}/#`, 1);
    assert.deepEqual(seen.map(({ topic, payload, qos, retain }) => `${topic} ${payload} ${qos} ${retain}`).sort(), [
      `/devices/${id}/actuators/a1/value true 1 true`,
      `/devices/${id}/sensors/s1/values  [{"value":1}]  1 true`,
    ]);
  });

  test('is judged when it is given', async () => {
    const id = await makeDevice('private');
    const topic = `devices/${id}/sensors/s1/value`;
    await owner.publish(topic, { value: 1 }, { qos: 1, retain: true });
    const filters = [`devices/${id}/#`, topic, '/#', '+/#', '#'];
    const steps: [change: () => Promise<unknown>, gets: string[]][] = [
      [async () => {}, ['owner', 'admin']],
      [() => put(id, 'shares/sharer', { json: { scopes: ['device-data:view'] } }), ['sharer', 'owner', 'admin']],
      [() => put(id, 'shares/sharer', { json: { scopes: ['device:view'] } }), ['owner', 'admin']],
      [() => put(id, 'visibility', { text: 'public' }), ['guest', 'stranger', 'sharer', 'owner', 'admin']],
      [() => put(id, 'visibility', { text: 'private' }), ['owner', 'admin']],
      [() => put(id, 'owner', { text: 'stranger' }), ['stranger', 'admin']],
    ];
    for (const [change, gets] of steps) {
      await change();
      for (const as of ['guest', 'stranger', 'sharer', 'owner', 'admin']) {
        const seen = (await retainedFor(as, filters, 1)).filter(({ topic: name }) => name.includes(`/${id}/`));
        assert.equal(seen.length > 0, gets.includes(as), as);
      }
    }
  });

  test('of a device that was removed is not given to who has its id now', async () => {
    const id = await makeDevice('private');
    await owner.publish(`devices/${id}/sensors/s1/value`, { value: 'secret' }, { qos: 1, retain: true });
    await owner.publish(`devices/${id}/actuators/a1/value`, '"secret"', { qos: 0, retain: true });
    await server.call('owner', 'DELETE', `/devices/${id}`);
    await server.call('stranger', 'POST', '/devices', {
      json: { id, visibility: 'public', sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] },
    });
    for (const as of ['guest', 'stranger', 'owner']) assert.deepEqual(await retainedFor(as, `devices/${id}/#`, 1), []);
    const stranger = await Client.connect(server, 'stranger');
    await stranger.publish(`devices/${id}/sensors/s1/value`, { value: 'new' }, { qos: 1, retain: true });
    const seen = await retainedFor('guest', `devices/${id}/#`, 1);
    assert.deepEqual(
      seen.map(({ payload }) => payload),
      ['{"value":"new"}'],
    );
  });

  test('of a sensor or actuator that was removed goes with it, also if another has its id then', async () => {
    const id = await makeDevice('public');
    for (const [part, value] of [
      ['sensors/s1', { value: 'old' }],
      ['actuators/a1', '"old"'],
    ] as const) {
      const topic = `devices/${id}/${part}/value`;
      const [parts = '', name] = part.split('/');
      await owner.publish(topic, value, { qos: 1, retain: true });
      await server.call('owner', 'POST', `/devices/${id}/${parts}`, { json: { id: name, name: 'renamed' } });
      assert.equal((await retainedFor('owner', topic, 1)).length, 1, 'a new description keeps it');
      await server.call('owner', 'DELETE', `/devices/${id}/${part}`);
      assert.deepEqual(await retainedFor('owner', topic, 1), []);
      await server.call('owner', 'POST', `/devices/${id}/${parts}`, { json: { id: name } });
      assert.deepEqual(await retainedFor('owner', topic, 1), []);
      await owner.publish(topic, value, { qos: 1, retain: true });
      assert.equal((await retainedFor('owner', topic, 1)).length, 1);
    }
  });

  test('comes again with each SUBSCRIBE, but not when a session comes back', async () => {
    const id = await makeDevice('private');
    const topic = `devices/${id}/sensors/s1/value`;
    await owner.publish(topic, { value: 1 }, { qos: 1, retain: true });
    const first = await Client.connect(server, 'owner', { clientId: 'again', clean: false });
    for (let n = 0; n < 3; n++) {
      await first.subscribe(topic, 1);
      assert.equal((await first.take(1))[0]?.retain, true);
    }
    assert.deepEqual(await takeAll(server, first), [[]]);
    await first.end();
    const second = await Client.connect(server, 'owner', { clientId: 'again', clean: false });
    assert.deepEqual(await takeAll(server, second), [[]]);
    await second.end();
  });
});

suite('an empty retained message', () => {
  for (const part of ['sensors/s1', 'actuators/a1']) {
    test(`takes away what is retained of ${part}, in both forms; it is no value and reaches nobody`, async () => {
      const id = await makeDevice('private');
      await server.call('owner', 'PUT', `/devices/${id}/shares/sharer`, { json: { scopes: ['device-data:create'] } });
      const topic = `devices/${id}/${part}/value`;
      const payload = part === 'sensors/s1' ? '{"value":1}' : '1';
      const there = await Client.connect(server, 'owner');
      await there.subscribe([`devices/${id}/#`, `/devices/${id}/#`], 1);
      for (const [as, form] of [
        ['owner', topic],
        ['sharer', `/${topic}`],
        ['admin', topic],
      ] as const) {
        for (const qos of [0, 1, 2] as const) {
          const client = await Client.connect(server, as);
          await owner.publish(topic, payload, { qos: 1, retain: true });
          await takeAll(server, there);
          assert.equal((await retainedFor('owner', `/devices/${id}/#`, 1)).length, 1);
          const before = await rowsButRetained();
          // Right behind one that is retained: it must not be overtaken.
          await client.publish(form, '', { qos, retain: true });
          await client.roundTrip();
          assert.deepEqual(await takeAll(server, there), [[]]);
          assert.deepEqual(await retainedFor('owner', [`devices/${id}/#`, `/devices/${id}/#`], 1), []);
          assert.deepEqual(await rowsButRetained(), before);
          await client.end();
        }
      }
      assert.deepEqual((await server.call('owner', 'GET', `/devices/${id}/drops`)).body, []);
    });
  }

  test('of who may not publish takes nothing away, and is told of in the drop log', async () => {
    const id = await makeDevice('public');
    for (const part of ['sensors/s1', 'actuators/a1']) {
      const visibility = part === 'sensors/s1' ? 'private' : 'public';
      await put(id, 'visibility', { text: visibility });
      const topic = `devices/${id}/${part}/value`;
      await owner.publish(topic, part === 'sensors/s1' ? '{"value":1}' : '1', { qos: 1, retain: true });
      for (const as of ['guest', 'stranger']) {
        const client = await Client.connect(server, as);
        await client.publish(topic, '', { qos: 1, retain: true });
        await client.publish(`devices/${id}/sensors/s2/value`, '', { qos: 1, retain: true });
        await client.end();
      }
      assert.equal((await retainedFor('owner', topic, 1)).length, 1);
    }
    await server.running.idle();
    assert.equal((await server.call('owner', 'GET', `/devices/${id}/drops`)).body.length, 8);
  });

  test('has its place between what is published before and after it on the same connection', async () => {
    const id = await makeDevice('private');
    const client = await RawClient.connect(server, 'owner', { clientId: 'between' });
    const send = async (topic: string, payloads: readonly string[]) => {
      const packet = { cmd: 'publish' as const, topic, qos: 1 as const, dup: false, retain: true };
      client.send(...payloads.map((payload, index) => ({ ...packet, payload, messageId: index + 1 })));
      for (const _ of payloads) await client.next('puback');
    };
    for (const part of ['sensors/s1', 'actuators/a1']) {
      const topic = `devices/${id}/${part}/value`;
      for (let n = 0; n < 20; n++) {
        const value = part === 'sensors/s1' ? `{"value":${n}}` : `${n}`;
        await send(topic, [value, '']);
        assert.deepEqual(await retainedFor('owner', `devices/${id}/#`, 1), []);
        await send(topic, [value, '', '', value]);
        assert.deepEqual(
          (await retainedFor('owner', topic, 1)).map(({ payload }) => payload),
          [value],
        );
        await send(topic, ['']);
      }
    }
    const packet = { cmd: 'publish' as const, qos: 1 as const, dup: false, retain: true };
    client.send(
      { ...packet, topic: `devices/${id}/actuators/unknown/value`, payload: '', messageId: 1 },
      { ...packet, topic: `devices/${id}/actuators/a1/value`, payload: '"after a refusal"', messageId: 2 },
    );
    await client.next('puback');
    await client.next('puback');
    const [after] = await retainedFor('owner', `devices/${id}/#`, 1);
    assert.equal(after?.payload, '"after a refusal"');
    await client.end();
  });
});

async function makeDevice(visibility: string): Promise<string> {
  const id = `retained-${++number}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  return id;
}

function put(id: string, field: string, carries: { json?: unknown; text?: string }): Promise<unknown> {
  return server.call('admin', 'PUT', `/devices/${id}/${field}`, carries);
}

/** What a new subscription is given at once: all that comes before the marker. */
async function retainedFor(as: string, filter: string | string[], qos: 0 | 1 | 2) {
  await server.running.idle();
  const client = await RawClient.connect(server, as, { clientId: `retained-for-${++number}` });
  client.acknowledges = true;
  // Retained messages come in the order of the filters; those of one filter in the order of their topics.
  const subscriptions = [filter, marker].flat().map((topic) => ({ topic, qos }));
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions });
  await client.next('suback');
  const seen = [await client.next('publish')];
  while (seen.at(-1)?.topic !== marker) seen.push(await client.next('publish'));
  await client.end();
  return seen
    .filter(({ topic }) => topic !== marker)
    .map(({ topic, payload, qos: with_, retain, dup }) => ({ topic, payload: `${payload}`, qos: with_, retain, dup }));
}

async function rowsButRetained() {
  const { mqtt_retained: _, usage: __, mqtt_session: ___, ...rows } = await server.rows();
  return rows;
}
