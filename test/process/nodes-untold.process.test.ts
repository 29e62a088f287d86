// Two servers, each a process, on one PostgreSQL database: a change that one has stored, and could not tell the other of, because it was
// killed in between. Nobody was answered, but what is stored must hold at both.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { connectAsync } from 'mqtt';
import pg from 'pg';
import { createDatabase, dropDatabase, sharedServer, withoutPostgres } from '../support/postgres.ts';
import {
  adminPassword,
  call,
  type Dundun,
  login,
  runVerb,
  type ServeOptions,
  startDundun,
  withLimits,
} from '../support/process.ts';
import { until } from '../support/until.ts';

const password = 'talking drum';
/** One that is cut off for two seconds is not declared dead. */
const bounds = { databaseBusyMs: 1_000, nodeRenewMs: 2_000, nodeDeadMs: 10_000 };
const scopes = ['device:view', 'devices-data:view'];

suite('a change of which a server could not tell the other', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let url: string;
  let options: ServeOptions;
  let one: Dundun;
  let two: Dundun;
  let token: string;
  let bob: string;
  /** Holds a table: nobody writes into it; everybody reads, unless it is held alone. */
  let holder: pg.Client | undefined;

  before(async () => {
    url = await createDatabase();
    options = withLimits(bounds, { DUNDUN_DATABASE_URL: url });
    one = await startDundun(options);
    two = await startDundun(options);
    const input = `${password}\n`;
    const settings = options.settings ?? {};
    const added = await runVerb(['user', 'add', 'bob', '--password-stdin'], { settings, input });
    assert.equal(added.code, 0, added.stderr);
    token = String(await login(two));
    bob = String(await login(two, 'bob', password));
  });
  afterEach(() => letGo());
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await dropDatabase(url);
  });

  const hold = async (table: string, mode = 'SHARE ROW EXCLUSIVE') => {
    holder = new pg.Client(url);
    await holder.connect();
    await holder.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
  };
  const letGo = async () => {
    await holder?.end();
    holder = undefined;
  };
  const countOf = async (table: string) => {
    const [row] = await (await sharedServer()).query(url, `SELECT count(*) AS n FROM ${table}`);
    return row?.['n'];
  };
  const share = (server: Dundun, id: string, given: readonly string[]) =>
    call(server, `/api/v2/devices/${id}/shares/bob`, { token, method: 'PUT', json: { scopes: given } });
  const makeShared = async (id: string) => {
    const made = await call(two, '/api/v2/devices', { token, json: { id, sensors: [{ id: 'a' }] } });
    assert.equal(made.status, 204);
    assert.equal((await share(two, id, scopes)).status, 204);
    assert.equal(await bobSees(id), 200);
  };
  const bobSees = async (id: string) => (await call(two, `/api/v2/devices/${id}`, { token: bob })).status;
  const push = async (id: string) =>
    (await call(two, `/api/v2/devices/${id}/sensors/a/value`, { token, json: { value: 1 } })).status;
  const untilStatus = async (ask: () => Promise<number>, wanted: number) => {
    let status = 0;
    const isSo = async () => {
      status = await ask();
      return status === wanted;
    };
    await until(isSo, { everyMs: 50, msMax: 20_000, otherwise: () => `It answers ${status}.` });
  };

  test('a share taken back at one that is killed before it tells is honoured by the other no more', async () => {
    await makeShared('killed');
    await hold('announcement');
    const answer = share(one, 'killed', []).then(
      ({ status }) => status,
      () => undefined,
    );
    await until(async () => (await countOf('share')) === 0);
    await one.stop('SIGKILL');
    await letGo();
    assert.equal(await answer, undefined);
    await untilStatus(() => bobSees('killed'), 403);
    one = await startDundun(options);
  });

  test('a device that one was removing when it was killed takes datapoints again at the other', async () => {
    await makeShared('kept');
    assert.equal(await push('kept'), 204);
    await hold('device');
    const removed = call(one, '/api/v2/devices/kept', { token, method: 'DELETE' }).catch(() => undefined);
    await untilStatus(() => push('kept'), 404);
    await one.stop('SIGKILL');
    await letGo();
    assert.equal(await removed, undefined);
    await untilStatus(() => push('kept'), 204);
    one = await startDundun(options);
  });

  test('a kept MQTT session misses nothing while what is in memory is read anew, which an orderly stop asks for nowhere', async (t) => {
    const count = 200;
    for (let n = 0; n < count; n++)
      assert.equal(
        (await call(two, '/api/v2/devices', { token, json: { id: `m${n}`, sensors: [{ id: 'a' }] } })).status,
        204,
      );
    const signIn = async (clientId: string, clean: boolean) => {
      const client = await connectAsync(`mqtt://127.0.0.1:${two.ports.mqtt}`, {
        ...{ clientId, clean, reconnectPeriod: 0, protocolVersion: 4, username: 'admin', password: adminPassword },
      });
      t.after(() => client.end(true));
      return client;
    };
    const heard = new Map<string, number>();
    const listener = await signIn('kept', false);
    listener.on('message', (topic) => heard.set(topic, (heard.get(topic) ?? 0) + 1));
    await listener.subscribeAsync('devices/+/sensors/a/value', { qos: 1 });
    const publisher = await signIn('publisher', true);
    let rounds = 0;
    const publishUntil = async (isOver: () => boolean) => {
      while (!isOver()) {
        const topics = Array.from({ length: count }, (_, n) => `devices/m${n}/sensors/a/value`);
        await Promise.all(topics.map((topic) => publisher.publishAsync(topic, String(rounds), { qos: 1 })));
        rounds += 1;
      }
    };
    const readAnew = () => two.stderr.split('was read anew').length - 1;
    const before = readAnew();
    await one.stop('SIGKILL');
    await publishUntil(() => readAnew() > before);
    one = await startDundun(options);
    await one.stop();
    assert.equal(await countOf('node'), 1);
    const stopMs = performance.now();
    await publishUntil(() => performance.now() - stopMs > 2 * bounds.nodeRenewMs);
    assert.equal(readAnew(), before + 1);
    await until(() => [...heard.values()].reduce((sum, n) => sum + n, 0) === rounds * count, { msMax: 20_000, otherwise: () => `${heard.size} topics, ${rounds} rounds` }); // biome-ignore format: short
    one = await startDundun(options);
  });
});
