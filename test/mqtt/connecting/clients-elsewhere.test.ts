// MQTT clients of other servers, as one is told of them: how its own and theirs make one list, what it answers when they ask, and what it
// says of a server that is silent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ToldClient, tell } from '../../../src/domain/clients/told-client.ts';
import type { Engine } from '../../../src/domain/ports/engine.ts';
import type { QuestionHandlers, QuestionKind, Questions } from '../../../src/domain/ports/questions.ts';
import type { UserKey } from '../../../src/domain/users/user.ts';
import { make } from '../../support/api/calls.ts';
import { engineWith } from '../../support/engine-with.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
/** What the server answers to others. */
let handlers: QuestionHandlers;
/** Clients of a server that joined before this one, and of one that joined later. */
let earlier: ToldClient[] = [];
let later: ToldClient[] = [];
let silent: string[] = [];
let asked = 0;

const clientOf = (id: string, isConnected = true): ToldClient =>
  tell({
    ...{ id, owner: 1, subscriptions: [], subscriptionCount: 0, refused: new Map() },
    connection: !isConnected
      ? undefined
      : {
          ...{ sinceMs: 0, address: '192.0.2.1', transport: 'tcp', protocolLevel: 4, keepAliveS: 60, will: undefined },
          ...{ sessionExpiryS: undefined, messagesIn: 0, messagesOut: 0, unsentBytes: 0 },
        },
    kept: isConnected ? undefined : { awayMs: 0, expiresMs: undefined, waitingMessages: 0, waitingBytes: 0 },
  });

/** One client an answer, so that each part of a page is asked for in several. */
function answersOf(clients: readonly ToldClient[]): Partial<QuestionHandlers> {
  const those = (state: string) =>
    clients.filter(({ connection }) => (connection !== undefined) === (state === 'connected'));
  return {
    'clients-counted': async () => ({ connected: those('connected').length, kept: those('kept').length }),
    'clients-listed': async ({ state, offset }) => ({ clients: those(state).slice(offset, offset + 1), looked: 1 }),
    'client-found': async ({ client }) => ({ client: clients.find(({ id }) => id === client) }),
    'client-disconnected': async ({ client }) => ({ isDone: clients.some(({ id }) => id === client) }),
    'gateways-connected': async ({ gateways }) => ({
      gateways: gateways.filter((gateway) => clients.some(({ id }) => id === gateway)),
    }),
  };
}

before(async () => {
  const ask = async (kind: QuestionKind, what: unknown, { server: only }: { readonly server?: string } = {}) => {
    asked += 1;
    const given: object[] = [];
    for (const [name, place, clients] of [
      ['earlier', 1, earlier],
      ['later', 3, later],
    ] as const) {
      if (only !== undefined && only !== name) continue;
      const handler = answersOf(clients)[kind] as (given: unknown) => Promise<unknown>;
      given.push({ server: name, place, answer: await handler(what) });
    }
    return { given, silent };
  };
  const questions = {
    ...{ place: 2, isAlone: false, ask },
    answer: (given: QuestionHandlers) => {
      handlers = given;
    },
  } as unknown as Questions;
  server = await TestServer.start({}, { replaceEngine: (engine: Engine) => engineWith(engine, { questions }) });
});
after(() => server.stop());

const list = async (query = '') => {
  const { body, headers } = await make(server, { as: 'admin', call: `GET /mqtt/clients${query}`, expect: 200 });
  return [body.map(({ id }: { id: string }) => id), headers['x-total-count'], headers['x-silent-servers']];
};

test('connected clients come server by server, in the order in which these joined, and kept sessions behind them', async () => {
  const own = [
    await Client.connect(server, 'owner', { clientId: 'o1' }),
    await Client.connect(server, 'owner', { clientId: 'o2' }),
  ];
  earlier = [clientOf('e1'), clientOf('e2'), clientOf('e3', false)];
  later = [clientOf('l1'), clientOf('l2', false)];
  const all = ['e1', 'e2', 'o1', 'o2', 'l1', 'e3', 'l2'];
  assert.deepEqual(await list(), [all, '7', undefined]);
  for (let limit = 1; limit <= 7; limit++)
    for (let offset = 0; offset <= 7; offset++)
      assert.deepEqual(await list(`?limit=${limit}&offset=${offset}`), [
        all.slice(offset, offset + limit),
        '7',
        undefined,
      ]);
  assert.deepEqual(await list('?state=kept&limit=1&offset=1'), [['l2'], '2', undefined]);
  silent = ['s1', 's2'];
  // Each that was counted answers no more.
  earlier = [];
  later = [];
  assert.deepEqual(await list(), [['o1', 'o2'], '2', 's1, s2']);
  silent = [];
  for (const client of own) await client.end();
  await server.running.idle();
});

