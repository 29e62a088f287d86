// MQTT 3.1.1 for tests, packet by packet, so that a test decides about packet ids, DUP and when to answer.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { generate, type IConnackPacket, type IConnectPacket, type Packet, parser } from 'mqtt-packet';
import { within } from '../until.ts';

/** Beyond all that a server may wait for before it answers. */
const connackMsMax = 120_000;

export interface ConnectOptions {
  readonly clientId?: string;
  readonly clean?: boolean;
  readonly username?: string;
  readonly password?: string;
  /** The certificate to trust; makes it a TLS connection. */
  readonly ca?: string;
}

/** A connection; `onPacket` gets everything after CONNACK. */
export class MqttConnection {
  readonly #socket: Socket;
  readonly closed: Promise<void>;
  onPacket: (packet: Packet) => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet: Packet) => this.onPacket(packet));
    socket.on('data', (bytes) => packets.parse(bytes));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** False when the connection is gone. */
  send(packet: Packet): boolean {
    if (!this.#socket.writable) return false;
    this.#socket.write(generate(packet));
    return true;
  }

  cut(): void {
    this.#socket.destroy();
  }

  end(): void {
    this.#socket.end(generate({ cmd: 'disconnect' }));
  }
}

/** Connects and waits for the answer; rejects when there is none. */
export function connectMqtt(
  port: number,
  options: ConnectOptions = {},
): Promise<{ connection: MqttConnection; connack: IConnackPacket }> {
  const { clientId = '', clean = true, username, password, ca } = options;
  const target = { host: '127.0.0.1', port };
  const socket = ca === undefined ? connectTcp(target) : connectTls({ ...target, ca, servername: 'localhost' });
  const connection = new MqttConnection(socket);
  const packet: IConnectPacket = {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clientId,
    clean,
    keepalive: 60,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: Buffer.from(password) }),
  };
  const answered = new Promise<{ connection: MqttConnection; connack: IConnackPacket }>((resolve, reject) => {
    socket.once(ca === undefined ? 'connect' : 'secureConnect', () => connection.send(packet));
    connection.onPacket = (answer) => {
      if (answer.cmd === 'connack') resolve({ connection, connack: answer });
    };
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The connection was closed before CONNACK.')));
  });
  return within(answered, connackMsMax, () => {
    socket.destroy();
    return `There was no CONNACK for ${clientId}.`;
  });
}

/** Connects over plain MQTT and goes; the code of the answer, undefined where there is no MQTT. */
export async function connectOnce(
  ports: { readonly mqtt?: number },
  options: ConnectOptions = {},
): Promise<number | undefined> {
  if (ports.mqtt === undefined) return undefined;
  const { connection, connack } = await connectMqtt(ports.mqtt, options);
  connection.end();
  await connection.closed;
  return connack.returnCode;
}
