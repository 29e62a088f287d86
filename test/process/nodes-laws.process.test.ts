// Three servers on one PostgreSQL database behind a round-robin: whichever of them a client comes to, the laws are those of one server.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { SeededRandom } from '../support/dice.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../support/postgres.ts';
import { call, type Dundun, login, makeDevice, readValues, runVerb, startDundun } from '../support/process.ts';
import { RoundRobin } from '../support/round-robin.ts';
import { until } from '../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const password = 'talking drum';
const times = isLong ? 10 : 1;

suite('three servers behind a round-robin', { skip: withoutPostgres, timeout: times * 900_000 }, () => {
  let url: string;
  let fleet: Dundun[] = [];
  let http: RoundRobin;
  let mqtt: RoundRobin;
  /** The fleet as clients know it. */
  let door: { readonly url: string };
  const open: MqttClient[] = [];
  const tokens = new Map<string, string>();
  const random = new SeededRandom();

  before(async () => {
    url = await createDatabase();
    const options = { settings: { DUNDUN_DATABASE_URL: url } };
    fleet = [await startDundun(options)];
    fleet.push(...(await Promise.all([startDundun(options), startDundun(options)])));
    http = await RoundRobin.open(() => fleet.map(({ ports }) => ports.http));
    mqtt = await RoundRobin.open(() => fleet.flatMap(({ ports }) => ports.mqtt ?? []));
    door = { url: `http://127.0.0.1:${http.port}` };
    for (const user of ['olga', 'ana', 'bob']) {
      const added = await runVerb(['user', 'add', user, '--password-stdin'], {
        settings: options.settings,
        input: `${password}\n`,
      });
      assert.equal(added.code, 0, added.stderr);
      tokens.set(user, String(await login(door, user, password)));
    }
    tokens.set('admin', String(await login(door)));
  });
  after(async () => {
    for (const client of open) client.end(true);
    await Promise.all(fleet.map((dundun) => dundun.stop()));
    await http?.close();
    await mqtt?.close();
    await dropDatabase(url);
  });

  const sign = async (more: IClientOptions, port = mqtt.port) => {
    const client = connect(`mqtt://127.0.0.1:${port}`, {
      ...{ reconnectPeriod: 0, protocolVersion: 4, username: 'ana', password, ...more },
    });
    open.push(client);
    const heard: string[] = [];
    client.on('message', (_, payload) => void heard.push(String(payload)));
    await new Promise<void>((resolve, reject) => client.once('connect', () => resolve()).once('error', reject));
    return { client, heard };
  };
  /** Connections are kept: the round-robin is to see a new one for each request. */
  const close = { connection: 'close' };

  test('rights changed at one hold at all of them when that is answered', async (t) => {
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const token = tokens.get('olga');
    const made = await call(door, '/api/v2/devices', {
      ...{ token, headers: close },
      json: { id: 'p', visibility: 'private', sensors: [{ id: 'a' }] },
    });
    assert.equal(made.status, 204, await made.clone().text());
    let [isPublic, isShared] = [false, false];
    for (let change = 0; change < 12 * times; change++) {
      if (random.oneIn(2)) {
        isPublic = !isPublic;
        const changed = await fetch(`${door.url}/api/v2/devices/p/visibility`, {
          ...{ method: 'PUT', body: isPublic ? 'public' : 'private' },
          headers: { ...close, authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
        });
        assert.equal(changed.status, 204);
      } else {
        isShared = !isShared;
        const json = { scopes: isShared ? ['device:view', 'devices-data:view'] : [] };
        const path = '/api/v2/devices/p/shares/ana';
        assert.equal((await call(door, path, { token, headers: close, method: 'PUT', json })).status, 204);
      }
      const may = { guest: isPublic, bob: isPublic, ana: isPublic || isShared, olga: true, admin: true };
      for (const [n, dundun] of fleet.entries()) {
        for (const [who, isAllowed] of Object.entries(may)) {
          for (const what of ['', '/sensors/a/values']) {
            const { status } = await call(dundun, `/api/v2/devices/p${what}`, { token: tokens.get(who) });
            assert.equal(status === 200, isAllowed, `server ${n}, ${who} ${what}: ${status}; ${JSON.stringify(may)}`);
          }
        }
      }
    }
  });

  test('what is pushed over HTTP and over MQTT is stored alike, in its order, and read alike at all of them', async () => {
    await makeDevice(door, 'twins', ['http', 'mqtt']);
    const total = 60 * times;
    for (let n = 0; n < total; n++) {
      const path = '/api/v2/devices/twins/sensors/http/value';
      assert.equal((await call(door, path, { json: { value: n }, headers: close })).status, 204);
    }
    for (let n = 0; n < total; ) {
      const { client } = await sign({ clientId: 'twin', clean: true });
      for (let k = 0; k < 10; k++, n++)
        await client.publishAsync('devices/twins/sensors/mqtt/value', JSON.stringify({ value: n }), { qos: n % 2 === 0 ? 1 : 2 }); // biome-ignore format: short
      await client.endAsync();
    }
    const all = Array.from({ length: total }, (_, n) => n);
    for (const dundun of fleet) {
      for (const sensor of ['http', 'mqtt']) {
        await until(async () => (await readValues(dundun, 'twins', sensor, 'limit=10000')).length >= total);
        assert.deepEqual(await readValues(dundun, 'twins', sensor, 'limit=10000'), all, sensor);
      }
    }
  });

  test('a rule fires once for each datapoint, whichever of them it comes through', async () => {
    await makeDevice(door, 'ruled', ['a']);
    const token = tokens.get('admin');
    const json = {
      condition: { devices: ['ruled'], sensors: ['a'], expression: 'a>2' },
      action: { usernames: ['admin'], channels: ['none'], message: '{a}' },
    };
    const made = await call(door, '/api/v2/notifications', { token, json });
    assert.ok(made.ok, await made.clone().text());
    const path = '/api/v2/devices/ruled/sensors/a/value';
    for (let n = 0; n < 20 * times; n++)
      for (const value of [1, 3])
        assert.equal((await call(door, path, { json: { value }, headers: close })).status, 204);
    const fired = async (dundun: Dundun) => {
      const answer = await call(dundun, '/api/v2/notifications', { token });
      return ((await answer.json()) as { times_sent: number }[])[0]?.times_sent;
    };
    for (const dundun of fleet)
      await until(async () => (await fired(dundun)) === 20 * times, { msMax: 30_000, otherwise: () => fired(dundun) });
  });

  for (const qos of [1, 2] as const) {
    test(`subscribers at all of them hear all of QoS ${qos} once and in order, of publishers that move`, async () => {
      const device = `heard${qos}`;
      await makeDevice(door, device, ['a', 'b']);
      const topics = [`devices/${device}/sensors/a/value`, `devices/${device}/sensors/b/value`, `users/ana/${device}`];
      const listeners = await Promise.all(fleet.map(({ ports }, n) => sign({ clientId: `l${qos}${n}` }, ports.mqtt)));
      for (const { client } of listeners) await client.subscribeAsync(topics, { qos });
      const total = 40 * times;
      await Promise.all(
        topics.map(async (topic, who) => {
          for (let n = 0; n < total; ) {
            const { client } = await sign({ clientId: `s${qos}${who}`, clean: false });
            for (let k = 0; k < 8; k++, n++)
              await client.publishAsync(topic, JSON.stringify({ value: 1_000 * who + n }), { qos });
            await client.endAsync();
          }
        }),
      );
      for (const { heard } of listeners) {
        await until(() => heard.length >= topics.length * total, { msMax: 30_000, otherwise: () => heard.length });
        for (const who of topics.keys())
          assert.deepEqual(
            heard.map((text) => JSON.parse(text).value).filter((value) => Math.floor(value / 1_000) === who),
            Array.from({ length: total }, (_, n) => 1_000 * who + n),
          );
      }
    });
  }

  test('a client that comes to another each time keeps its session, and hears all that was said while it was away', async () => {
    const speaker = await sign({ clientId: 'speaker' });
    const session = { clientId: 'mover', clean: false };
    const first = await sign(session);
    await first.client.subscribeAsync('users/ana/moved', { qos: 1 });
    await first.client.endAsync();
    for (let round = 0; round < 6 * times; round++) {
      const said = Array.from({ length: 5 }, (_, n) => `${round} ${n}`);
      for (const text of said) await speaker.client.publishAsync('users/ana/moved', text, { qos: 1 });
      const { client, heard } = await sign(session);
      await until(() => heard.length >= said.length, { msMax: 30_000, otherwise: () => heard });
      await speaker.client.publishAsync('users/ana/moved', 'here', { qos: 1 });
      await until(() => heard.includes('here'), { msMax: 30_000, otherwise: () => heard });
      assert.deepEqual(heard, [...said, 'here']);
      await client.endAsync();
    }
  });
});
