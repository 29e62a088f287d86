// Two servers, each a process, on one PostgreSQL database: what one takes the other has, in one order and once; what becomes of one that
// is killed, or stopped for so long that the other declares it dead.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createDatabase, dropDatabase, withoutPostgres } from '../support/postgres.ts';
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
    await makeDevice(one, 'd', ['a', 'b', 'c', 'e']);
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

  test('one that is stopped for long is declared dead, and stores nothing and ends when it goes on', async () => {
    assert.equal(await push(two, 'c', 1), 204);
    two.child.kill('SIGSTOP');
    const late = push(two, 'c', 2).catch(() => 0);
    await until(() => /declared dead/.test(one.stderr), { msMax: 30_000 });
    assert.equal(await push(one, 'c', 3), 204);
    two.child.kill('SIGCONT');
    const { code } = await two.exit;
    assert.equal(code, 1);
    assert.match(two.stderr, /declared this one dead|taken this one for dead/);
    assert.notEqual(await late, 204);
    assert.deepEqual(await readValues(one, 'd', 'c'), [1, 3]);
    two = await startDundun(options);
    assert.deepEqual(await readValues(two, 'd', 'c'), [1, 3]);
  });
});
