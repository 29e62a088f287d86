// Who gets a client id, and who may declare a gateway under it (contract 6 and 8): nobody takes an id from a signed-in
// user, over HTTP or MQTT, in any order; and a guest never blocks a signed-in user.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { connectBytes, RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

const everybody = ['guest', 'stranger', 'owner', 'admin'] as const;

let server: TestServer;
let count = 0;
let id = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(() => {
  count += 1;
  id = `client-${count}`;
});

const declare = (as: string, more = {}) => server.call(as, 'POST', '/gateways', { json: { id, ...more } });
const connect = (as: string, clean = true) => Client.connect(server, as, { clientId: id, clean });

/** Somebody who has the id: connected, or away with a stored session. */
class Holder {
  readonly #as: string;
  readonly #connection: Client | undefined;

  private constructor(as: string, connection: Client | undefined) {
    this.#as = as;
    this.#connection = connection;
  }

  static async take(as: string, how: 'connected' | 'stored'): Promise<Holder> {
    const client = await connect(as, how === 'connected');
    if (how === 'connected') return new Holder(as, client);
    if (as !== 'guest') await client.subscribe(`users/${as}/kept`, 1);
    await client.end();
    await server.running.idle();
    return new Holder(as, undefined);
  }

  /** Nothing has happened to it: the connection is there, the stored session is its user's. */
  async assertUntouched(): Promise<void> {
    if (this.#connection !== undefined) {
      await this.#connection.roundTrip();
      return;
    }
    const again = await connect(this.#as, false);
    assert.equal(again.sessionPresent, this.#as !== 'guest');
    await again.end();
    await server.running.idle();
  }

  async leave(): Promise<void> {
    if (this.#connection !== undefined) await this.#connection.cut();
    else await (await connect(this.#as)).end();
    await server.running.idle();
  }
}

suite('a gateway declared under a client id', () => {
  for (const how of ['connected', 'stored'] as const) {
    for (const holder of everybody) {
      for (const declarer of everybody) {
        const isFree = holder === 'guest' || holder === declarer;
        const what = `that ${holder} has (${how}), by ${declarer}: ${isFree ? 'is taken' : 'is 422, and nothing happens to it'}`;
        test(what, async () => {
          const held = await Holder.take(holder, how);
          const { status, text } = await declare(declarer);
          assert.equal(status, isFree ? 200 : 422, text);
          if (!isFree) {
            assert.equal((await server.call('admin', 'GET', `/gateways/${id}`)).status, 404);
            await held.assertUntouched();
            await assert.rejects(connect(declarer), { code: 2 });
            await held.assertUntouched();
          } else if (declarer !== 'guest') {
            await (await connect(declarer)).end();
          }
          if (holder === declarer || !isFree) await held.leave();
        });
      }
    }
  }

  test('is 422 with the words of version 1 and 1.1 too, where they have gateways, and by an API key', async () => {
    const held = await Holder.take('owner', 'stored');
    const { key } = await makeKeyOn(server, 'stranger');
    const headers = { authorization: `Bearer ${key}` };
    const json = { id };
    assert.equal((await server.send('POST', '/api/v2/gateways', { headers, json })).status, 422);
    for (const version of ['v1', 'v1.1']) {
      const { status } = await server.request('stranger', 'POST', `/api/${version}/gateways`, { json });
      assert.ok(status === 404 || status === 422, `${version}: ${status}`);
    }
    await held.assertUntouched();
    await held.leave();
  });

  test('at the moment at which somebody connects under it: one of them gets it', async () => {
    for (let n = 0; n < 20; n++) {
      id = `race-${n}`;
      const order = [
        () => declare('stranger').then(({ status }) => status),
        () =>
          connect('owner', false).then(
            (client) => client,
            () => undefined,
          ),
      ] as const;
      const [declared, client] =
        n % 2 === 0
          ? await Promise.all([order[0](), order[1]()])
          : await Promise.all([order[1](), order[0]()]).then(([second, first]) => [first, second] as const);
      assert.equal(declared, client === undefined ? 200 : 422);
      if (client === undefined) continue;
      // Who came second cannot push the first out later either.
      await assert.rejects(connect('stranger'), { code: 2 });
      await client.roundTrip();
      await client.end();
    }
  });
});

suite('a connection under a client id', () => {
  for (const how of ['connected', 'stored'] as const) {
    for (const holder of everybody) {
      for (const second of everybody.filter((name) => name !== holder)) {
        const isTaken = holder !== 'guest';
        const what = isTaken ? 'CONNACK 2, and nothing happens to it' : 'takes it over';
        test(`that ${holder} has (${how}), by ${second}: ${what}`, async () => {
          const held = await Holder.take(holder, how);
          for (const clean of [true, false]) {
            if (isTaken) await assert.rejects(connect(second, clean), { code: 2 });
            else {
              const client = await connect(second, clean);
              assert.equal(client.sessionPresent, false);
              await assert.rejects(connect('guest'), { code: 2 });
              await client.end();
              await (await connect(second)).end();
            }
          }
          if (!isTaken) return;
          await held.assertUntouched();
          await held.leave();
        });
      }
    }
  }

  test('that names a gateway is for those who may change it, whoever was first', async () => {
    for (const owner of ['guest', 'owner', 'admin']) {
      id = `${id}-${owner}`;
      await declare(owner, { visibility: 'public' });
      for (const as of everybody) {
        const may = as === owner || as === 'admin';
        if (!may) await assert.rejects(connect(as), { code: 2 });
        else await (await connect(as)).end();
      }
    }
  });

  test('that names a gateway needs gateways:update of an API key too', async () => {
    await declare('owner');
    const codeOf = async (scopes: string[]) => {
      const { key } = await makeKeyOn(server, 'owner', { scopes });
      const client = await RawClient.open(server);
      client.send(connectBytes({ clientId: id, username: 'owner', password: key }));
      const { returnCode } = await client.next('connack');
      await client.cut();
      return returnCode;
    };
    assert.equal(await codeOf(['gateways:view']), 2);
    assert.equal(await codeOf(['gateways:update']), 0);
  });

  test('of a guest’s stored session is free for who signs in, after a restart too', async () => {
    const held = await Holder.take('guest', 'stored');
    await server.restart();
    assert.equal((await declare('owner')).status, 200);
    const client = await connect('owner', false);
    assert.equal(client.sessionPresent, false);
    await client.end();
    await assert.rejects(connect('guest', false), { code: 2 });
    void held;
  });

  test('of a session that has expired is free for everybody', async () => {
    await Holder.take('owner', 'stored');
    assert.equal((await declare('stranger')).status, 422);
    server.clock.advance(30 * 86_400_000 - 1);
    assert.equal((await declare('stranger')).status, 422);
    server.clock.advance(1);
    assert.equal((await declare('stranger')).status, 200);
    await (await connect('stranger')).end();
  });
});

suite('a stored session', () => {
  const away = async (as: string) => {
    await Holder.take(as, 'stored');
    return async () => {
      await server.running.idle();
      const { mqtt_session: sessions = [] } = await server.rows();
      return sessions.some((session) => (session as { client_id: string }).client_id === id);
    };
  };

  test('of guest ends an hour after its client went away, one of a user after thirty days, over restarts', async () => {
    const rows = [
      ['guest', limits.guestSessionExpiryMs],
      ['owner', 30 * 86_400_000],
    ] as const;
    for (const [as, expiryMs] of rows) {
      id = `expires-${as}`;
      const isThere = await away(as);
      server.clock.advance(expiryMs / 2);
      await server.restart();
      server.clock.advance(expiryMs / 2 - 1);
      assert.equal(await isThere(), true);
      server.clock.advance(limits.sessionExpiryRoundMs);
      assert.equal(await isThere(), false);
    }
  });

  test('does not grow old while its client is connected, and is young again when it comes back', async () => {
    const isThere = await away('guest');
    server.clock.advance(limits.guestSessionExpiryMs - 1);
    const client = await connect('guest', false);
    server.clock.advance(10 * limits.guestSessionExpiryMs);
    assert.equal(await isThere(), true);
    await client.roundTrip();
    await client.end();
    server.clock.advance(limits.guestSessionExpiryMs - 1);
    assert.equal(await isThere(), true);
    server.clock.advance(limits.sessionExpiryRoundMs);
    assert.equal(await isThere(), false);
  });

  test('is kept for as long as the setting says, and for ever where that is off', async () => {
    for (const [setting, isKept] of [
      ['2h', false],
      ['off', true],
    ] as const) {
      id = `setting-${setting}`;
      await server.restart({ DUNDUN_MQTT_SESSION_EXPIRY: setting });
      const isThere = await away('owner');
      server.clock.advance(100 * 86_400_000);
      assert.equal(await isThere(), isKept, setting);
    }
  });
});
