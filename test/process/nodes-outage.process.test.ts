// Kept MQTT sessions of two servers on one PostgreSQL database, while connections to it end again and again under load: what a publisher
// was told is stored comes to each, once and in its order, whichever server took it.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type MqttClient } from 'mqtt';
import pg from 'pg';
import { PostgresServer, withoutPostgres } from '../support/postgres.ts';
import { adminPassword, type Dundun, makeDevice, startDundun } from '../support/process.ts';
import { until } from '../support/until.ts';

interface Signing {
  readonly isKept?: boolean;
  /** Where the server cuts it, because the database did not take in time what it sent. */
  readonly comesBack?: boolean;
  readonly hear?: (topic: string, n: number, isRepeat: boolean) => void;
}

suite('kept MQTT sessions while the database fails', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let postgres: PostgresServer;
  let url: string;
  const servers: Dundun[] = [];
  const clients: MqttClient[] = [];
  let database: pg.Client;

  before(async () => {
    postgres = await PostgresServer.start({ isDurable: true });
    url = await postgres.createDatabase();
    const options = { settings: { DUNDUN_DATABASE_URL: url } };
    for (let n = 0; n < 2; n++) servers.push(await startDundun(options));
    for (const id of ['d0', 'd1']) await makeDevice(servers[0] as Dundun, id, ['a']);
    database = new pg.Client(url);
    // It is there until the database is started anew.
    database.on('error', () => {});
    await database.connect();
  });
  after(async () => {
    for (const client of clients) client.end(true);
    await database?.end();
    await Promise.all(servers.map((server) => server.stop()));
    postgres?.remove();
  });

  const sign = async (
    server: number,
    clientId: string,
    { isKept = false, comesBack = false, hear = () => {} }: Signing = {},
  ) => {
    const client = connect(`mqtt://127.0.0.1:${servers[server]?.ports.mqtt}`, {
      ...{ clientId, clean: !isKept, reconnectPeriod: comesBack ? 100 : 0, protocolVersion: 4 },
      ...{ username: 'admin', password: adminPassword },
    });
    client.on('error', () => {});
    client.on('message', (topic, payload, { dup }) =>
      hear(topic, (JSON.parse(payload.toString()) as { value: number }).value, dup),
    );
    clients.push(client);
    await new Promise<void>((resolve, reject) => client.once('connect', () => resolve()).once('error', reject));
    return client;
  };
  const end = (name: string) =>
    database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
      [name],
    );

  for (const qos of [1, 2] as const) {
    test(`get all that is acknowledged, in QoS ${qos}`, async () => {
      const topics = ['d0', 'd1'].map((device) => `devices/${device}/sensors/a/value`);
      const ids = [0, 1].map((server) => `kept ${server} of QoS ${qos}`);
      for (const [server, id] of ids.entries()) {
        const client = await sign(server, id, { isKept: true });
        await client.subscribeAsync(topics, { qos });
        await client.endAsync();
      }
      let isOver = false;
      const sent = [0, 0];
      const publishing = sent.map(async (_, at) => {
        const publisher = await sign(at, `publisher ${at} of QoS ${qos}`);
        // One after the other: an acknowledged one is before the next.
        while (!isOver) {
          await publisher.publishAsync(topics[at] as string, String(sent[at]), { qos });
          (sent[at] as number) += 1;
        }
      });
      for (let n = 0; n < 40; n++) {
        await end('dundun mqtt');
        await pause(50);
      }
      isOver = true;
      await Promise.all(publishing);
      assert.ok(Math.min(...sent) > 20, `${sent} were taken`);
      for (const [server, id] of ids.entries()) {
        const heard: number[][] = [[], []];
        let repeats = 0;
        const listener = await sign(server, id, {
          ...{ isKept: true, comesBack: true },
          hear: (topic, n, isRepeat) => {
            const of = heard[topics.indexOf(topic)];
            // Of QoS 1, a message may come again on the next connection: its acknowledgement was on its way.
            if (qos === 1 && isRepeat && of?.includes(n)) repeats += 1;
            else of?.push(n);
          },
        });
        const expected = sent.map((count) => Array.from({ length: count }, (_, n) => n));
        await until(() => heard.every((of, at) => of.at(-1) === (sent[at] as number) - 1), {
          msMax: 20_000,
          otherwise: () =>
            `${heard.map((of) => `${of.length} to ${of.at(-1)}`)} of ${sent}, ${repeats} again, ${listener.connected ? 'connected' : 'cut'}; server ${server}: ${servers[server]?.stderr.slice(-3_000)}`,
        });
        assert.deepEqual(heard, expected);
        await listener.endAsync();
      }
    });
  }

  test('get all that is acknowledged while the database is started anew', async () => {
    const topic = 'devices/d0/sensors/a/value';
    const ids = [0, 1].map((server) => `kept ${server} of a restart`);
    for (const [server, id] of ids.entries()) {
      const client = await sign(server, id, { isKept: true });
      await client.subscribeAsync(topic, { qos: 1 });
      await client.endAsync();
    }
    let isOver = false;
    let next = 0;
    const acknowledged = new Set<number>();
    const publish = async (server: number, clientId: string) => {
      const publisher = await sign(server, clientId);
      const cut = new Promise<never>((_, reject) => publisher.once('close', () => reject(new Error('It was cut.'))));
      cut.catch(() => {});
      while (!isOver) {
        const n = next++;
        await Promise.race([publisher.publishAsync(topic, String(n), { qos: 1 }), cut]);
        acknowledged.add(n);
      }
      await publisher.endAsync();
    };
    const publishing = Array.from({ length: 8 }, async (_, at) => {
      // What was not acknowledged is not sent again.
      while (!isOver) await publish(at % 2, `publisher ${at} of a restart`).catch(() => pause(50));
    });
    for (let n = 0; n < 3; n++) {
      const before = acknowledged.size;
      await until(() => acknowledged.size > before + 200);
      await postgres.stopImmediately();
      await postgres.run();
    }
    const before = acknowledged.size;
    await until(() => acknowledged.size > before + 200);
    isOver = true;
    await Promise.all(publishing);
    for (const [server, id] of ids.entries()) {
      const heard: number[] = [];
      const listener = await sign(server, id, { isKept: true, hear: (_, n) => heard.push(n) });
      const missing = () => [...acknowledged].filter((n) => !heard.includes(n));
      await until(() => missing().length === 0, {
        everyMs: 200,
        msMax: 20_000,
        otherwise: () => `${missing()} of ${acknowledged.size} are missing`,
      });
      assert.equal(new Set(heard).size, heard.length, 'none comes twice');
      await listener.endAsync();
    }
  });
});
