// Two servers, each a process, on one PostgreSQL database: a session that is kept gets every message that was acknowledged, while it
// passes from one server to the other with its client, and when its server is killed or started anew while its client is away.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { connect, type MqttClient, Store } from 'mqtt';
import { createDatabase, dropDatabase, withoutPostgres } from '../support/postgres.ts';
import { type Dundun, makeDevice, runVerb, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const password = 'talking drum';
const topic = 'devices/d/sensors/a/value';

suite('A session that is kept', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let url: string;
  let one: Dundun;
  let two: Dundun;
  const opened: MqttClient[] = [];
  /** By client id: what a client knows of its session, whichever server it is connected to. */
  const known = new Map<string, { readonly incomingStore: Store; readonly outgoingStore: Store }>();
  let speaking: { stop(): Promise<readonly number[]> } | undefined;
  let last = 0;

  // Whose machine is busy is not dead.
  const start = () => startDundun(withLimits({ nodeDeadMs: 20_000 }, { DUNDUN_DATABASE_URL: url }));
  before(async () => {
    url = await createDatabase();
    one = await start();
    two = await start();
    const settings = { DUNDUN_DATABASE_URL: url };
    const added = await runVerb(['user', 'add', 'bob', '--password-stdin'], { settings, input: `${password}\n` });
    assert.equal(added.code, 0, added.stderr);
    await makeDevice(one, 'd', ['a']);
  });
  afterEach(async () => {
    await speaking?.stop();
    for (const client of opened.splice(0)) client.end(true);
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await dropDatabase(url);
  });

  /** A client, with what it hears; what waits may come right behind CONNACK. */
  const open = async (server: Dundun, clientId: string, heard: number[] = [], { clean = false } = {}) => {
    const make = () => new Store({ clean: false });
    const stores = known.get(clientId) ?? { incomingStore: make(), outgoingStore: make() };
    known.set(clientId, stores);
    const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
      ...{ clientId, clean, reconnectPeriod: 0, protocolVersion: 4, username: 'bob', password, ...stores },
    });
    opened.push(client);
    client.on('error', () => {});
    client.on('message', (_, payload) => void heard.push(JSON.parse(String(payload)).value));
    await new Promise((resolve, reject) => client.once('connect', resolve).once('error', reject));
    return client;
  };

  /** Publishes numbers through a server, one after the other, until it is told to stop; then gives those that were acknowledged. */
  const speak = async (server: Dundun, { at = topic, qos = 1 as 1 | 2 } = {}) => {
    const client = await open(server, `speaker of ${server.ports.mqtt}`, [], { clean: true });
    const said: number[] = [];
    let isOver = false;
    const running = (async () => {
      while (!isOver) {
        last += 1;
        await client.publishAsync(at, JSON.stringify({ value: last }), { qos });
        said.push(last);
      }
    })();
    speaking = {
      stop: async () => {
        isOver = true;
        await running;
        speaking = undefined;
        return said;
      },
    };
    const { stop } = speaking;
    return { said, stop };
  };
  const untilMore = (said: readonly number[], count: number) => {
    const from = said.length;
    return until(() => said.length >= from + count, { msMax: 20_000 });
  };
  const hasAll = (heard: readonly number[], said: readonly number[]) => said.every((value) => heard.includes(value));

  for (const { name, at, qos } of [
    { name: 'of a sensor with QoS 1', at: topic, qos: 1 as const },
    { name: 'of a sensor with QoS 2', at: topic, qos: 2 as const },
    { name: 'between clients with QoS 1', at: 'users/bob/talk', qos: 1 as const },
  ]) {
    test(`gets every message ${name} once and in order while its client moves to and fro`, async () => {
      const clientId = `mover ${name}`;
      const heard: number[] = [];
      const first = await open(one, clientId, heard);
      await first.subscribeAsync(at, { qos });
      await first.endAsync();
      for (const server of [one, two]) {
        const { said, stop } = await speak(server, { at, qos });
        for (let n = 0; n < 4; n += 1) {
          const client = await open(n % 2 === 0 ? two : one, clientId, heard);
          await untilMore(said, 20);
          // Half of the times its client is there when it connects to the other.
          if (n < 2) await client.endAsync();
          await untilMore(said, 5);
        }
        await stop();
        await open(server, clientId, heard);
        await until(() => hasAll(heard, said), { msMax: 20_000, otherwise: () => missing(heard, said) });
      }
      // A message that was not acknowledged when its client went comes again.
      const firsts = [...new Set(heard)];
      assert.deepEqual(
        firsts,
        [...firsts].sort((a, b) => a - b),
      );
      if (qos === 2) assert.equal(heard.length, firsts.length);
    });
  }

  test('gets every message once while its server is started anew and its client is away', async () => {
    const heard: number[] = [];
    const away = await open(one, 'away', heard);
    await away.subscribeAsync(topic, { qos: 2 });
    await away.endAsync();
    const { said, stop } = await speak(two, { qos: 2 });
    await untilMore(said, 50);
    await one.stop();
    await untilMore(said, 50);
    one = await start();
    await untilMore(said, 50);
    await stop();
    await open(one, 'away', heard);
    await until(() => hasAll(heard, said), { msMax: 20_000, otherwise: () => missing(heard, said) });
    assert.deepEqual(heard, said);
  });

  test('gets every message when its server was killed, and another has taken it over', async () => {
    const heard: number[] = [];
    const away = await open(one, 'orphan', heard);
    await away.subscribeAsync(topic, { qos: 1 });
    await away.endAsync();
    const { said, stop } = await speak(two);
    await untilMore(said, 100);
    await one.stop('SIGKILL');
    await untilMore(said, 100);
    const orphan = await open(two, 'orphan', heard);
    await untilMore(said, 20);
    await stop();
    await until(() => hasAll(heard, said), { msMax: 30_000, otherwise: () => missing(heard, said) });
    await orphan.endAsync();
    one = await start();
  });
});

function missing(heard: readonly number[], said: readonly number[]): string {
  const lost = said.filter((value) => !heard.includes(value));
  return `${lost.length} of ${said.length} are missing: ${lost.slice(0, 20).join(', ')}`;
}
