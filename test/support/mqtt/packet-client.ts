// A client of MQTT 3.1, 3.1.1 or 5 of which a test sees every packet, parsed and as it came, and decides about every
// answer: for tables of packet sequences. It acknowledges nothing by itself.
import assert from 'node:assert/strict';
import {
  generate,
  type IConnectPacket,
  type IPublishPacket,
  type ISubscription,
  type Packet,
  parser,
} from 'mqtt-packet';
import { type As, password } from '../people.ts';
import { type Doors, LetterConnection, type Way } from './letter-connection.ts';

type QoS = 0 | 1 | 2;
export type Version = 3 | 4 | 5;
type PacketOf<C extends Packet['cmd']> = Extract<Packet, { cmd: C }>;
/** A packet, and its bytes. */
export type Came<P extends Packet = Packet> = P & { readonly raw: Buffer };

export interface ConnectOptions extends Partial<Omit<IConnectPacket, 'cmd' | 'protocolVersion'>> {
  readonly version?: Version;
  readonly as?: As;
}

/** What is published: QoS 1 where nothing is said. */
export type Publishing = Pick<IPublishPacket, 'topic'> & Partial<Omit<IPublishPacket, 'cmd'>>;

/** What a subscriber sees of a message. */
export interface Heard {
  readonly topic: string;
  readonly payload: string;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly dup: boolean;
}

export class PacketClient {
  readonly version: Version;
  readonly #letter: LetterConnection;
  /** Up to where the bytes that came are split into packets. */
  #at = 0;
  /** Messages, and what belongs to their delivery, that came before an answer that was waited for. */
  readonly #kept: Came[] = [];
  #lastId = 0;
  /** The CONNACK. */
  connack: Came<PacketOf<'connack'>> | undefined;

  private constructor(letter: LetterConnection, version: Version) {
    this.#letter = letter;
    this.version = version;
  }

  static async open(
    server: Doors,
    { way = 'in one piece' as Way, version = 5 as Version, from = '127.0.0.1' } = {},
  ): Promise<PacketClient> {
    return new PacketClient(await LetterConnection.open(server, way, from), version);
  }

  /** The CONNECT of a person; a session that ends with the connection, where nothing else is said. */
  connectPacket({ as = 'owner', version: _, ...options }: ConnectOptions = {}): IConnectPacket {
    return {
      cmd: 'connect',
      protocolId: this.version === 3 ? 'MQIsdp' : 'MQTT',
      protocolVersion: this.version,
      clientId: 'packets',
      clean: true,
      keepalive: 60,
      ...(as === 'guest' ? {} : { username: as, password: Buffer.from(password) }),
      ...options,
    };
  }

  /** Sends CONNECT and gives the answer. */
  async signIn(options: ConnectOptions = {}): Promise<Came<PacketOf<'connack'>>> {
    await this.send(this.connectPacket(options));
    this.connack = await this.answer('connack');
    return this.connack;
  }

  async send(...packets: readonly (Packet | Buffer)[]): Promise<void> {
    await this.#letter.send(Buffer.concat(packets.map((packet) => this.bytesOf(packet))));
  }

  bytesOf(packet: Packet | Buffer): Buffer {
    return Buffer.isBuffer(packet) ? packet : generate(packet, { protocolVersion: this.version });
  }

  /** The next packet, or nothing where the connection is closed. */
  async next(): Promise<Came | undefined> {
    return this.#kept.shift() ?? this.#read();
  }

  /** The next packet that is none of a delivery to this client, which must be of this kind. */
  async answer<C extends Packet['cmd']>(cmd: C): Promise<Came<PacketOf<C>>> {
    for (;;) {
      const came = await this.#read();
      assert.ok(came !== undefined, `The connection was closed before ${cmd}.`);
      if (came.cmd === cmd) return came as Came<PacketOf<C>>;
      assert.ok(came.cmd === 'publish' || came.cmd === 'pubrel', `${came.raw.toString('hex')} in place of ${cmd}`);
      this.#kept.push(came);
    }
  }

  /** The next so many packets that are none of a delivery to this client. */
  async answers(count: number): Promise<Came[]> {
    const answers: Came[] = [];
    while (answers.length < count) {
      const came = await this.#read();
      assert.ok(came !== undefined, `The connection was closed with ${answers.length} of ${count} answers.`);
      if (came.cmd === 'publish' || came.cmd === 'pubrel') this.#kept.push(came);
      else answers.push(came);
    }
    return answers;
  }

  /** Publishes, with the whole handshake, and gives the first answer; nothing for QoS 0. */
  async publish({
    payload = 'payload',
    qos = 1,
    retain = false,
    dup = false,
    ...more
  }: Publishing): Promise<Came | undefined> {
    const messageId = more.messageId ?? this.nextId();
    await this.send({ cmd: 'publish', payload, qos, retain, dup, ...more, ...(qos === 0 ? {} : { messageId }) });
    if (qos === 0) return undefined;
    const first = await this.answer(qos === 1 ? 'puback' : 'pubrec');
    assert.equal(first.messageId, messageId, '[MQTT-2.2.1-5]');
    if (qos === 1 || (first.reasonCode ?? 0) >= 0x80) return first;
    await this.send({ cmd: 'pubrel', messageId });
    assert.equal((await this.answer('pubcomp')).messageId, messageId, '[MQTT-2.2.1-5]');
    return first;
  }

