// A client of MQTT over TLS that may show a certificate.
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { connectOf, type Part, packet } from '../mqtt/packet-bytes.ts';
import type { TestServer } from '../test-server.ts';
import { until } from '../until.ts';
import type { Pair } from './authority.ts';

/** A connection over TLS, of which a test sees every byte. */
export class Certified {
  readonly #server: TestServer;
  readonly socket: TLSSocket;
  readonly closed: Promise<void>;
  hex = '';

  constructor(server: TestServer, pair: Partial<Pair>, options: ConnectionOptions = {}) {
    this.#server = server;
    const { cert, key } = pair;
    const { mqtts: port = 0 } = server.running.ports;
    const mine = cert === undefined || key === undefined ? {} : { cert, key };
    this.socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...mine, ...options });
    this.socket.on('data', (bytes) => {
      this.hex += bytes.toString('hex');
    });
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  /** CONNACK's code; `closed` where there is none. */
  async signIn(clientId: string, ...login: readonly Part[]): Promise<number | 'closed'> {
    const flags = 0x02 | (login.length > 0 ? 0x80 : 0) | (login.length > 1 ? 0x40 : 0);
    return this.connect(connectOf({ flags }, clientId, ...login));
  }

  async connect(bytes: Buffer): Promise<number | 'closed'> {
    this.socket.write(bytes);
    await until(() => this.hex.length >= 8 || this.socket.closed);
    return this.hex.length >= 8 ? Number.parseInt(this.hex.slice(6, 8), 16) : 'closed';
  }

  async publish(topic: string, value: unknown): Promise<void> {
    const before = this.hex.length;
    this.socket.write(packet(0x32, topic, [0, 9], Buffer.from(JSON.stringify({ value }))));
    await until(() => this.hex.length > before || this.socket.closed);
    await this.#server.running.idle();
  }

  async cut(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}