test('a client that only a silent server may have is answered 503 with its id, and one that is there as ever', async () => {
  const own = await Client.connect(server, 'owner', { clientId: 'own' });
  earlier = [clientOf('far')];
  silent = ['s1'];
  for (const id of ['own', 'far']) await make(server, { as: 'admin', call: `GET /mqtt/clients/${id}`, expect: 200 });
  await make(server, { as: 'owner', call: 'GET /mqtt/clients/far', expect: 503 });
  const { body } = await make(server, { as: 'admin', call: 'GET /mqtt/clients/lost', expect: 503 });
  assert.match(body.detail, /^A server does not answer: s1\. /);
  await make(server, { as: 'admin', call: 'POST /mqtt/clients/lost/disconnect', expect: 503 });
  for (const id of ['own', 'far'])
    await make(server, { as: 'admin', call: `POST /mqtt/clients/${id}/disconnect`, expect: 204 });
  await own.closed;
  silent = [];
  for (const call of ['GET /mqtt/clients/lost', 'POST /mqtt/clients/lost/disconnect'])
    await make(server, { as: 'admin', call, expect: 404 });
});

test('another server is answered what is connected here, and who asks for somebody else disconnects nothing', async () => {
  const keyOf = async (name: string) => (await server.running.engine.stores.users.findByName(name))?.key as UserKey;
  const [user, stranger] = [await keyOf('owner'), await keyOf('stranger')];
  const client = await Client.connect(server, 'owner', { clientId: 'here' });
  assert.deepEqual(await handlers['clients-counted']({ user }), { connected: 1, kept: 0 });
  assert.deepEqual(await handlers['clients-counted']({ user: 'everybody' }), { connected: 1, kept: 0 });
  // What was lost on the way is nobody's.
  for (const other of [{ user: stranger }, {} as { readonly user: UserKey }])
    assert.deepEqual(await handlers['clients-counted'](other), { connected: 0, kept: 0 });
  const { clients } = await handlers['clients-listed']({ user, state: 'connected', offset: 0, limit: 10 });
  assert.deepEqual(clients.map(({ id }) => id), ['here']); // biome-ignore format: short
  assert.equal((await handlers['client-found']({ client: 'here' })).client?.owner, user);
  const how = { client: 'here', keepSession: true, by: 'somebody' };
  assert.deepEqual(await handlers['client-disconnected']({ ...how, user: stranger }), { isDone: false });
  assert.deepEqual(await handlers['client-disconnected'](how as typeof how & { readonly user: UserKey }), {
    isDone: false,
  });
  await client.roundTrip();
  assert.deepEqual(await handlers['client-disconnected']({ ...how, user }), { isDone: true });
  await client.closed;
});

test('whether gateways are connected elsewhere is asked for together, and not of those that are connected here', async () => {
  for (const id of ['g1', 'g2', 'g3'])
    await server.call('owner', 'POST', '/gateways', { json: { id, visibility: 'public' } });
  const here = await Client.connect(server, 'owner', { clientId: 'g1' });
  earlier = [clientOf('g2')];
  asked = 0;
  const connected = async () => {
    const { body } = await make(server, { as: 'owner', call: 'GET /gateways', expect: 200 });
    return body.map((gateway: { id: string; connected: boolean }) => [gateway.id, gateway.connected]);
  };
  assert.deepEqual(await connected(), [['g1', true], ['g2', true], ['g3', false]]); // biome-ignore format: short
  assert.equal(asked, 1);
  await make(server, { as: 'owner', call: 'GET /gateways/g1', expect: 200 });
  assert.equal(asked, 1);
  assert.deepEqual(await handlers['gateways-connected']({ gateways: ['g1', 'g2', 'none'] }), { gateways: ['g1'] });
  await here.end();
});
