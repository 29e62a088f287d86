// Who is connected over MQTT (contract 8): what is shown of a client, to whom, and how it is disconnected. A stranger
// learns nothing of others' clients: not by a status, a count or a text.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { setLimits } from '../../support/limits.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { PacketClient } from '../../support/mqtt/packet-client.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['self', 'other'], server.clock);
  await server.call('owner', 'POST', '/devices', { json: { id: 'd1', visibility: 'public', sensors: [{ id: 't' }] } });
  await server.call('owner', 'POST', '/devices', {
    json: { id: 'closed', visibility: 'private', sensors: [{ id: 't' }] },
  });
});
after(() => server.stop());

const path = (id: string) => `/mqtt/clients/${encodeURIComponent(id)}`;
const get = async (as: string, id: string) => (await make(server, { as, call: `GET ${path(id)}`, expect: 200 })).body;
const list = async (as: string, query = '') => {
  const { body, headers } = await make(server, { as, call: `GET /mqtt/clients${query}`, expect: 200 });
  return { ids: body.map(({ id }: { id: string }) => id) as string[], total: Number(headers['x-total-count']), body };
};
const disconnect = (as: string, id: string, expect = 204, session?: 'keep' | 'end') =>
  make(server, { as, call: `POST ${path(id)}/disconnect${session ? `?session=${session}` : ''}`, expect });

/** Leaves with a session that is kept. */
async function leaveSession(as: string, clientId: string, filter = `users/${as}/kept`): Promise<void> {
  const client = await Client.connect(server, as, { clientId, clean: false });
  await client.subscribe(filter, 1);
  await client.end();
  await server.running.idle();
}

async function forget(as: string, clientId: string): Promise<void> {
  await (await Client.connect(server, as, { clientId })).end();
  await server.running.idle();
}

test('ids of dots, and those that look like dots in an address, are told apart', async () => {
  const ids = ['.', '..', '%2E', '%2e%2E', '%252E'];
  // As browsers need it: they take dots out of paths, also as `%2E`.
  const escaped = (id: string) => encodeURIComponent(id.replaceAll('%', '%25').replaceAll('.', '%2E'));
  const clients = new Map<string, Client>();
  for (const id of ids) clients.set(id, await Client.connect(server, 'other', { clientId: id }));
  for (const id of ids) {
    const { body } = await make(server, { as: 'other', call: `GET /mqtt/clients/${escaped(id)}`, expect: 200 });
    assert.equal(body.id, id);
  }
  await make(server, { as: 'admin', call: `POST /mqtt/clients/${escaped('%2E')}/disconnect`, expect: 204 });
  await clients.get('%2E')?.closed;
  clients.delete('%2E');
  await server.running.idle();
  const left = (await list('other')).ids;
  assert.deepEqual(
    ids.filter((id) => !left.includes(id)),
    ['%2E'],
  );
  for (const client of clients.values()) await client.end();
});

