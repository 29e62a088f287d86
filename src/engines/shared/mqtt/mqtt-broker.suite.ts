// MQTT sessions as clients see them: aedes as the broker, packets over TCP, and restarts in between.
import assert from 'node:assert/strict';
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { Aedes, type AedesOptions } from 'aedes';
import { generate, type Packet, parser } from 'mqtt-packet';
import { until } from '../../../../test/support/until.ts';
import type { MqttPersistence } from './mqtt-persistence.ts';
import { type MqttEngine, type MqttRuns, makeRuns, message, read } from './mqtt-runs.suite.ts';

/** A broker listening on a port of its own. */
class Broker {
  readonly aedes: Aedes;
  readonly persistence: MqttPersistence;
  readonly #server = createServer((socket) => this.aedes.handle(socket));

  constructor(persistence: MqttPersistence, options: AedesOptions) {
    this.persistence = persistence;
    this.aedes = new Aedes({ ...options, persistence });
  }

  async start(): Promise<void> {
    await this.aedes.listen();
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async connect(clientId: string, options: { clean?: boolean; will?: string } = {}): Promise<Client> {
    const { clean = false, will } = options;
    const { port } = this.#server.address() as AddressInfo;
    const client = new Client(connectTcp({ host: '127.0.0.1', port }));
    client.send({
      ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId, clean, keepalive: 60 },
      ...(will !== undefined && { will: { topic: will, payload: Buffer.from(clientId), qos: 1, retain: false } }),
    } as Packet);
    await client.next('connack');
    return client;
  }

  async close(): Promise<void> {
    this.#server.close();
    await new Promise<void>((resolve) => this.aedes.close(resolve));
    await this.persistence.destroy();
  }
}

/** A client that sends only the acknowledgements that the test makes it send. */
class Client {
  readonly #socket: Socket;
  readonly #packets: Packet[] = [];
  #arrived: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet: Packet) => {
      this.#packets.push(packet);
      this.#arrived();
    });
    socket.on('data', (bytes) => packets.parse(bytes));
    socket.on('error', () => {});
    socket.on('close', () => this.#arrived());
  }

  send(packet: Packet): void {
    this.#socket.write(generate(packet));
  }

  /** The next packet, which must be of this kind. */
  async next<Cmd extends Packet['cmd']>(cmd: Cmd): Promise<Extract<Packet, { cmd: Cmd }>> {
    while (this.#packets.length === 0) {
      assert.ok(!this.#socket.closed, `the connection was cut before ${cmd}`);
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    const packet = this.#packets.shift() as Packet;
    assert.equal(packet.cmd, cmd, JSON.stringify(packet));
    return packet as Extract<Packet, { cmd: Cmd }>;
  }

  /** The payload of the next message; acknowledges it. */
  async take(): Promise<string> {
    const { payload, messageId, qos } = await this.next('publish');
    if (qos === 1) this.send({ cmd: 'puback', messageId } as Packet);
    return String(payload);
  }

  async subscribe(...filters: readonly [topic: string, qos: 0 | 1 | 2][]): Promise<void> {
    const subscriptions = filters.map(([topic, qos]) => ({ topic, qos }));
    this.send({ cmd: 'subscribe', messageId: 1, subscriptions } as Packet);
    await this.next('suback');
  }

  /** Resolves when the connection answers a ping and no other packet came before. */
  async settle(): Promise<void> {
    this.send({ cmd: 'pingreq' });
    await this.next('pingresp');
  }

  /** Ends the connection and waits until the broker has noticed. */
  async leave(broker: Broker): Promise<void> {
    const gone = new Promise((resolve) => broker.aedes.once('clientDisconnect', resolve));
    this.send({ cmd: 'disconnect' });
    await gone;
  }
}

/** Stops the present run of the service and starts the next. */
async function start(runs: MqttRuns, options: AedesOptions = {}): Promise<Broker> {
  const broker = new Broker(await runs.open(), options);
  await broker.start();
  runs.beforeStop(() => broker.close());
  return broker;
}

function publish(broker: Broker, payload: string, options: { topic?: string; qos?: 0 | 1 | 2; retain?: boolean } = {}) {
  const { topic = 't', qos = 1, retain = false } = options;
  return new Promise<void>((resolve, reject) => {
    const packet = { cmd: 'publish', topic, payload: Buffer.from(payload), qos, retain, dup: false } as const;
    broker.aedes.publish(packet, (error) => (error ? reject(error) : resolve()));
  });
}

/** Resolves when the broker has handled so many acknowledgements. */
function acks(broker: Broker, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    broker.aedes.on('ack', () => {
      left -= 1;
      if (left === 0) resolve();
    });
  });
}

