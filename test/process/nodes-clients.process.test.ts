// MQTT clients of two servers on one PostgreSQL database, each a process: either shows those of both, page by page, to those who may see
// them; disconnects one of the other; and says of a gateway whether it is connected to any. What is said while one does not answer, and
// when it was killed.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { connect, type MqttClient } from 'mqtt';
import { createDatabase, dropDatabase, withoutPostgres } from '../support/postgres.ts';
import { call, type Dundun, login, runVerb, type ServeOptions, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const password = 'talking drum';

suite('MQTT clients of two servers', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let url: string;
  let options: ServeOptions;
  let one: Dundun;
  let two: Dundun;
  const tokens: Record<string, string> = {};
  const open = new Set<MqttClient>();

  before(async () => {
    url = await createDatabase();
    // Whose machine is busy is not dead.
    options = withLimits({ answerCharsWanted: 1_000, nodeDeadMs: 20_000 }, { DUNDUN_DATABASE_URL: url });
    one = await startDundun(options);
    two = await startDundun(options);
    for (const name of ['awa', 'ben']) {
      const added = await runVerb(['user', 'add', name, '--password-stdin'], {
        settings: options.settings ?? {},
        input: `${password}\n`,
      });
      assert.equal(added.code, 0, added.stderr);
      tokens[name] = String(await login(one, name, password));
    }
    tokens['admin'] = String(await login(one));
  });
  afterEach(async () => {
    await leave(...open);
    for (const server of [one, two])
      await until(async () => (await list(server, 'admin', '?state=connected')).total === 0);
  });
  after(async () => {
    await Promise.all([one?.stop('SIGKILL'), two?.stop('SIGKILL')]);
    await dropDatabase(url);
  });

  const join = async (server: Dundun, clientId: string, username = 'awa', clean = true) => {
    const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
      ...{ clientId, clean, reconnectPeriod: 0, protocolVersion: 4, username, password },
      will: { topic: `users/${username}/gone`, payload: Buffer.from([0, 255]), qos: 0, retain: false },
    });
    open.add(client);
    client.on('error', () => {});
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve()).once('close', () => reject(new Error('The connection was closed.')));
    });
    return client;
  };
  const leave = async (...clients: readonly MqttClient[]) => {
    for (const client of clients) {
      open.delete(client);
      await client.endAsync();
    }
  };
  const get = async (server: Dundun, as: string, path: string) => {
    const token = tokens[as];
    return call(server, `/api/v2${path}`, token === undefined ? {} : { token });
  };
  const list = async (server: Dundun, as: string, query = '') => {
    const answer = await get(server, as, `/mqtt/clients${query}`);
    assert.equal(answer.status, 200, await answer.clone().text());
    const body = (await answer.json()) as { id: string; owner: string; connected: boolean }[];
    return {
      ids: body.map(({ id }) => id),
      total: Number(answer.headers.get('x-total-count')),
      next: /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1],
      silent: answer.headers.get('x-silent-servers'),
      body,
    };
  };
  const disconnect = async (server: Dundun, as: string, id: string, session = 'keep') => {
    const path = `/api/v2/mqtt/clients/${id}/disconnect?session=${session}`;
    return (await call(server, path, { method: 'POST', token: tokens[as] ?? '' })).status;
  };

  test('are shown by either in one order: all to admins, to others their own, to guests none', async () => {
    await join(one, 'a1');
    await join(two, 'a2');
    await join(one, 'a3');
    await join(two, 'b1', 'ben');
    await leave(await join(two, 'kept2', 'awa', false));
    await leave(await join(one, 'kept1', 'awa', false));
    for (const server of [one, two]) {
      await until(async () => (await list(server, 'admin', '?state=kept')).total === 2);
      assert.deepEqual((await list(server, 'admin')).ids, ['a1', 'a3', 'a2', 'b1', 'kept1', 'kept2']);
      assert.deepEqual((await list(server, 'awa')).ids, ['a1', 'a3', 'a2', 'kept1', 'kept2']);
      assert.deepEqual((await list(server, 'ben')).ids, ['b1']);
      assert.deepEqual((await list(server, 'awa', '?state=kept')).ids, ['kept1', 'kept2']);
      assert.deepEqual((await list(server, 'admin', '?text=BEN')).ids, ['b1']);
      assert.deepEqual((await list(server, 'admin', '?text=A2&state=connected')).ids, ['a2']);
      assert.equal((await get(server, 'nobody', '/mqtt/clients')).status, 401);
      for (const id of ['a1', 'a2']) {
        const shown = (await (await get(server, 'awa', `/mqtt/clients/${id}`)).json()) as Record<string, unknown>;
        assert.deepEqual(
          [shown['id'], shown['owner'], shown['connected'], shown['address']],
          [id, 'awa', true, '127.0.0.1'],
        );
        const will = { topic: 'users/awa/gone', qos: 0, retain: false, bytes: 2 };
        assert.deepEqual(shown['will'], { ...will, payload_base64: 'AP8=' });
        const seen = (await (await get(server, 'admin', `/mqtt/clients/${id}`)).json()) as Record<string, unknown>;
        assert.deepEqual(seen['will'], will);
        assert.equal((await get(server, 'ben', `/mqtt/clients/${id}`)).status, 404);
      }
    }
    for (const id of ['kept1', 'kept2']) assert.equal(await disconnect(one, 'awa', id, 'end'), 204);
    assert.equal(await disconnect(one, 'awa', 'kept2', 'end'), 404);
  });

  test('are shown page by page, each once, whatever the pages hold of which server', async () => {
    for (let n = 0; n < 20; n++) await join(n % 3 === 0 ? one : two, `p${String(n).padStart(2, '0')}`);
    const all = (await list(one, 'awa')).ids;
    assert.equal(new Set(all).size, 20);
    for (const limit of [1, 3, 7, 20])
      for (const servers of [[one, two], [two, one], [two]]) {
        const found: string[] = [];
        let next: string | undefined = `/api/v2/mqtt/clients?limit=${limit}`;
        for (let n = 0; next !== undefined; n++) {
          const server = servers[n % servers.length] as Dundun;
          const page: Awaited<ReturnType<typeof list>> = await list(server, 'awa', next.slice(next.indexOf('?')));
          assert.equal(page.total, 20);
          found.push(...page.ids);
          next = page.next;
        }
        assert.deepEqual(found, all);
      }
  });

  test('are disconnected by either, and it is answered when they are: for admins and their user, for nobody else', async () => {
    for (const as of ['admin', 'awa']) {
      const client = await join(two, 'far');
      const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
      assert.equal(await disconnect(one, 'ben', 'far'), 404);
      assert.equal(client.connected, true);
      assert.equal(await disconnect(one, as, 'far'), 204);
      assert.equal((await get(two, as, '/mqtt/clients/far')).status, 404);
      await closed;
      assert.equal(await disconnect(one, as, 'far'), 404);
    }
    assert.match(two.stderr, /audit: an MQTT client was disconnected/);
  });

  test('make a gateway connected for whoever asks any server, until they have left', async () => {
    const made = await call(one, '/api/v2/gateways', {
      token: tokens['awa'] ?? '',
      json: { id: 'gate', visibility: 'public' },
    });
    assert.ok(made.ok, await made.clone().text());
    const connected = async (server: Dundun) => {
      const gateway = (await (await get(server, 'ben', '/gateways/gate')).json()) as { connected: boolean };
      const gateways = (await (await get(server, 'ben', '/gateways')).json()) as { id: string; connected: boolean }[];
      assert.equal(gateways.find(({ id }) => id === 'gate')?.connected, gateway.connected);
      return gateway.connected;
    };
    assert.deepEqual([await connected(one), await connected(two)], [false, false]);
    const client = await join(two, 'gate');
    assert.deepEqual([await connected(one), await connected(two)], [true, true]);
    // Many at once, as those of a page of the dashboard.
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 50 }, () => connected(one)))), new Set([true]));
    await leave(client);
    for (const server of [two, one]) await until(async () => !(await connected(server)));
  });

  test('are said to be missing while their server does not answer, and are gone once it was declared dead', async () => {
    await join(one, 'near');
    await join(two, 'lost');
    const nodes = (await (await get(two, 'admin', '/nodes')).json()) as { nodes: { id: string; answering: boolean }[] };
    const id = nodes.nodes.find(({ answering }) => answering)?.id;
    assert.deepEqual((await list(one, 'awa')).ids, ['near', 'lost']);
    two.child.kill('SIGSTOP');
    const { ids, total, silent } = await list(one, 'awa');
    assert.deepEqual([ids, total, silent], [['near'], 1, id]);
    two.child.kill('SIGCONT');
    await until(async () => (await list(one, 'awa')).silent === null);
    assert.deepEqual((await list(one, 'awa')).ids, ['near', 'lost']);
    two.child.kill('SIGSTOP');
    const answer = await call(one, '/api/v2/mqtt/clients/lost', { token: tokens['awa'] ?? '' });
    assert.equal(answer.status, 503);
    assert.ok(((await answer.json()) as { detail: string }).detail.includes(String(id)));
    await two.stop('SIGKILL');
    await until(async () => {
      const found = await list(one, 'awa');
      return found.silent === null && found.ids.join() === 'near';
    });
    assert.equal((await get(one, 'awa', '/mqtt/clients/lost')).status, 404);
    two = await startDundun(options);
  });
});