suite('a client is shown', () => {
  test('under an id that says that the service gave it, where the client brought none', async () => {
    const clients = [
      await Client.connect(server, 'other', { clientId: '', clean: true }),
      await Client.connect(server, 'other', { clientId: '', clean: true }),
    ];
    const { ids } = await list('other');
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) {
      assert.match(id, /^auto-[0-9a-f-]{36}$/);
      assert.equal((await get('other', id)).id, id);
    }
    for (const client of clients) await client.end();
    await server.running.idle();
  });

  test('with its connection: since when, from where, how, its will, its subscriptions, and what went in and out', async () => {
    const will = { topic: 'users/self/gone', payload: Buffer.from('off'), qos: 1, retain: false } as const;
    const client = await Client.connect(server, 'self', { clientId: 'all of it/1', will });
    await client.subscribe(['users/self/+', 'devices/d1/sensors/t/value'], 1);
    await client.publish('devices/d1/sensors/t/value', { value: 1 }, { qos: 1 });
    await client.publish('devices/d1/sensors/t/value', { value: 2 }, { qos: 1 });
    await client.publish('users/self/x', 'to myself', { qos: 2 });
    await client.take(3);
    const { connected_since, ...shown } = await get('self', 'all of it/1');
    assert.equal(Date.parse(connected_since), server.clock.now());
    assert.deepEqual(shown, {
      id: 'all of it/1',
      owner: 'self',
      connected: true,
      address: '127.0.0.1',
      protocol: '3.1.1',
      transport: 'tcp',
      keep_alive: 60,
      clean_session: true,
      will: { topic: 'users/self/gone', qos: 1, retain: false, bytes: 3, payload: 'off' },
      subscriptions: [
        { filter: 'users/self/+', qos: 1 },
        { filter: 'devices/d1/sensors/t/value', qos: 1 },
      ],
      subscription_count: 2,
      waiting: { messages: 0, bytes: 0, unsent_bytes: 0 },
      messages_in: 3,
      messages_out: 3,
      refused: {},
    });
    const { will: seenByAdmin } = await get('admin', 'all of it/1');
    assert.deepEqual(seenByAdmin, { topic: 'users/self/gone', qos: 1, retain: false, bytes: 3 });
    await client.end();
  });

  test('with the payload of a will that is no text in Base64', async () => {
    const will = { topic: 'users/self/gone', payload: Buffer.from([0, 255]), qos: 0, retain: true } as const;
    const client = await Client.connect(server, 'self', { clientId: 'bytes', will });
    const shown = (await get('self', 'bytes')).will;
    assert.deepEqual(shown, { topic: 'users/self/gone', qos: 0, retain: true, bytes: 2, payload_base64: 'AP8=' });
    await client.end();
  });

  test('of version 5 with how long its session is kept, and what was refused', async () => {
    const client = await PacketClient.open(server);
    const properties = { sessionExpiryInterval: 3_600 };
    assert.equal((await client.signIn({ as: 'self', clientId: 'of-five', properties })).reasonCode, 0);
    await client.publish({ topic: 'devices/none/sensors/s/value', payload: '1' });
    await client.publish({ topic: 'devices/d1/sensors/t/value', payload: 'no reading' });
    const shown = await get('self', 'of-five');
    assert.deepEqual(
      [shown.protocol, shown.session_expiry, shown.clean_session, shown.refused],
      ['5.0', 3_600, false, { unknown: 1, malformed: 1 }],
    );
    await client.leave({ properties: { sessionExpiryInterval: 60 } });
    const away = await get('self', 'of-five');
    assert.equal(away.session_expiry, undefined);
    assert.equal(Date.parse(away.expires), Date.parse(away.disconnected_since) + 60_000);
    await disconnect('self', 'of-five', 204, 'end');
    const forever = await PacketClient.open(server);
    await forever.signIn({ as: 'self', clientId: 'of-five', properties: { sessionExpiryInterval: 0xffff_ffff } });
    assert.equal((await get('self', 'of-five')).session_expiry, undefined);
    await forever.leave({ properties: { sessionExpiryInterval: 0 } });
  });

  test('over WebSocket as well', async () => {
    const client = await Client.connect(server, 'self', { clientId: 'web', over: 'ws' });
    assert.equal((await get('self', 'web')).transport, 'ws');
    assert.equal((await get('self', 'web')).address, '127.0.0.1');
    await disconnect('self', 'web');
    await client.closed;
    await make(server, { as: 'self', call: `GET ${path('web')}`, expect: 404 });
  });

  test('with what was refused, by reason', async () => {
    const client = await Client.connect(server, 'stranger', { clientId: 'refused' });
    const publish = (topic: string, payload: unknown = { value: 1 }) => client.publish(topic, payload, { qos: 1 });
    await publish('devices/closed/sensors/t/value');
    await publish('devices/none/sensors/t/value');
    await publish('devices/d1/sensors/t/value', 'no JSON {');
    await publish('nobody/asked');
    await publish('nobody/asked');
    const { refused, messages_in } = await get('stranger', 'refused');
    const asOverHttp = async (device: string) =>
      (await server.call('stranger', 'POST', `/devices/${device}/sensors/t/value`, { json: { value: 1 } })).status;
    // Neither says more than the answer over HTTP does.
    assert.deepEqual([await asOverHttp('closed'), await asOverHttp('none')], [403, 404]);
    assert.deepEqual(refused, { permission: 1, unknown: 1, malformed: 1, topic: 2 });
    assert.equal(messages_in, 5);
    await client.end();
  });

  test('that is away, with what waits for it, until its session ends', async () => {
    await leaveSession('self', 'away');
    const sender = await Client.connect(server, 'self');
    await sender.publish('users/self/kept', 'x'.repeat(100), { qos: 1 });
    await sender.end();
    await server.running.idle();
    const { disconnected_since, waiting, expires, ...shown } = await get('self', 'away');
    assert.equal(Date.parse(disconnected_since), server.clock.now());
    assert.ok(Date.parse(expires) > server.clock.now());
    assert.equal(waiting.messages, 1);
    assert.ok(waiting.bytes > 100, String(waiting.bytes));
    assert.deepEqual(shown, {
      id: 'away',
      owner: 'self',
      connected: false,
      clean_session: false,
      subscriptions: [{ filter: 'users/self/kept', qos: 1 }],
      subscription_count: 1,
      refused: {},
    });
    const back = await Client.connect(server, 'self', { clientId: 'away', clean: false });
    await back.take(1);
    await server.running.idle();
    const again = await get('self', 'away');
    assert.equal(again.connected, true);
    assert.equal(again.clean_session, false);
    assert.equal(again.waiting.messages, 0);
    assert.equal(again.messages_out, 1);
    await back.end();
    await forget('self', 'away');
    await make(server, { as: 'self', call: `GET ${path('away')}`, expect: 404 });
  });
});

