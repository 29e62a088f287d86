// A connection of MQTT of which a test sees every byte, over TCP or WebSocket: for tables of packets.
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import WebSocket, { createWebSocketStream } from 'ws';

export type Way = 'in one piece' | 'byte by byte' | 'over WebSocket';

/** Where a server listens. */
export interface Doors {
  readonly running: { readonly ports: { readonly http?: number; readonly mqtt?: number } };
}

export class LetterConnection {
  bytes = Buffer.alloc(0);
  readonly #closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #way: Way;
  #waiting: (() => void)[] = [];

  private constructor(stream: Duplex, way: Way) {
    this.#stream = stream;
    this.#way = way;
    this.#closed = new Promise((resolve) => stream.once('close', () => resolve()));
    stream.on('data', (chunk: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, chunk]);
      this.#wake();
    });
    stream.on('error', () => {});
    // As over TCP, where the other end has closed this one does too.
    stream.on('end', () => stream.end());
    void this.#closed.then(() => this.#wake());
  }

  /** @param from the address of the client, over TCP. */
  static async open(server: Doors, way: Way, from = '127.0.0.1'): Promise<LetterConnection> {
    const { http, mqtt = 0 } = server.running.ports;
    if (way === 'over WebSocket') {
      const webSocket = new WebSocket(`ws://127.0.0.1:${http}/mqtt`, 'mqtt');
      const stream = createWebSocketStream(webSocket);
      const connection = new LetterConnection(stream, way);
      await new Promise((resolve, reject) => webSocket.once('open', resolve).once('error', reject));
      return connection;
    }
    const socket: Socket = connect({ host: '127.0.0.1', port: mqtt, noDelay: true, localAddress: from });
    const connection = new LetterConnection(socket, way);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return connection;
  }

  /** Sends the bytes; those that come after the end are lost. */
  async send(bytes: Buffer): Promise<void> {
    // Of long packets the ends alone: each of their bytes is the same.
    const size = this.#way === 'byte by byte' && bytes.length < 200 ? 1 : bytes.length;
    for (let at = 0; at < bytes.length && this.#stream.writable; at += size) {
      this.#stream.write(bytes.subarray(at, at + size));
      if (size === 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Resolves when so many bytes have come, or the connection is closed. */
  async received(count: number): Promise<void> {
    while (this.bytes.length < count && !this.#stream.closed) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Resolves when the service has closed the connection. @throws Error with this text where it does not. */
  async ended(what: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#stream.destroy();
        reject(new Error(`is open still: ${what}; it answered ${this.bytes.toString('hex')}`));
      }, 20_000);
    });
    await Promise.race([this.#closed, tooLong]);
    clearTimeout(timer);
  }

  get isClosed(): boolean {
    return this.#stream.closed;
  }

  async cut(): Promise<void> {
    this.#stream.destroy();
    await this.#closed;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
