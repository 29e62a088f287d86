// One random stream, sent to a server and to the model at once; each step is compared before the next.
import assert from 'node:assert/strict';
import { packet as bytesOfPacket } from '../../support/mqtt/packet-bytes.ts';
import { type Came, PacketClient } from '../../support/mqtt/packet-client.ts';
import type { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';
import { type Delivery, type Message, MqttModel, Session } from './session-model.ts';
import { type Answer, assertAnswers } from './stream-answers.ts';
import { compare } from './stream-comparison.ts';
import { type ClientOfStream, clients, type PacketOfBurst, type Step, type StepOf } from './stream-steps.ts';

const readings = 'devices/m/sensors/s/value';
const ping: PacketOfBurst = { kind: 'ping' };
/** More than whole seconds, so that nothing expires at the very moment it is looked at. */
const beyondMs = 7;

interface Publishing {
  readonly bytes: Buffer;
  readonly messageId: number;
}

class StreamClient {
  readonly is: ClientOfStream;
  readonly session: Session;
  connection: PacketClient | undefined;
  /** Of QoS 2, until PUBREL. */
  lastOfTwo: Publishing | undefined;
  lastReading: Publishing | undefined;

  constructor(is: ClientOfStream, clientId: string) {
    this.is = is;
    const { version, receiveMaximum } = is;
    this.session = new Session({
      ...{ clientId, receiveMaximum, isStranger: is.as === 'stranger', isOfFive: version === 5 },
    });
  }

  get isOfFive(): boolean {
    return this.is.version === 5;
  }
}

export class StreamRun {
  readonly #server: TestServer;
  readonly #base: string;
  readonly #model: MqttModel;
  readonly #clients: readonly StreamClient[];
  #payloads = 0;
  #ids = 0;

  constructor(server: TestServer, number: number) {
    this.#server = server;
    this.#base = `f${number}`;
    this.#model = new MqttModel(readings, server.clock.now());
    this.#clients = clients.map((is) => new StreamClient(is, `${is.name}-${number}`));
  }

  /** Sends the steps, then takes away what is left. @throws AssertionError where the server differs from the model. */
  async run(steps: readonly Step[]): Promise<void> {
    // At another moment than the one before, which may have failed.
    this.#server.clock.advance(2_000);
    const beganMs = this.#server.clock.now();
    for (const one of steps) await this.#take(one);
    for (const who of this.#clients.keys()) {
      await this.#take({ kind: 'connect', who, isClean: true, expiryS: 0, will: undefined });
      if (who < this.#clients.length - 1) await this.#take({ kind: 'end', who, how: 'leave' });
    }
    await this.#forgetRetained(this.#clients.at(-1) as StreamClient);
    await this.#take({ kind: 'end', who: this.#clients.length - 1, how: 'leave' });
    await this.#assertStored(beganMs);
  }

  async #take(one: Step): Promise<void> {
    this.#model.nowMs = this.#server.clock.now();
    if (one.kind === 'pass') this.#server.clock.advance(one.seconds * 1_000 + beyondMs);
    else if (one.kind === 'connect') await this.#connect(one);
    else if (one.kind === 'burst') await this.#burst(one);
    else if (one.kind === 'acknowledge') await this.#acknowledge(one);
    else await this.#end(one);
    await this.#compare(JSON.stringify(one));
  }

  async #connect({ who, isClean: asked, expiryS, will }: StepOf<'connect'>): Promise<void> {
    const client = this.#clientOf(who);
    const { session, is } = client;
    // Whether a will is heard by the connection that takes over from the one that left it is left open, unless it begins anew.
    if (client.connection !== undefined && session.will !== undefined) {
      if (asked) this.#model.lose(session);
      else {
        await this.#end({ kind: 'end', who, how: 'cut' });
        await this.#compare('cut before it comes back');
      }
    }
    const old = client.connection;
    const interval = is.lasts ? expiryS : 0;
    // Whether a session that ends with its connection outlives a takeover is left open.
    const isClean = asked || (!is.lasts && is.version !== 5) || (session.isConnected && session.expiryS === 0);
    const connection = await PacketClient.open(this.#server, { version: is.version });
    client.connection = connection;
    const isDelayed = will?.isDelayed === true && client.isOfFive && interval !== 3;
    const left = will && {
      topic: will.isReading && !session.isStranger ? readings : `users/${is.as}/${this.#base}/will`,
      payload: this.#payload(),
      qos: 1 as const,
      retain: will.isRetained && !(will.isReading && !session.isStranger),
    };
    const { sessionPresent, reasonCode, returnCode } = await connection.signIn({
      clientId: session.clientId,
      as: is.as,
      clean: isClean,
      keepalive: 0,
      ...(left && {
        will: {
          ...left,
          payload: Buffer.from(left.payload),
          ...(isDelayed && { properties: { willDelayInterval: 1_000 } }),
        },
      }),
      ...(client.isOfFive && { properties: { sessionExpiryInterval: interval, receiveMaximum: is.receiveMaximum } }),
    });
    const keptS = client.isOfFive ? interval : isClean ? 0 : Number.POSITIVE_INFINITY;
    const isPresent = this.#model.connect(session, { isClean, expiryS: keptS, will: left && { ...left, isDelayed } });
    assert.equal(reasonCode ?? returnCode, 0);
    if (is.version !== 3) assert.equal(sessionPresent, isPresent, 'session present');
    if (!isPresent) client.lastOfTwo = undefined;
    if (old === undefined) return;
    assert.equal(await old.lastWords('taken over'), client.isOfFive ? 0x8e : undefined);
  }

  async #end({ who, how }: StepOf<'end'>): Promise<void> {
    const client = this.#clientOf(who);
    const { connection, session } = client;
    if (connection === undefined) return;
    client.connection = undefined;
    if (how === 'cut') {
      await connection.cut();
      await this.#untilGone(client);
      return this.#model.lose(session);
    }
    if (how === 'broken') {
      await connection.send(bytesOfPacket(0x36, 'users/owner/x', [0, 1], client.isOfFive ? [0] : []));
      assert.equal(await connection.lastWords('QoS 3'), client.isOfFive ? 0x81 : undefined);
      return this.#model.lose(session);
    }
    const isOfFive = client.isOfFive;
    if (how === 'will' && isOfFive) {
      await connection.leave({ reasonCode: 0x04 });
      return this.#model.lose(session);
    }
    const isForGood = how === 'leave for good' && isOfFive;
    await connection.leave(isForGood ? { properties: { sessionExpiryInterval: 0 } } : {});
    this.#model.leave(session, isForGood ? 0 : session.expiryS);
  }

  /** The server learns that a connection is cut when the system tells it. */
  async #untilGone({ is, session: { clientId } }: StreamClient): Promise<void> {
    await until(async () => {
      const { status, body } = await this.#server.call(is.as, 'GET', `/mqtt/clients/${clientId}`);
      return status === 404 || body.connected === false;
    });
  }

  async #burst({ who, packets, cuts }: StepOf<'burst'>): Promise<void> {
    const client = this.#clientOf(who);
    if (client.connection === undefined)
      await this.#connect({ kind: 'connect', who, isClean: true, expiryS: 1_000, will: undefined });
    // In one write, how a SUBSCRIBE sees what is retained, published or subscribed to beside it is left to the server.
    const isChange = ({ kind }: PacketOfBurst) => kind === 'subscribe' || kind === 'unsubscribe';
    for (const change of packets.filter(isChange)) {
      await this.#write(client, [change], cuts);
      // Nor have retained messages, which follow SUBACK, an order with what is published then.
      await this.#server.running.idle();
    }
    const isRetained = (one: PacketOfBurst) => one.kind === 'publish' && one.isRetained;
    const others = packets.filter((one) => !isChange(one) && !isRetained(one));
    await this.#write(client, others, cuts);
    // Messages of several QoS have no order among each other, so the last of them is none for sure.
    for (const one of packets.filter(isRetained)) {
      await this.#write(client, [one], cuts);
      await this.#server.running.idle();
    }
  }

  async #write(client: StreamClient, packets: readonly PacketOfBurst[], cuts: readonly number[]): Promise<void> {
    if (packets.length === 0) return;
    const connection = client.connection as PacketClient;
    const answers: Answer[] = [];
    // The last one tells that a message of QoS 0 has been read.
    const bytes = Buffer.concat([...packets, ping].map((one) => this.#packet(client, one, answers)));
    const ends = cuts.map((cut) => Math.floor((cut * bytes.length) / 1_000)).sort((a, b) => a - b);
    for (const [n, end] of [...ends, bytes.length].entries()) {
      await connection.send(bytes.subarray(ends[n - 1] ?? 0, end));
      if (n % 2 === 1) await new Promise((resolve) => setImmediate(resolve));
    }
    assertAnswers(await connection.answers(answers.length), answers, client.isOfFive);
  }

  /** The bytes of a packet that the model takes too; what is to be answered goes to `answers`. */
  #packet(client: StreamClient, one: PacketOfBurst, answers: Answer[]): Buffer {
    const connection = client.connection as PacketClient;
    const { session } = client;
    if (one.kind === 'publish') return this.#publish(client, one, answers);
    if (one.kind === 'subscribe') {
      const filter = this.#filterOf(client, one.filter);
      const isShared = filter.startsWith('$share');
      const options = client.isOfFive
        ? {
            isNoLocal: one.isNoLocal && !isShared,
            isAsPublished: one.isAsPublished,
            retainHandling: one.retainHandling,
            id: one.id,
          }
        : { isNoLocal: false, isAsPublished: false, retainHandling: 0, id: undefined };
      const { isNoLocal: nl, isAsPublished: rap, retainHandling: rh, id } = options;
      this.#model.subscribe(session, { filter, qos: one.qos, ...options, retainHandling: rh as 0 | 1 | 2 });
      const messageId = this.#nextId();
      answers.push({ cmd: 'suback', messageId, codes: [one.qos] });
      const subscriptions = [
        client.isOfFive ? { topic: filter, qos: one.qos, nl, rap, rh } : { topic: filter, qos: one.qos },
      ];
      const properties = id === undefined ? {} : { properties: { subscriptionIdentifier: id } };
      return connection.bytesOf({ cmd: 'subscribe', messageId, subscriptions, ...properties });
    }
    if (one.kind === 'unsubscribe') {
      const filter = this.#filterOf(client, one.filter);
      const messageId = this.#nextId();
      const code = this.#model.unsubscribe(session, filter) ? 0x00 : 0x11;
      answers.push({ cmd: 'unsuback', messageId, ...(client.isOfFive && { codes: [code] }) });
      return connection.bytesOf({ cmd: 'unsubscribe', messageId, unsubscriptions: [filter] });
    }
    if (one.kind === 'release') {
      // PUBREL follows PUBREC.
      const ids = [...session.unreleased].filter(
        (messageId) => !answers.some((answer) => answer.messageId === messageId),
      );
      for (const messageId of ids) session.unreleased.delete(messageId);
      if (ids.includes(client.lastOfTwo?.messageId ?? 0)) client.lastOfTwo = undefined;
      for (const messageId of ids) answers.push({ cmd: 'pubcomp', messageId, codes: [0] });
      return Buffer.concat(ids.map((messageId) => connection.bytesOf({ cmd: 'pubrel', messageId })));
    }
    if (one.kind === 'again') {
      const last = one.qos === 2 ? client.lastOfTwo : client.lastReading;
      if (last === undefined) return Buffer.alloc(0);
      answers.push({ cmd: one.qos === 2 ? 'pubrec' : 'puback', messageId: last.messageId, codes: [0, 0x10] });
      const bytes = Buffer.from(last.bytes);
      bytes[0] = (bytes[0] ?? 0) | 0x08;
      return bytes;
    }
    answers.push({ cmd: 'pingresp' });
    return connection.bytesOf({ cmd: 'pingreq' });
  }

  #publish(client: StreamClient, one: Extract<PacketOfBurst, { kind: 'publish' }>, answers: Answer[]): Buffer {
    const { session, isOfFive } = client;
    const { topic, codes } = this.#topicOf(client, one.topic);
    const isReading = topic === readings;
    const isStored = codes[0] === 0;
    const retain = one.isRetained && !topic.startsWith('devices');
    const payload = isReading && one.topic === 4 ? 'no reading' : retain && one.isEmpty ? '' : this.#payload();
    const isTaken = isStored && payload !== 'no reading';
    const expiryS = isOfFive ? one.expiryS : undefined;
    const contentType = isOfFive ? one.contentType : undefined;
    const message: Message = { topic, payload, qos: one.qos, retain, from: session.clientId, expiryS, contentType };
    if (isTaken) this.#model.publish(message);
    const messageId = this.#nextId();
    const properties = { ...(expiryS && { messageExpiryInterval: expiryS }), ...(contentType && { contentType }) };
    const bytes = (client.connection as PacketClient).bytesOf({
      ...{ cmd: 'publish', topic, payload, qos: one.qos, retain, dup: false },
      ...(one.qos === 0 ? {} : { messageId }),
      ...(isOfFive && { properties }),
    });
    if (one.qos === 0) return bytes;
    // Which of two faults is told is left to the server.
    const right = payload === 'no reading' ? [...(isStored ? [] : codes), 0x99] : codes;
    answers.push({ cmd: one.qos === 1 ? 'puback' : 'pubrec', messageId, codes: right });
    if (one.qos === 1 && isReading && isTaken) client.lastReading = { bytes, messageId };
    if (one.qos === 2 && (isTaken || !isOfFive)) {
      session.unreleased.add(messageId);
      if (isTaken) client.lastOfTwo = { bytes, messageId };
    }
    return bytes;
  }

  async #acknowledge({ who, count, refuses }: StepOf<'acknowledge'>): Promise<void> {
    const client = this.#clientOf(who);
    const { session, connection } = client;
    if (connection === undefined) return;
    for (const delivery of session.underWay.slice(0, count)) await this.#advance(client, delivery, refuses);
    this.#model.send(session);
    await connection.send({ cmd: 'pingreq' });
    await connection.answers(1);
  }

  async #advance({ session, connection, isOfFive }: StreamClient, delivery: Delivery, refuses: boolean): Promise<void> {
    const messageId = delivery.packetId ?? 0;
    const cmd = delivery.state === 'received' ? 'pubcomp' : delivery.qos === 1 ? 'puback' : 'pubrec';
    const isRefused = refuses && isOfFive && cmd !== 'pubcomp';
    await connection?.send({ cmd, messageId, ...(isRefused && { reasonCode: 0x80 }) });
    if (cmd === 'pubrec' && !isRefused) {
      delivery.state = 'received';
      this.#model.expect(session, { kind: 'pubrel', packetId: messageId });
    } else {
      session.deliveries = session.deliveries.filter((other) => other !== delivery);
    }
  }

  /** What came to each client, and to one of a group, is what the model says. */
  async #compare(what: string): Promise<void> {
    await this.#server.running.idle();
    const came = new Map<Session, Came[]>();
    await Promise.all(
      this.#clients.map(async ({ session, connection }) => {
        if (connection !== undefined) came.set(session, await connection.deliveries());
      }),
    );
    const shared = compare(this.#model, came, `${this.#base}: ${what}`);
    for (const { connection, session } of this.#clients) await connection?.acknowledge(shared.get(session) ?? []);
  }

  async #forgetRetained({ connection, session }: StreamClient): Promise<void> {
    for (const topic of [...this.#model.retained.keys()]) {
      if (topic.startsWith('users/stranger/')) continue;
      this.#model.publish({ topic, payload: '', qos: 1, retain: true, from: session.clientId });
      await connection?.publish({ topic, payload: '', retain: true });
    }
  }

  /** What was to be stored is, in its order, and nothing else. */
  async #assertStored(beganMs: number): Promise<void> {
    await this.#server.running.idle();
    const from = encodeURIComponent(new Date(beganMs).toISOString());
    const path = `/devices/m/sensors/s/values?date_from=${from}&order=asc&limit=1000`;
    const { body, status, text } = await this.#server.call('owner', 'GET', path);
    assert.equal(status, 200, text);
    const values = (body as { readonly value: number }[]).map(({ value }) => `{"value":${value}}`);
    assert.deepEqual(values.toSorted(), this.#model.stored.toSorted(), `${this.#base}: what is stored`);
  }

  #clientOf(who: number): StreamClient {
    return this.#clients[who] as StreamClient;
  }

  /** Topics of every fate, with the reasons that are right where it is no reading. */
  #topicOf({ session, is }: StreamClient, n: number): { readonly topic: string; readonly codes: readonly number[] } {
    const own = `users/${is.as}/${this.#base}`;
    const relayed = [0, 0x10];
    if (n === 0) return { topic: `${own}/a`, codes: relayed };
    if (n === 1) return { topic: `${own}/a/b`, codes: relayed };
    if (n === 2 && session.isStranger) return { topic: `users/owner/${this.#base}/a`, codes: [0x87, 0x90] };
    if (n === 2) return { topic: 'devices/m/sensors/none/value', codes: [0x90] };
    return { topic: readings, codes: session.isStranger ? [0x87] : [0] };
  }

  #filterOf({ is }: StreamClient, n: number): string {
    const own = `users/${is.as}/${this.#base}`;
    const filters = [
      `${own}/a`,
      `${own}/+`,
      `${own}/#`,
      `users/+/${this.#base}/#`,
      `/${own}/#`,
      `+/${own}/+`,
      'devices/m/sensors/+/value',
    ];
    const shared = [`$share/g/${own}/#`, `$share/g/${own}/a`];
    const isMember = is.version === 5 && !is.lasts;
    return (filters[n] ?? (isMember ? shared[n - filters.length] : filters[2])) as string;
  }

  /** Readings all, each of them once, so that any may be sent anywhere. */
  #payload(): string {
    return `{"value":${++this.#payloads}}`;
  }

  #nextId(): number {
    this.#ids = (this.#ids % 65_535) + 1;
    return this.#ids;
  }
}