suite('of a client beyond a bound is shown', () => {
  setLimits({ sessionFiltersMax: limits.clientSubscriptionsShown + 1, sessionMessagesMax: 1 });

  test('which filters were not granted, and the first of very many subscriptions', async () => {
    const client = await Client.connect(server, 'self', { clientId: 'filters' });
    const filters = Array.from({ length: limits.clientSubscriptionsShown + 1 }, (_, n) => `users/self/${n}`);
    await client.subscribe(filters);
    await assert.rejects(client.subscribe('users/self/more'));
    const { subscriptions, subscription_count, refused } = await get('self', 'filters');
    assert.equal(subscriptions.length, limits.clientSubscriptionsShown);
    assert.equal(subscription_count, limits.clientSubscriptionsShown + 1);
    assert.deepEqual(refused, { subscription: 1 });
    await client.end();
  });

  test('how many messages were not kept because its session was full', async () => {
    await leaveSession('self', 'full');
    const sender = await Client.connect(server, 'self');
    for (const n of [1, 2, 3]) await sender.publish('users/self/kept', String(n), { qos: 1 });
    await sender.end();
    await server.running.idle();
    const { waiting, refused } = await get('self', 'full');
    assert.equal(waiting.messages, 1);
    assert.deepEqual(refused, { queue_full: 2 });
    await forget('self', 'full');
  });
});

suite('a list of clients', () => {
  test('has the actor’s own alone, to admins all, first the connected in the order in which they came', async () => {
    await leaveSession('other', 'o-away');
    await leaveSession('self', 's-away');
    const clients = [
      await Client.connect(server, 'self', { clientId: 's-2' }),
      await Client.connect(server, 'guest', { clientId: 'g-1' }),
      await Client.connect(server, 'other', { clientId: 'o-1' }),
      await Client.connect(server, 'self', { clientId: 's-1' }),
    ];
    const own = await list('self');
    assert.deepEqual([own.ids, own.total], [['s-2', 's-1', 's-away'], 3]);
    const others = await list('other');
    assert.deepEqual([others.ids, others.total], [['o-1', 'o-away'], 2]);
    const all = await list('admin');
    assert.deepEqual([all.ids, all.total], [['s-2', 'g-1', 'o-1', 's-1', 'o-away', 's-away'], 6]);
    assert.deepEqual(await list('stranger').then(({ ids, total }) => [ids, total]), [[], 0]);
    assert.equal(all.body[1].owner, 'guest');

    // A client that comes again is the last.
    const again = await Client.connect(server, 'self', { clientId: 's-2' });
    assert.deepEqual((await list('self')).ids, ['s-1', 's-2', 's-away']);

    assert.deepEqual((await list('admin', '?limit=2&offset=1')).ids, ['o-1', 's-1']);
    const { headers } = await make(server, { as: 'self', call: 'GET /mqtt/clients?limit=1&offset=1', expect: 200 });
    assert.match(String(headers.link), /offset=2>; rel="next", .*offset=0>; rel="prev"/);
    for (const [query, ids] of [
      ['?state=kept', ['o-away', 's-away']],
      ['?state=connected&text=S-', ['s-1', 's-2']],
      ['?text=OTHER', ['o-1', 'o-away']],
      ['?text=127.0.0', ['g-1', 'o-1', 's-1', 's-2']],
      ['?text=nothing', []],
    ] as const)
      assert.deepEqual((await list('admin', query)).ids, ids, query);
    assert.deepEqual((await list('self', '?text=o-')).total, 0);
    for (const client of [...clients.slice(1), again]) await client.end();
    await forget('self', 's-away');
    await forget('other', 'o-away');
  });

  test('has no session that has expired, and none of a client whose connection broke', async () => {
    await leaveSession('self', 'old');
    const broken = await Client.connect(server, 'self', { clientId: 'broken' });
    await broken.cut();
    await until(async () => (await list('self')).ids.join() === 'old');
    server.clock.advance(400 * 86_400_000);
    assert.deepEqual((await list('self')).ids, []);
    await make(server, { as: 'self', call: `GET ${path('old')}`, expect: 404 });
  });
});

