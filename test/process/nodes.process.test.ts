// Two servers, each a process, on one PostgreSQL database: what one takes the other has, in one order and once; what becomes of one that
// is killed, or stopped for so long that the other declares it dead.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'mqtt';
import { createDatabase, dropDatabase, sharedServer, withoutPostgres } from '../support/postgres.ts';
import {
  call,
  type Dundun,
  login,
  makeDevice,
  readValues,
  runVerb,
  type ServeOptions,
  startDundun,
  withLimits,
} from '../support/process.ts';
import { until } from '../support/until.ts';

const passwordOfBob = 'talking drum';

suite('two servers on one database', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let url: string;
  let options: ServeOptions;
  let one: Dundun;
  let two: Dundun;

  before(async () => {
    url = await createDatabase();
    options = withLimits(
      { sealRowsMin: 20, sealRowsMax: 20, sealQuietRowsMin: 1, sealQuietMs: 50 },
      { DUNDUN_DATABASE_URL: url },
    );
    one = await startDundun(options);
    two = await startDundun(options);
    const added = await runVerb(['user', 'add', 'bob', '--password-stdin'], {
      settings: options.settings ?? {},
      input: `${passwordOfBob}\n`,
    });
    assert.equal(added.code, 0, added.stderr);
    await makeDevice(one, 'd', ['a', 'b', 'c', 'e', 'f', 'g']);
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await dropDatabase(url);
  });

  const push = async (server: Dundun, sensor: string, value: number) =>
    (await call(server, `/api/v2/devices/d/sensors/${sensor}/value`, { json: { value } })).status;

  test('what both take in turns each has at once, in the order it was taken in, while it is sealed', async () => {
    for (let n = 0; n < 60; n++) assert.equal(await push(n % 2 === 0 ? one : two, 'a', n), 204);
    const all = [...Array(60).keys()];
    for (const server of [one, two]) {
      await until(async () => (await readValues(server, 'd', 'a', 'limit=1000')).length === 60);
      assert.deepEqual(await readValues(server, 'd', 'a', 'limit=1000'), all);
    }
  });

  test('`dundun nodes` shows both', async () => {
    const { stdout } = await runVerb(['nodes', '--json'], { settings: options.settings ?? {} });
    const { nodes } = JSON.parse(stdout) as { nodes: { isAlive: boolean; leases: string[] }[] };
    assert.deepEqual(nodes.map(({ isAlive }) => isAlive), [true, true]); // biome-ignore format: short
    const leases = nodes.flatMap((node) => node.leases);
    assert.equal(new Set(leases).size, leases.length);
    assert.ok(leases.includes('sealing'));
  });

  test('an admin is shown both by either, with what each has told of itself', async () => {
    interface Node {
      readonly id: string;
      readonly answering: boolean;
      readonly alive: boolean;
      readonly connections?: { readonly http: number };
      readonly datapoints_per_second?: number;
    }
    const token = String(await login(one));
    const nodesOf = async (server: Dundun) => {
      const answer = await call(server, '/api/v2/nodes', { token });
      return (await answer.json()) as { shared: boolean; nodes: Node[] };
    };
    const answering: string[] = [];
    for (const server of [one, two]) {
      await until(async () => (await nodesOf(server)).nodes.every(({ connections }) => (connections?.http ?? 0) > 0));
      const { shared, nodes } = await nodesOf(server);
      assert.deepEqual([shared, nodes.map(({ alive }) => alive)], [true, [true, true]]);
      answering.push(...nodes.filter((node) => node.answering).map(({ id }) => id));
      await until(async () => (await nodesOf(server)).nodes.every((node) => (node.datapoints_per_second ?? 0) > 0));
    }
    assert.equal(new Set(answering).size, 2);
  });

  test('the figures of either are of both', async () => {
    const token = String(await login(one));
    const figuresOf = async (server: Dundun) => {
      const text = await (await call(server, '/metrics', { token })).text();
      return (name: string) => {
        const found = text.split('\n').find((line) => line.startsWith(`${name} `));
        return found === undefined ? undefined : Number(found.slice(name.length + 1));
      };
    };
    const leases: number[] = [];
    for (const server of [one, two]) {
      const figure = await figuresOf(server);
      assert.equal(figure('dundun_nodes{state="alive"}'), 2);
      assert.equal(figure('dundun_nodes{state="silent"}'), 0);
      leases.push(figure('dundun_node_leases') ?? Number.NaN);
      await until(async () => (await figuresOf(server))('dundun_node_behind_datapoints') === 0);
      await until(async () => (await figuresOf(server))('dundun_node_behind_changes') === 0);
    }
    const { stdout } = await runVerb(['nodes', '--json'], { settings: options.settings ?? {} });
    const { nodes } = JSON.parse(stdout) as { nodes: { leases: string[] }[] };
    assert.deepEqual(leases.toSorted(), nodes.map((node) => node.leases.length).toSorted());
  });

  test('a device that one hides, the other hides when that is answered', async () => {
    const token = String(await login(one));
    const made = await call(one, '/api/v2/devices', {
      token,
      json: { id: 'p', visibility: 'public', sensors: [{ id: 'a' }] },
    });
    assert.equal(made.status, 204);
    const path = '/api/v2/devices/p';
    for (let n = 0; n < 5; n++) {
      for (const visibility of ['private', 'public']) {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' };
        const changed = await fetch(`${one.url}${path}/visibility`, { method: 'PUT', headers, body: visibility });
        assert.equal(changed.status, 204);
        // Both as a record in memory and as datapoints, of a guest.
        for (const what of ['', '/sensors/a/values'])
          assert.equal((await call(two, path + what)).status === 200, visibility === 'public', what);
      }
    }
  });

  test('a share that one takes back, the other honours no more when that is answered', async () => {
    const token = String(await login(one));
    const json = { id: 's', sensors: [{ id: 'a' }] };
    assert.equal((await call(one, '/api/v2/devices', { token, json })).status, 204);
    const bob = String(await login(two, 'bob', passwordOfBob));
    for (let n = 0; n < 5; n++) {
      for (const scopes of [['device:view', 'devices-data:view'], []]) {
        const path = '/api/v2/devices/s/shares/bob';
        assert.equal((await call(one, path, { token, method: 'PUT', json: { scopes } })).status, 204);
        for (const what of ['', '/sensors/a/values'])
          assert.equal(
            (await call(two, `/api/v2/devices/s${what}`, { token: bob })).status,
            scopes.length > 0 ? 200 : 403,
            what,
          );
      }
    }
  });

  test('a rule fires once, whichever server its datapoints come through', async () => {
    const token = String(await login(one));
    const json = {
      description: 'High',
      condition: { devices: ['d'], sensors: ['e'], expression: 'e>2' },
      action: { usernames: ['admin'], channels: ['none'], message: '{e}' },
    };
    const made = await call(two, '/api/v2/notifications', { token, json });
    assert.ok(made.ok, await made.clone().text());
    for (let n = 0; n < 20; n++) {
      assert.equal(await push(n % 2 === 0 ? one : two, 'e', 1), 204);
      assert.equal(await push(n % 4 < 2 ? one : two, 'e', 3), 204);
    }
    const fired = async (server: Dundun) => {
      const answer = await call(server, '/api/v2/notifications', { token });
      return ((await answer.json()) as { times_sent: number }[])[0]?.times_sent;
    };
    for (const server of [two, one]) await until(async () => (await fired(server)) === 20);
    await pause(500);
    for (const server of [two, one]) assert.equal(await fired(server), 20);
  });

  test('datapoints that one removes or corrects while both take more are so in both, and no other is', async () => {
    const token = String(await login(one));
    const path = '/api/v2/devices/d/sensors/f/values';
    const at = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
    const expected = new Map<number, number>();
    for (let round = 0; round < 10; round++) {
      const [first, second] = round % 2 === 0 ? [one, two] : [two, one];
      const from = 20 * round;
      const pushes = Array.from({ length: 20 }, (_, n) => n + from);
      for (const n of pushes) {
        const pushed = await call(n % 2 === 0 ? one : two, path, { token, json: [{ value: n, timestamp: at(n) }] });
        assert.equal(pushed.status, 204);
        expected.set(n, n);
      }
      const range = `dateFrom=${at(from + 3)}&dateTo=${at(from + 6)}`;
      const [removed, corrected] = await Promise.all([
        call(first, `${path}?${range}`, { token, method: 'DELETE' }),
        call(second, `${path}/${at(from + 10)}`, { token, method: 'PUT', json: { value: -1 } }),
        push(first, 'a', 1),
        push(second, 'a', 2),
      ]);
      assert.deepEqual(await removed.json(), { removed: 4 });
      assert.ok(corrected.ok, await corrected.text());
      for (const n of [3, 4, 5, 6]) expected.delete(from + n);
      expected.set(from + 10, -1);
    }
    for (const server of [one, two])
      await until(async () => {
        const found = await readValues(server, 'd', 'f', 'limit=1000');
        return JSON.stringify(found) === JSON.stringify([...expected.values()]);
      });
  });

  test('a client that comes to the other server keeps its session, with what waits for it, also when its server was killed', async () => {
    const topic = 'devices/d/sensors/g/value';
    /** What it hears may come right behind CONNACK. */
    const open = async (server: Dundun, clientId = 'mover', clean = false) => {
      const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
        ...{ clientId, clean, reconnectPeriod: 0, protocolVersion: 4, username: 'bob', password: passwordOfBob },
      });
      const heard: string[] = [];
      client.on('message', (_, payload) => void heard.push(String(payload)));
      await new Promise<void>((resolve) => client.once('connect', () => resolve()));
      return { client, heard };
    };
    const say = async (server: Dundun, value: number) => {
      const { client } = await open(server, 'speaker', true);
      await client.publishAsync(topic, JSON.stringify({ value }), { qos: 1 });
      await client.endAsync();
    };
    /** So many messages wait for sessions. */
    let found: unknown[] = [];
    const untilKept = (count: number) =>
      until(
        async () => {
          found = await (await sharedServer()).query(url, 'SELECT * FROM mqtt_queue');
          return found.length === count;
        },
        { otherwise: () => JSON.stringify(found) },
      );
    const { client: first } = await open(one);
    await first.subscribeAsync(topic, { qos: 1 });
    await first.endAsync();
    await say(one, 1);
    await say(two, 2);
    await untilKept(2);
    const { client: second, heard } = await open(two);
    await until(() => heard.length === 2);
    // It is heard there, and nothing twice.
    await say(one, 3);
    await until(() => heard.length === 3);
    assert.deepEqual(heard.map((text) => JSON.parse(text).value), [1, 2, 3]); // biome-ignore format: short
    // One takes it back while its client is connected to the other.
    const { client: third, heard: back } = await open(one);
    await until(() => !second.connected);
    await say(two, 4);
    // What it had not acknowledged before comes again.
    await until(() => back.some((text) => JSON.parse(text).value === 4));
    await third.endAsync();
    await say(two, 5);
    await untilKept(1);
    // What is not noted as kept when a server is killed comes again.
    const notNoted = 'SELECT 1 FROM mqtt_node, log_end WHERE holder IS NOT NULL AND coalesce(kept_row, 0) < number';
    await until(async () => (await (await sharedServer()).query(url, notNoted)).length === 0);
    await one.stop('SIGKILL');
    const { client: last, heard: rest } = await open(two);
    await until(() => rest.length >= 1);
    const values = [...back, ...rest].map((text) => JSON.parse(text).value);
    assert.deepEqual(values.filter((value) => value > 3), [4, 5]); // biome-ignore format: short
    await last.endAsync();
    one = await startDundun(options);
  });

  test('when one is killed, nothing that it acknowledged is lost, and the other does its work', async () => {
    const stored: number[] = [];
    let isOver = false;
    const pushing = [one, two].map(async (server, which) => {
      for (let n = which * 100_000; !isOver; n++) {
        const status = await push(server, 'b', n).catch(() => 0);
        if (status === 204) stored.push(n);
        if (status === 0) return;
      }
    });
    await pause(500);
    await one.stop('SIGKILL');
    await until(async () => {
      const { stdout } = await runVerb(['nodes', '--json'], { settings: options.settings ?? {} });
      const { nodes } = JSON.parse(stdout) as { nodes: { leases: string[] }[] };
      return nodes.length === 1 && nodes[0]?.leases.includes('sealing') === true;
    });
    await pause(300);
    isOver = true;
    await Promise.all(pushing);
    const found = (await readValues(two, 'd', 'b', 'limit=100000')) as number[];
    assert.equal(new Set(found).size, found.length);
    for (const value of stored) assert.ok(found.includes(value), `${value} was acknowledged`);
    one = await startDundun(options);
    assert.deepEqual(await readValues(one, 'd', 'b', 'limit=100000'), found);
  });

  test('one that is stopped for eight seconds is declared dead; when it goes on it stores nothing, shows nothing, and ends', async () => {
    assert.equal(await push(two, 'c', 1), 204);
    const token = String(await login(one));
    const show = () => fetch(`${two.url}/api/v2/devices/p`).then(({ status }) => status);
    assert.equal(await show(), 200);
    two.child.kill('SIGSTOP');
    const stoppedMs = performance.now();
    const late = push(two, 'c', 2).catch(() => 0);
    const asked = show().catch(() => 0);
    const ready = () =>
      fetch(`${two.url}/health/ready`).then(
        ({ status }) => status,
        () => 0,
      );
    const asksReady = ready();
    await until(() => /declared dead/.test(one.stderr), { msMax: 30_000 });
    assert.equal(await push(one, 'c', 3), 204);
    const hidden = await fetch(`${one.url}/api/v2/devices/p/visibility`, {
      ...{ method: 'PUT', body: 'private' },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    });
    assert.equal(hidden.status, 204);
    await pause(Math.max(0, 8_000 - (performance.now() - stoppedMs)));
    two.child.kill('SIGCONT');
    assert.notEqual(await ready(), 200);
    assert.notEqual(await asksReady, 200);
    const { code } = await two.exit;
    assert.equal(code, 1);
    assert.match(two.stderr, /declared this one dead|taken this one for dead/);
    assert.notEqual(await late, 204);
    assert.notEqual(await asked, 200);
    two = await startDundun(options);
    for (const server of [one, two]) assert.deepEqual(await readValues(server, 'd', 'c'), [1, 3]);
  });
});
