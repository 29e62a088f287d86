// MQTT packet by packet, for tests that choose packet ids, DUP, when to answer, and invalid bytes.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import {
  generate,
  type IConnackPacket,
  type IConnectPacket,
  type IPublishPacket,
  type Packet,
  parser,
} from 'mqtt-packet';
import { type As, password } from '../people.ts';
import type { TestServer } from '../test-server.ts';
import { lengthBytes, prefixed } from './packet-bytes.ts';

type Command = Packet['cmd'];
type PacketOf<C extends Command> = Extract<Packet, { cmd: C }>;

interface Waiter {
  readonly cmd: Command;
  readonly resolve: (packet: Packet) => void;
  readonly reject: (error: Error) => void;
}

export class RawClient {
  /** What came and was not asked for yet. */
  readonly packets: Packet[] = [];
  readonly closed: Promise<void>;
  readonly socket: Socket;
  readonly #waiters: Waiter[] = [];
  /** Acknowledge what comes, as a well-behaved client does. */
  acknowledges = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    const incoming = parser({ protocolVersion: 4 });
    incoming.on('packet', (packet: Packet) => this.#take(packet));
    socket.on('data', (bytes) => incoming.parse(bytes));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    void this.closed.then(() => {
      for (const { cmd, reject } of this.#waiters) reject(new Error(`The connection was closed before ${cmd}.`));
    });
  }

  /** A connection that has said nothing yet. @param from the address of this machine to call from, such as 127.0.0.2. */
  static async open(server: TestServer, from = '127.0.0.1'): Promise<RawClient> {
    const port = server.running.ports.mqtt ?? 0;
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, localAddress: from });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawClient(socket);
  }

  /** Signs in; the answer must be an acceptance. */
  static async connect(server: TestServer, as: As, options: Partial<IConnectPacket> = {}): Promise<RawClient> {
    const client = await RawClient.open(server);
    const { returnCode } = await client.signIn(as, options);
    assert.equal(returnCode, 0);
    return client;
  }

  async signIn(as: As, options: Partial<IConnectPacket> = {}): Promise<IConnackPacket> {
    this.send({
      ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId: 'raw', clean: true, keepalive: 60 },
      ...(as === 'guest' ? {} : { username: as, password: Buffer.from(password) }),
      ...options,
    });
    return this.next('connack');
  }

  send(...packets: readonly (Packet | Buffer)[]): void {
    this.socket.write(Buffer.concat(packets.map((packet) => (Buffer.isBuffer(packet) ? packet : generate(packet)))));
  }

  async subscribe(topic: string, qos: 0 | 1 | 2 = 0): Promise<void> {
    this.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] });
    assert.deepEqual((await this.next('suback')).granted, [qos]);
  }

  publish(packet: Pick<IPublishPacket, 'topic' | 'payload'> & Partial<IPublishPacket>): void {
    this.send({ cmd: 'publish', qos: 1, dup: false, retain: false, messageId: 1, ...packet });
  }

  /** The next packet of this kind; those of other kinds stay. */
  next<C extends Command>(cmd: C): Promise<PacketOf<C>> {
    const index = this.packets.findIndex((packet) => packet.cmd === cmd);
    if (index >= 0) return Promise.resolve(this.packets.splice(index, 1)[0] as PacketOf<C>);
    if (this.socket.closed) return Promise.reject(new Error(`The connection is closed: there is no ${cmd} any more.`));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ cmd, resolve: resolve as (packet: Packet) => void, reject });
    });
  }

  /** Resolves when what the server wrote before has arrived. */
  async roundTrip(): Promise<void> {
    this.send({ cmd: 'pingreq' });
    await this.next('pingresp');
  }

  async cut(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }

  async end(): Promise<void> {
    this.socket.end(generate({ cmd: 'disconnect' }));
    await this.closed;
  }

  /** What was published to it so far. */
  takePublishes(): IPublishPacket[] {
    const publishes = this.packets.filter((packet) => packet.cmd === 'publish');
    const others = this.packets.filter((packet) => packet.cmd !== 'publish');
    this.packets.splice(0, this.packets.length, ...others);
    return publishes;
  }

  #take(packet: Packet): void {
    if (this.acknowledges && this.#acknowledge(packet)) return;
    const index = this.#waiters.findIndex((waiter) => waiter.cmd === packet.cmd);
    if (index < 0) this.packets.push(packet);
    else this.#waiters.splice(index, 1)[0]?.resolve(packet);
  }

  /** True for a packet that is of no use beyond the handshake. */
  #acknowledge(packet: Packet): boolean {
    const { messageId = 0 } = packet;
    if (packet.cmd === 'publish' && packet.qos === 1) this.send({ cmd: 'puback', messageId });
    if (packet.cmd === 'publish' && packet.qos === 2) this.send({ cmd: 'pubrec', messageId });
    if (packet.cmd === 'pubrel') this.send({ cmd: 'pubcomp', messageId });
    if (packet.cmd === 'pubrec') this.send({ cmd: 'pubrel', messageId });
    return packet.cmd === 'pubrel' || packet.cmd === 'pubrec';
  }
}

/** A CONNECT byte by byte, for what mqtt-packet does not write: an empty username, a client id left out. */
export function connectBytes(options: {
  readonly clientId: string;
  readonly clean?: boolean;
  readonly username?: string;
  readonly password?: string | Buffer;
}): Buffer {
  const { clientId, clean = true, username, password: secret } = options;
  const flags = (clean ? 2 : 0) | (username === undefined ? 0 : 0x80) | (secret === undefined ? 0 : 0x40);
  const fields = [clientId, username, secret].filter((field) => field !== undefined);
  const rest = Buffer.concat([Buffer.from([0, 4, 0x4d, 0x51, 0x54, 0x54, 4, flags, 0, 60]), ...fields.map(prefixed)]);
  return Buffer.concat([Buffer.from([0x10]), lengthBytes(rest.length), rest]);
}