suite('who sees and disconnects a client', () => {
  const everybody = [
    ['guest', 401, 401],
    ['stranger', 404, 404],
    ['sharer', 404, 404],
    ['self', 200, 204],
    ['admin', 200, 204],
  ] as const;

  for (const how of ['connected', 'kept'] as const) {
    for (const [as, read, end] of everybody) {
      test(`${as} is answered ${read} and ${end} for one that is ${how}`, async () => {
        const id = `${how} of ${as}`;
        const client = await Client.connect(server, 'self', { clientId: id, clean: how === 'connected' });
        if (how === 'kept') {
          await client.end();
          await server.running.idle();
        }
        const calls: Call[] = [
          { as, call: `GET ${path(id)}`, expect: read },
          { as, call: `POST ${path(id)}/disconnect?session=end`, expect: end },
        ];
        const answers = await makeAll(server, calls);
        if (end === 204) {
          if (how === 'connected') await client.closed;
          await make(server, { as: 'self', call: `GET ${path(id)}`, expect: 404 });
          return;
        }
        assert.equal((await get('self', id)).connected, how === 'connected');
        // The answer for a client that does not exist differs by the id alone.
        const unknown = `nothing of ${as}`;
        const answersOfNone = await makeAll(
          server,
          calls.map((call) => ({
            ...call,
            call: call.call.replace(encodeURIComponent(id), encodeURIComponent(unknown)),
          })),
        );
        answersOfNone.forEach(({ body }, n) => {
          const text = JSON.stringify(body)
            .replaceAll(unknown, id)
            .replaceAll(encodeURIComponent(unknown), encodeURIComponent(id));
          assert.equal(text, JSON.stringify(answers[n]?.body));
        });
        await disconnect('admin', id, 204, 'end');
      });
    }
  }

  test('a guest sees none, not even guests’ own, where guests have full access', async () => {
    const client = await Client.connect(server, 'guest', { clientId: 'guest-1' });
    await makeAll(server, [
      { as: 'guest', call: 'GET /mqtt/clients', expect: 401 },
      { as: 'guest', call: 'GET /mqtt/clients/guest-1', expect: 401 },
      { as: 'guest', call: 'POST /mqtt/clients/guest-1/disconnect', expect: 401 },
    ]);
    await client.roundTrip();
    await client.end();
  });

  test('a whole API key sees its owner’s, one of an admin without the scope no more, a restricted one none', async () => {
    const client = await Client.connect(server, 'self', { clientId: 'keyed' });
    const calls = async (as: string, more: object, expected: readonly [number, number]) => {
      const { key } = await makeKeyOn(server, as, more);
      const headers = { authorization: `Bearer ${key}` };
      await make(server, { call: 'GET /mqtt/clients', headers, expect: expected[0] });
      await make(server, { call: 'GET /mqtt/clients/keyed', headers, expect: expected[1] });
    };
    await calls('self', {}, [200, 200]);
    await calls('self', { scopes: ['devices:view'] }, [403, 403]);
    await calls('stranger', {}, [200, 404]);
    await client.end();
  });
});
