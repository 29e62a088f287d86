// Messages whose device has to be read before they are delivered, while the database cannot read it: the service, a process, goes on, and
// delivers them when it can.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import pg from 'pg';
import { createDatabase, dropDatabase, sharedServer, withoutPostgres } from '../../support/postgres.ts';
import { adminPassword, call, type Dundun, login, makeDevice, startDundun, withLimits } from '../../support/process.ts';
import { until } from '../../support/until.ts';

/** Two devices do not fit into memory at once; a read that waits for a lock fails after three seconds. */
const bounds = { directoryBytesMax: 1, databaseBusyMs: 3_000 };
const topic = 'devices/one/sensors/a/value';

suite('messages whose device cannot be read', { skip: withoutPostgres, timeout: 120_000 }, () => {
  let url: string;
  let server: Dundun;
  let token: string;
  const open: { end(): unknown }[] = [];

  before(async () => {
    url = await createDatabase();
    server = await startDundun(withLimits(bounds, { DUNDUN_DATABASE_URL: url }));
    for (const id of ['one', 'two']) await makeDevice(server, id, ['a']);
    token = String(await login(server));
  });
  after(async () => {
    for (const each of open) await each.end();
    await server?.stop();
    await dropDatabase(url);
  });

  const sign = async (
    clientId: string,
    more: IClientOptions = {},
  ): Promise<{ client: MqttClient; heard: string[] }> => {
    const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
      ...{ clientId, reconnectPeriod: 0, protocolVersion: 4, username: 'admin', password: adminPassword, ...more },
    });
    open.push({ end: () => client.end(true) });
    const heard: string[] = [];
    client.on('message', (_, payload) => void heard.push(String(payload)));
    await new Promise<void>((resolve, reject) => client.once('connect', () => resolve()).once('error', reject));
    return { client, heard };
  };
  /** A transaction that holds locks until it is ended. */
  const hold = async (sql: string) => {
    const holder = new pg.Client(url);
    await holder.connect();
    open.push(holder);
    await holder.query(`BEGIN; ${sql}`);
    return holder;
  };
  const waiters = async () => {
    const [row] = await (await sharedServer()).query(url, 'SELECT count(*) AS n FROM pg_locks WHERE NOT granted');
    return Number(row?.['n']);
  };

  test('wait until it can, before those that come later, and hold up no others', async () => {
    const listeners = [await sign('live'), await sign('kept', { clean: false })];
    const away = await sign('away', { clean: false });
    for (const { client } of [...listeners, away]) await client.subscribeAsync([topic, 'users/admin/said'], { qos: 1 });
    await away.client.endAsync();
    const { client: publisher } = await sign('publisher');
    const publish = (value: string) => publisher.publishAsync(topic, value, { qos: 1 });
    // It is accepted. When it is committed, its device has left the memory, and nobody can read it.
    const log = await hold('SELECT 1 FROM log_end FOR UPDATE');
    const first = publish('1');
    await until(async () => (await waiters()) > 0, { everyMs: 5 });
    assert.equal((await call(server, '/api/v2/devices/two', { token })).status, 200);
    const devices = await hold('LOCK TABLE device IN ACCESS EXCLUSIVE MODE');
    await log.end();
    await first;
    // A read has failed when the next one waits for the lock.
    await until(async () => (await waiters()) > 0, { everyMs: 5 });
    await until(async () => (await waiters()) === 0, { everyMs: 5, msMax: 60_000 });
    await publisher.publishAsync('users/admin/said', 'hello', { qos: 1 });
    for (const { heard } of listeners) await until(() => heard.includes('hello'));
    await devices.end();
    for (const value of ['2', '3']) await publish(value);
    const back = await sign('away', { clean: false });
    for (const { heard } of [...listeners, back]) {
      await until(() => heard.length === 4, { msMax: 20_000, otherwise: () => heard });
      const ofDevice = heard.filter((text) => text !== 'hello');
      assert.deepEqual(ofDevice, [1, 2, 3].map((value) => `{"value":${value}}`)); // biome-ignore format: short
    }
  });
});
