// Clients of two servers on one PostgreSQL database talk to each other as if there were one: messages between clients, retained ones,
// wills, and repeats of a publish whose client has gone over.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
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
} from '../support/process.ts';
import type { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const password = 'talking drum';

interface Listener {
  readonly client: MqttClient;
  readonly heard: string[];
}

suite('clients of two servers', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let url: string;
  let options: ServeOptions;
  let one: Dundun;
  let two: Dundun;
  const open: MqttClient[] = [];

  before(async () => {
    url = await createDatabase();
    options = { settings: { DUNDUN_DATABASE_URL: url } };
    one = await startDundun(options);
    two = await startDundun(options);
    for (const user of ['ana', 'bob']) {
      const added = await runVerb(['user', 'add', user, '--password-stdin'], {
        settings: options.settings ?? {},
        input: `${password}\n`,
      });
      assert.equal(added.code, 0, added.stderr);
    }
    await makeDevice(one, 'd', ['a']);
  });
  after(async () => {
    for (const client of open) client.end(true);
    await Promise.all([one?.stop(), two?.stop()]);
    await dropDatabase(url);
  });

  let lastId = 0;
  const sign = async (server: Dundun, more: IClientOptions = {}): Promise<Listener> => {
    lastId += 1;
    const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
      ...{ clientId: `c${lastId}`, reconnectPeriod: 0, protocolVersion: 4, username: 'ana', password, ...more },
    });
    open.push(client);
    const heard: string[] = [];
    client.on('message', (_, payload, { retain }) => void heard.push(`${retain ? 'retained ' : ''}${payload}`));
    await new Promise<void>((resolve, reject) => client.once('connect', () => resolve()).once('error', reject));
    return { client, heard };
  };

  for (const qos of [0, 1, 2] as const) {
    test(`hear each other’s messages of QoS ${qos} once and in order, and all in the same order`, async () => {
      const topic = `users/ana/talk${qos}`;
      const listeners = await Promise.all([one, two].map((server) => sign(server)));
      for (const { client } of listeners) await client.subscribeAsync(topic, { qos });
      const speakers = await Promise.all([one, two].map((server) => sign(server)));
      await Promise.all(
        speakers.map(async ({ client }, who) => {
          for (let n = 0; n < 100; n++) await client.publishAsync(topic, `${who} ${n}`, { qos });
        }),
      );
      for (const { heard } of listeners) await until(() => heard.length >= 200, { msMax: 20_000, otherwise: () => heard.length }); // biome-ignore format: short
      const [first, second] = listeners as [Listener, Listener];
      for (const who of [0, 1])
        assert.deepEqual(
          first.heard.filter((text) => text.startsWith(`${who} `)),
          Array.from({ length: 100 }, (_, n) => `${who} ${n}`),
        );
      assert.deepEqual(second.heard, first.heard);
    });
  }

  test('have the same message retained, and hear when it is cleared', async () => {
    const topic = 'users/ana/state';
    const speakers = await Promise.all([one, two].map((server) => sign(server)));
    const listener = await sign(two);
    await listener.client.subscribeAsync(topic, { qos: 1 });
    await Promise.all(
      speakers.map(async ({ client }, who) => {
        for (let n = 0; n < 50; n++) await client.publishAsync(topic, `${who} ${n}`, { qos: 1, retain: true });
      }),
    );
    await until(() => listener.heard.length >= 100, { msMax: 20_000, otherwise: () => listener.heard });
    for (const server of [one, two]) {
      const late = await sign(server);
      await late.client.subscribeAsync(topic, { qos: 1 });
      await until(() => late.heard.length > 0);
      assert.deepEqual(late.heard, [`retained ${listener.heard.at(-1)}`]);
    }
    await speakers[0]?.client.publishAsync(topic, '', { qos: 1, retain: true });
    await until(() => listener.heard.length >= 101, { msMax: 20_000 });
    for (const server of [one, two]) {
      const late = await sign(server);
      await late.client.subscribeAsync([topic, 'users/ana/end'], { qos: 1 });
      await speakers[1]?.client.publishAsync('users/ana/end', 'end', { qos: 1 });
      await until(() => late.heard.length > 0);
      assert.deepEqual(late.heard, ['end']);
    }
  });

  test('of one user do not hear those of another, whichever server they are at', async () => {
    const strangers = await Promise.all([one, two].map((server) => sign(server, { username: 'bob' })));
    const listener = await sign(two);
    const speaker = await sign(one);
    for (const { client } of [listener, ...strangers]) await client.subscribeAsync('users/#', { qos: 1 });
    await speaker.client.publishAsync('users/ana/secret', 'hush', { qos: 1 });
    await until(() => listener.heard.includes('hush'));
    const own = await sign(one, { username: 'bob' });
    await own.client.publishAsync('users/bob/x', 'mine', { qos: 1 });
    for (const { heard } of strangers) {
      await until(() => heard.length > 0);
      assert.deepEqual(heard, ['mine']);
    }
  });

  test('hear the will of one whose connection breaks, once', async () => {
    const listeners = await Promise.all([one, two].map((server) => sign(server)));
    for (const { client } of listeners) await client.subscribeAsync('users/ana/last/#', { qos: 1 });
    const { client } = await sign(one, {
      will: { topic: 'users/ana/last/words', payload: Buffer.from('gone'), qos: 1, retain: false },
    });
    client.stream.destroy();
    for (const { heard } of listeners) await until(() => heard.length > 0);
    const speaker = await sign(one);
    await speaker.client.publishAsync('users/ana/last/end', 'end', { qos: 1 });
    for (const { heard } of listeners) {
      await until(() => heard.includes('end'));
      assert.deepEqual(heard, ['gone', 'end']);
    }
  });

  test('that are away hear later what was said at the other server', async () => {
    const session = { clean: false, clientId: 'sleeper' };
    const { client } = await sign(two, session);
    await client.subscribeAsync('users/ana/wake', { qos: 1 });
    await client.endAsync();
    const speaker = await sign(one);
    for (let n = 0; n < 20; n++) await speaker.client.publishAsync('users/ana/wake', String(n), { qos: 1 });
    const back = await sign(two, session);
    await until(() => back.heard.length === 20);
    assert.deepEqual(
      back.heard,
      Array.from({ length: 20 }, (_, n) => String(n)),
    );
  });

  test('that repeat at one server what they have published at the other store it once', async () => {
    const said = { cmd: 'publish', topic: 'devices/d/sensors/a/value', qos: 1, retain: false } as const;
    const token = String(await login(one));
    const shared = await call(one, '/api/v2/devices/d/shares/ana', {
      token,
      method: 'PUT',
      json: { scopes: ['devices-data:create'] },
    });
    const open = async (server: Dundun) => {
      const client = await RawClient.open({ running: { ports: server.ports } } as unknown as TestServer);
      const signedIn = await client.signIn('ana', {
        clientId: 'repeater',
        password: Buffer.from(password),
        clean: true,
      });
      assert.equal(signedIn.returnCode, 0);
      return client;
    };
    assert.ok(shared.ok || shared.status === 404, await shared.clone().text());
    for (let n = 1; n <= 5; n++) {
      const packet = { ...said, messageId: n, payload: JSON.stringify({ value: n }) };
      const first = await open(n % 2 === 0 ? one : two);
      first.send({ ...packet, dup: false });
      await first.next('puback');
      first.socket.destroy();
      const second = await open(n % 2 === 0 ? two : one);
      second.send({ ...packet, dup: true });
      await second.next('puback');
      second.socket.destroy();
    }
    for (const server of [one, two]) {
      await until(async () => (await readValues(server, 'd', 'a')).length >= 5);
      assert.deepEqual(await readValues(server, 'd', 'a'), [1, 2, 3, 4, 5]);
    }
  });
});
