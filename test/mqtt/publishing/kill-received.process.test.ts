// Kills while a kept session publishes with QoS 2. Of a message to another session it is stored that it has come in the commit of
// what is stored of it for its receiver, of a reading its fingerprint in the commit of its datapoint: so its repeat after a crash
// is neither taken for one that is stored, nor stored twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Packet } from 'mqtt-packet';
import { heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { adminPassword, type Dundun, startDundun } from '../../support/process.ts';

const inFlight = 60;
/** After so many answers the service is killed. */
const rounds = [1, 7, 30, 61, 90, 150, 2, 45, 120, 200];

/** A message of which the publisher does not know yet that it is done. */
interface Message {
  readonly messageId: number;
  readonly payload: string;
  state: 'sent' | 'received';
}

test('a message of QoS 2 comes to its receiver once, wherever the service is killed', async () => {
  let server = await startDundun();
  const { folder } = server;
  const receiver = await connect(server, 'receiver');
  await receiver.subscribe({ topic: 'users/admin/killed', qos: 1 });
  await receiver.leave();
  const publisher = new Publisher('users/admin/killed', (n) => `${n}`);
  server = await publishThroughKills(server, folder, publisher);
  const back = await connect(server, 'receiver');
  assertOnce(
    publisher,
    heard(await back.deliveries()).map(({ payload }) => payload),
  );
  await server.stop();
});

test('a reading of QoS 2 is stored once, wherever the service is killed', async () => {
  let server = await startDundun();
  const { folder } = server;
  await call(server, 'POST', '/devices', { id: 'killed', sensors: [{ id: 's' }] });
  const publisher = new Publisher('devices/killed/sensors/s/value', (n) => `{"value":${n}}`);
  server = await publishThroughKills(server, folder, publisher);
  const rows = (await call(server, 'GET', '/devices/killed/sensors/s/values?limit=10000')) as { value: number }[];
  assertOnce(
    publisher,
    rows.map(({ value }) => `{"value":${value}}`),
  );
  await server.stop();
});

async function publishThroughKills(first: Dundun, folder: string, publisher: Publisher): Promise<Dundun> {
  let server = first;
  for (const answers of rounds) {
    const session = await connect(server, 'publisher');
    await publisher.run(session, answers);
    server.child.kill('SIGKILL');
    await server.exit;
    server = await startDundun({ folder });
  }
  const session = await connect(server, 'publisher');
  await publisher.finish(session);
  return server;
}

function assertOnce({ payloads }: Publisher, came: readonly string[]): void {
  const times = new Map<string, number>();
  for (const payload of came) times.set(payload, (times.get(payload) ?? 0) + 1);
  const lost = payloads.filter((payload) => !times.has(payload));
  const twice = payloads.filter((payload) => (times.get(payload) ?? 0) > 1);
  assert.deepEqual({ lost, twice, count: times.size }, { lost: [], twice: [], count: payloads.length });
}

async function call(server: Dundun, method: string, path: string, json?: unknown): Promise<unknown> {
  const url = `${server.url}/api/v2`;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ username: 'admin', password: adminPassword });
  const token = await (await fetch(`${url}/auth/token`, { method: 'POST', headers, body })).text();
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(json === undefined ? {} : headers) },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Publishes as the specification asks: what is not answered is sent again, under its packet id. */
class Publisher {
  readonly #topic: string;
  readonly #payloadOf: (n: number) => string;
  readonly #messages: Message[] = [];
  #count = 0;

  constructor(topic: string, payloadOf: (n: number) => string) {
    this.#topic = topic;
    this.#payloadOf = payloadOf;
  }

  get payloads(): readonly string[] {
    return Array.from({ length: this.#count }, (_, n) => this.#payloadOf(n));
  }

  /** Publishes until so many answers have come. */
  async run(client: PacketClient, answers: number): Promise<void> {
    await client.send(...this.#again());
    for (let left = answers; left > 0; left--) {
      const fresh: Packet[] = [];
      while (this.#messages.length < inFlight) fresh.push(this.#next());
      await client.send(...fresh);
      await this.#take(client);
    }
  }

  /** What is left comes to its end. */
  async finish(client: PacketClient): Promise<void> {
    await client.send(...this.#again());
    while (this.#messages.length > 0) await this.#take(client);
  }

  #next(): Packet {
    const messageId = (this.#count % 65_535) + 1;
    const message: Message = { messageId, payload: this.#payloadOf(this.#count), state: 'sent' };
    this.#count += 1;
    this.#messages.push(message);
    const { payload } = message;
    return { cmd: 'publish', topic: this.#topic, payload, qos: 2, dup: false, retain: false, messageId };
  }

  #again(): Packet[] {
    return this.#messages.map(({ messageId, payload, state }) =>
      state === 'sent'
        ? { cmd: 'publish', topic: this.#topic, payload, qos: 2, dup: true, retain: false, messageId }
        : { cmd: 'pubrel', messageId },
    );
  }

  async #take(client: PacketClient): Promise<void> {
    const [answer] = await client.answers(1);
    const at = this.#messages.findIndex(({ messageId }) => messageId === answer?.messageId);
    const message = this.#messages[at];
    if (message === undefined) return;
    if (answer?.cmd === 'pubcomp') this.#messages.splice(at, 1);
    else {
      message.state = 'received';
      await client.send({ cmd: 'pubrel', messageId: message.messageId });
    }
  }
}

async function connect({ ports }: Dundun, clientId: string): Promise<PacketClient> {
  const client = await PacketClient.open({ running: { ports } }, { version: 4 });
  const { returnCode } = await client.signIn({
    ...{ clientId, clean: false, username: 'admin', password: Buffer.from(adminPassword) },
  });
  assert.equal(returnCode, 0);
  return client;
}