async function queueOf(broker: Broker, id: string): Promise<string[]> {
  const queue = await read(broker.persistence.outgoingStream({ id }));
  return queue.map(({ cmd, payload }) => (cmd === 'pubrel' ? cmd : String(payload)));
}

export function mqttBrokerSuite(engine: MqttEngine): void {
  suite(`MQTT sessions as clients see them on ${engine.name}`, () => {
    test('messages that wait for their commit are not lost to those that overtake them', async (t) => {
      const broker = await start(await makeRuns(t, engine));
      const subscriber = await broker.connect('s');
      await subscriber.subscribe(['#', 1]);
      const payloads = Array.from({ length: 40 }, (_, i) => `m${i}`);
      const published = payloads.map((payload, i) => {
        return publish(broker, payload, { topic: `t/${i}`, qos: i % 3 === 0 ? 0 : 1, retain: i % 4 === 0 });
      });
      const taken: string[] = [];
      while (taken.length < payloads.length) taken.push(await subscriber.take());
      await Promise.all(published);
      assert.deepEqual(taken.sort(), payloads.sort());
      const stored = taken.filter((payload) => Number(payload.slice(1)) % 3 !== 0);
      assert.equal(stored.length, 26);
    });

    test('messages of one QoS arrive in the order in which they were published', async (t) => {
      const broker = await start(await makeRuns(t, engine));
      const subscriber = await broker.connect('s');
      await subscriber.subscribe(['t', 1]);
      const acknowledged = acks(broker, 300);
      const published = Array.from({ length: 300 }, (_, i) => publish(broker, String(i)));
      for (let i = 0; i < published.length; i++) assert.equal(await subscriber.take(), String(i));
      await Promise.all([...published, acknowledged]);
      assert.deepEqual(await queueOf(broker, 's'), []);
    });

    test('a client with several matching filters gets a message once, at home and after being away', async (t) => {
      const runs = await makeRuns(t, engine);
      const broker = await start(runs);
      const subscriber = await broker.connect('s');
      await subscriber.subscribe(['#', 1], ['t', 1], ['+', 1]);
      await publish(broker, 'one');
      const one = await subscriber.next('publish');
      const acknowledged = acks(broker, 1);
      await publish(broker, 'two');
      assert.equal(await subscriber.take(), 'two');
      await acknowledged;
      assert.deepEqual(await queueOf(broker, 's'), ['one']);
      await subscriber.leave(broker);
      await publish(broker, 'three');

      const again = await (await start(runs)).connect('s');
      const repeated = await again.next('publish');
      assert.deepEqual([String(repeated.payload), repeated.messageId, repeated.dup], ['one', one.messageId, true]);
      const three = await again.next('publish');
      assert.deepEqual([String(three.payload), three.dup], ['three', false]);
      await again.settle();
    });

    test('what a client may not have is neither delivered nor kept', async (t) => {
      const broker = await start(await makeRuns(t, engine), {
        authorizeForward: (_client, packet) => (String(packet.payload) === 'secret' ? null : packet),
      });
      const subscriber = await broker.connect('s');
      await subscriber.subscribe(['t', 1], ['#', 2]);
      for (const payload of ['secret', 'open', 'secret']) await publish(broker, payload, { qos: 2 });
      const { payload } = await subscriber.next('publish');
      assert.equal(String(payload), 'open');
      await subscriber.settle();
      await new Promise((resolve) => setImmediate(resolve));
      await broker.persistence.idle();
      assert.deepEqual(await queueOf(broker, 's'), ['open']);
    });

    test('QoS 2 goes out once, across a restart between PUBLISH and PUBCOMP', async (t) => {
      const runs = await makeRuns(t, engine);
      const broker = await start(runs);
      const subscriber = await broker.connect('s');
      await subscriber.subscribe(['t', 2]);
      await publish(broker, 'one', { qos: 2 });
      await publish(broker, 'two', { qos: 2 });
      const { messageId } = await subscriber.next('publish');
      const two = await subscriber.next('publish');
      subscriber.send({ cmd: 'pubrec', messageId } as Packet);
      assert.equal((await subscriber.next('pubrel')).messageId, messageId);

      const again = await (await start(runs)).connect('s');
      assert.equal((await again.next('pubrel')).messageId, messageId);
      const repeated = await again.next('publish');
      assert.deepEqual([repeated.messageId, repeated.dup], [two.messageId, true]);
      for (const id of [messageId, two.messageId]) again.send({ cmd: 'pubcomp', messageId: id } as Packet);
      await again.settle();
    });

    test('QoS 2 comes in once, across a restart between PUBREC and PUBREL', async (t) => {
      const runs = await makeRuns(t, engine);
      const broker = await start(runs);
      const publisher = await broker.connect('p');
      const packet = { cmd: 'publish', topic: 't', payload: 'one', qos: 2, messageId: 7, retain: false } as const;
      publisher.send({ ...packet, dup: false });
      await publisher.next('pubrec');

      const next = await start(runs);
      const subscriber = await next.connect('s', { clean: true });
      await subscriber.subscribe(['t', 1]);
      const again = await next.connect('p');
      again.send({ ...packet, dup: true });
      await again.next('pubrec');
      again.send({ cmd: 'pubrel', messageId: 7 });
      await again.next('pubcomp');
      again.send({ ...packet, payload: 'two', dup: false });
      await again.next('pubrec');
      assert.equal(await subscriber.take(), 'two');
    });

    test('a will of a run that crashed is published once by the next', async (t) => {
      const runs = await makeRuns(t, engine);
      const { persistence } = await runs.start();
      await persistence.putWill({ id: 'lost' }, { topic: 'gone', payload: 'lost', qos: 1, retain: false });

      t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
      const heartbeatInterval = 15_000;
      const broker = await start(runs, { heartbeatInterval });
      const subscriber = await broker.connect('s', { clean: true });
      await subscriber.subscribe(['gone', 1]);
      await broker.connect('here', { clean: true, will: 'gone' });
      const removed = t.mock.method(broker.persistence, 'delWill');
      // The broker looks for wills of other brokers at every fourth heartbeat.
      for (let beat = 0; beat < 4; beat++) t.mock.timers.tick(heartbeatInterval);
      assert.equal(await subscriber.take(), 'lost');
      await until(() => removed.mock.callCount() > 0);
      await removed.mock.calls[0]?.result;
      for (let beat = 0; beat < 8; beat++) t.mock.timers.tick(heartbeatInterval);
      await publish(broker, 'end', { topic: 'gone' });
      assert.equal(await subscriber.take(), 'end');
      const left = await read(broker.persistence.streamWill());
      assert.deepEqual(
        left.map(({ clientId }) => clientId),
        ['here'],
      );
    });

    test('a clean session leaves nothing behind, and takes away what was there', async (t) => {
      const runs = await makeRuns(t, engine);
      const broker = await start(runs);
      const first = await broker.connect('s');
      await first.subscribe(['t', 1]);
      await publish(broker, 'one');
      await first.next('publish');
      const clean = await broker.connect('s', { clean: true });
      await clean.subscribe(['t', 1]);
      await publish(broker, 'two');
      assert.equal(await clean.take(), 'two');
      clean.send({ ...(message(1) as object), cmd: 'publish', topic: 'u', qos: 2, messageId: 3 } as Packet);
      await clean.next('pubrec');

      const run = await runs.start();
      for (const table of ['session', 'subscription', 'queue', 'message', 'incoming']) {
        assert.equal(await run.count(`mqtt_${table}`), 0, table);
      }
    });

    test('a connection whose session was ended under it does not bring it back', async (t) => {
      const broker = await start(await makeRuns(t, engine));
      const first = await broker.connect('s');
      await broker.persistence.endSession('s');
      await first.subscribe(['t', 1]);
      first.send({ cmd: 'publish', topic: 'u', payload: 'x', qos: 2, messageId: 3, dup: false, retain: false });
      await first.next('pubrec');
      assert.equal(broker.persistence.sessionCount, 0);
    });

    test('a retained message of QoS 2 does not cut the session it goes to', async (t) => {
      const broker = await start(await makeRuns(t, engine));
      await publish(broker, 'kept', { qos: 2, retain: true });
      const subscriber = await broker.connect('s');
      subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 't', qos: 2 }] } as Packet);
      await subscriber.next('suback');
      const { messageId, retain } = await subscriber.next('publish');
      assert.equal(retain, true);
      subscriber.send({ cmd: 'pubrec', messageId } as Packet);
      await subscriber.next('pubrel');
      subscriber.send({ cmd: 'pubcomp', messageId } as Packet);
      await subscriber.settle();
    });
  });
}