  /** Subscribes, and gives the reason codes. */
  async subscribe(
    subscriptions: string | ISubscription | readonly ISubscription[],
    subscriptionIdentifier?: number,
  ): Promise<readonly number[]> {
    const messageId = this.nextId();
    const list =
      typeof subscriptions === 'string' ? [{ topic: subscriptions, qos: 2 as const }] : [subscriptions].flat();
    const properties = subscriptionIdentifier === undefined ? {} : { properties: { subscriptionIdentifier } };
    await this.send({ cmd: 'subscribe', messageId, subscriptions: list as ISubscription[], ...properties });
    const suback = await this.answer('suback');
    assert.equal(suback.messageId, messageId, '[MQTT-3.8.4-2]');
    return suback.granted as number[];
  }

  /** Unsubscribes, and gives the reason codes. */
  async unsubscribe(...unsubscriptions: string[]): Promise<readonly number[]> {
    const messageId = this.nextId();
    await this.send({ cmd: 'unsubscribe', messageId, unsubscriptions });
    const unsuback = await this.answer('unsuback');
    assert.equal(unsuback.messageId, messageId, '[MQTT-3.10.4-5]');
    return unsuback.granted ?? [];
  }

  /** All that was delivered since it was last asked, once what the server wrote before has arrived. Answers nothing. */
  async deliveries(): Promise<Came[]> {
    await this.send({ cmd: 'pingreq' });
    await this.answer('pingresp');
    return this.#kept.splice(0);
  }

  /** Waits for so many deliveries, and takes them. */
  async take(count: number): Promise<Came[]> {
    while (this.#kept.length < count) {
      const came = await this.#read();
      assert.ok(came !== undefined, `The connection was closed with ${this.#kept.length} of ${count} deliveries.`);
      this.#kept.push(came);
    }
    return this.#kept.splice(0, count);
  }

  /** Acknowledges each message that came, with the whole handshake. */
  async acknowledge(came: readonly Came[]): Promise<void> {
    for (const { cmd, messageId = 0, ...more } of came) {
      const { qos } = more as Partial<IPublishPacket>;
      if (cmd === 'publish' && qos === 1) await this.send({ cmd: 'puback', messageId });
      if (cmd !== 'publish' || qos !== 2) continue;
      await this.send({ cmd: 'pubrec', messageId });
      const pubrel = (await this.take(1))[0];
      assert.deepEqual([pubrel?.cmd, pubrel?.messageId], ['pubrel', messageId]);
      await this.send({ cmd: 'pubcomp', messageId });
    }
  }

  /** The server's last words, which close the connection: the reason of its DISCONNECT, or nothing. */
  async lastWords(what: string): Promise<number | undefined> {
    const words: Came[] = [];
    await this.#letter.ended(what);
    for (let came = await this.next(); came !== undefined; came = await this.next()) words.push(came);
    const [last, ...more] = words.filter(({ cmd }) => cmd !== 'publish' && cmd !== 'pubrel');
    assert.deepEqual(more, [], what);
    if (last === undefined) return undefined;
    assert.equal(last.cmd, 'disconnect', `${what}: ${last.raw.toString('hex')}`);
    return (last as PacketOf<'disconnect'>).reasonCode ?? 0;
  }

  /** Resolves when the server has closed the connection. */
  ended(what: string): Promise<void> {
    return this.#letter.ended(what);
  }

  /** Leaves with DISCONNECT, and waits until the server has closed the connection. */
  async leave(packet: Partial<PacketOf<'disconnect'>> = {}): Promise<void> {
    await this.send({ cmd: 'disconnect', ...(this.version === 5 ? { reasonCode: 0 } : {}), ...packet });
    await this.#letter.ended('[MQTT-3.14.4-2]');
  }

  /** Breaks the connection without DISCONNECT. */
  cut(): Promise<void> {
    return this.#letter.cut();
  }

  nextId(): number {
    this.#lastId = (this.#lastId % 65_535) + 1;
    return this.#lastId;
  }

  async #read(): Promise<Came | undefined> {
    for (;;) {
      const raw = frameAt(this.#letter.bytes, this.#at);
      if (raw !== undefined) {
        this.#at += raw.length;
        return Object.assign(this.#parse(raw), { raw });
      }
      if (this.#letter.isClosed) return undefined;
      await this.#letter.received(this.#letter.bytes.length + 1);
    }
  }

  #parse(raw: Buffer): Packet {
    const incoming = parser({ protocolVersion: this.version });
    let found: Packet | undefined;
    incoming.on('packet', (packet: Packet) => {
      found = packet;
    });
    incoming.on('error', (error: Error) => assert.fail(`${raw.toString('hex')} is no packet: ${error.message}`));
    incoming.parse(raw);
    assert.ok(found !== undefined, `${raw.toString('hex')} is a packet`);
    return found;
  }
}

/** The whole packet that begins there, where all of it has come. */
function frameAt(bytes: Buffer, at: number): Buffer | undefined {
  let length = 0;
  for (let n = 0; n < 4; n++) {
    const byte = bytes[at + 1 + n];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 128 ** n;
    if (byte >= 0x80) continue;
    const end = at + 2 + n + length;
    return end <= bytes.length ? bytes.subarray(at, end) : undefined;
  }
  return assert.fail('The server sends a remaining length of five bytes.');
}

/** What a test usually compares of messages. */
export function heard(came: readonly Came[]): Heard[] {
  return came.map((packet) => {
    assert.equal(packet.cmd, 'publish', packet.raw.toString('hex'));
    const { topic, payload, qos, retain, dup } = packet as PacketOf<'publish'>;
    return { topic, payload: payload.toString(), qos, retain, dup };
  });
}

/** Their properties, those of version 5. */
export function propertiesOf(came: readonly Came[]): IPublishPacket['properties'][] {
  return came.map((packet) => ({ ...(packet as PacketOf<'publish'>).properties }));
}
