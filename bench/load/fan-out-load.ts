// Publishers with a window each, and subscribers that count what they are sent, or never read. The rate is that of
// deliveries, from the first to the last; the latency that of PUBACK. Subscribers only find the ends of packets, so that
// they cost less than what is measured.
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import type { LoadResult } from './load.ts';
import { MqttLoad, type MqttLoadOptions } from './mqtt-load.ts';

export interface FanOutOptions extends MqttLoadOptions {
  readonly subscribers: number;
  readonly qos: 0 | 1;
  /** Whether the subscribers never read: then publishes are counted, not deliveries. */
  readonly isDeaf?: boolean;
}

/** How long the last deliveries may take after the last publish, and how often that is looked at. */
const drainMsMax = 20_000;
const drainLookMs = 20;

/** Publishes for so many seconds; `faults` gets a line where deliveries are missing or too many. */
export async function runFanOut(options: FanOutOptions, seconds: number, faults: string[]): Promise<LoadResult> {
  const counted: Counted = { deliveries: 0, firstMs: Number.NaN, lastMs: Number.NaN };
  const subscribers = Array.from({ length: options.subscribers }, (_, n) => new Subscriber(options, n, counted));
  try {
    // The first sign-in is checked at length; the others find it remembered.
    for (const subscriber of subscribers.slice(0, 1)) await subscriber.open();
    await Promise.all(subscribers.slice(1).map((subscriber) => subscriber.open()));
    const result = await new MqttLoad(options).run(seconds);
    if (options.isDeaf === true) return result;
    const expected = result.acknowledged * options.subscribers;
    for (let waitedMs = 0; counted.deliveries < expected && waitedMs < drainMsMax; waitedMs += drainLookMs)
      await pause(drainLookMs);
    const wrong = `${counted.deliveries} of ${expected} deliveries to ${options.subscribers} subscribers came`;
    if (counted.deliveries !== expected) faults.push(wrong);
    const elapsedS = (counted.lastMs - counted.firstMs) / 1000;
    const { deliveries } = counted;
    return { ...result, sent: expected, acknowledged: deliveries, acknowledgedInTime: deliveries, elapsedS };
  } finally {
    for (const subscriber of subscribers) subscriber.close();
  }
}

interface Counted {
  deliveries: number;
  firstMs: number;
  lastMs: number;
}

const publish = 3;
const suback = 9;

class Subscriber {
  readonly #options: FanOutOptions;
  readonly #index: number;
  readonly #counted: Counted;
  #socket: Socket | undefined;
  #subscribed: () => void = () => {};
  /** The beginning of a packet that goes on in the next piece, with QoS 0 only its first bytes. */
  #rest: Buffer = Buffer.alloc(0);
  /** Whether it reads no more. */
  #isDeaf = false;
  /** Bytes of the packet under way that are still to come. */
  #skip = 0;

  constructor(options: FanOutOptions, index: number, counted: Counted) {
    this.#options = options;
    this.#index = index;
    this.#counted = counted;
  }

  /** Resolves when it has subscribed. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const { port, login, topics, qos, isDeaf } = this.#options;
      const buffer = Buffer.allocUnsafe(64 * 1024);
      const onread = { buffer, callback: (count: number) => this.#take(buffer.subarray(0, count)) };
      const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
      this.#socket = socket;
      this.#subscribed = () => {
        this.#isDeaf = isDeaf === true;
        resolve();
      };
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('The broker closed the connection of a subscriber.')));
      const subscriptions = [...new Set(topics)].map((topic) => ({ topic, qos }));
      socket.write(
        Buffer.concat([
          generate({
            ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0 },
            clientId: `hears-${process.pid}-${this.#index}`,
            ...(login === undefined ? {} : { username: login.username, password: Buffer.from(login.password) }),
          }),
          generate({ cmd: 'subscribe', messageId: 1, subscriptions }),
        ]),
      );
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #take(piece: Buffer): boolean {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const before = this.#counted.deliveries;
    const ids: number[] = [];
    let at = Math.min(this.#skip, bytes.length);
    this.#skip -= at;
    while (at + headBytes <= bytes.length) {
      const [length, head] = lengthAt(bytes, at + 1);
      const kind = (bytes[at] as number) >> 4;
      if (kind === publish) this.#counted.deliveries += 1;
      else if (kind === suback) this.#subscribed();
      const end = at + head + length;
      if (kind === publish && this.#options.qos === 1) {
        // The id stands behind the topic, so the whole packet is waited for.
        if (end > bytes.length) {
          this.#counted.deliveries -= 1;
          break;
        }
        ids.push(bytes.readUInt16BE(at + head + 2 + bytes.readUInt16BE(at + head)));
      }
      this.#skip = Math.max(0, end - bytes.length);
      at = Math.min(end, bytes.length);
    }
    // The buffer is read into again, so what is left is copied.
    this.#rest = Buffer.from(bytes.subarray(at));
    if (ids.length > 0) this.#socket?.write(acknowledgementsOf(ids));
    if (this.#counted.deliveries > before) this.#note();
    return !this.#isDeaf;
  }

  #note(): void {
    this.#counted.lastMs = performance.now();
    if (Number.isNaN(this.#counted.firstMs)) this.#counted.firstMs = this.#counted.lastMs;
  }
}

/** The bytes of the shortest packet that comes, a CONNACK; its length is known with them. */
const headBytes = 4;

/** The remaining length that stands there, and where what it counts begins, from the packet's start. */
function lengthAt(bytes: Buffer, at: number): [number, number] {
  const first = bytes[at] as number;
  return first < 0x80 ? [first, 2] : [(first & 0x7f) + ((bytes[at + 1] as number) << 7), 3];
}

function acknowledgementsOf(ids: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(ids.length * 4);
  for (const [n, id] of ids.entries()) {
    bytes.writeUInt16BE(0x4002, n * 4);
    bytes.writeUInt16BE(id, n * 4 + 2);
  }
  return bytes;
}
