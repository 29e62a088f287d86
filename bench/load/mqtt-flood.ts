// A flood over MQTT 3.1.1: each client keeps its window of QoS 1 publishes full.
import { generate } from 'mqtt-packet';
import { FloodLine, type FloodTally } from './flood.ts';
import { readingText } from './readings.ts';

export interface MqttFloodOptions {
  readonly port: number;
  readonly clients: number;
  readonly window: number;
  /** Publishes a second of each client, whatever is answered, up to the window; undefined: the window is kept full. */
  readonly perS?: number;
  readonly topics: readonly string[];
  readonly login: { readonly username: string; readonly password: string };
}

const connack = 0x20;
const puback = 0x40;
const answerBytes = 4;

/** Connections are made a few at a time: signing in is not what is measured. */
export function openMqttFlood(options: MqttFloodOptions, tally: FloodTally): FloodLine[] {
  const heads = headsOf(options.topics);
  const lines = Array.from({ length: options.clients }, (_, n) => new MqttLine({ options, heads }, n, tally));
  for (const [n, line] of lines.entries()) setTimeout(() => line.open(), n);
  return lines;
}

class MqttLine extends FloodLine {
  readonly #options: MqttFloodOptions;
  readonly #heads: readonly Buffer[];
  readonly #index: number;
  readonly #sentMs: Float64Array;
  #rest: Buffer = Buffer.alloc(0);
  /** Places of the window that are free, where a rate says when they are used. */
  #free: number[] = [];

  constructor(
    { options, heads }: { readonly options: MqttFloodOptions; readonly heads: readonly Buffer[] },
    index: number,
    tally: FloodTally,
  ) {
    super(options.port, tally);
    this.#options = options;
    this.#heads = heads;
    this.#index = index;
    this.#sentMs = new Float64Array(options.window);
  }

  protected begin(): void {
    this.#rest = Buffer.alloc(0);
    const { username, password } = this.#options.login;
    this.socket?.write(
      generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 4,
        clean: true,
        clientId: `flood-${this.#index}`,
        keepalive: 60,
        username,
        password: Buffer.from(password),
      }),
    );
  }

  protected take(piece: Buffer): void {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const nowMs = performance.now();
    const free: number[] = [];
    let at = 0;
    for (; at + answerBytes <= bytes.length; at += answerBytes) {
      if (bytes[at] === connack) this.#beginPacing();
      if (bytes[at] === connack) for (let place = 0; place < this.#options.window; place += 1) free.push(place);
      if (bytes[at] !== puback) continue;
      const place = bytes.readUInt16BE(at + 2) - 1;
      free.push(place);
      this.tally.add(1, nowMs - (this.#sentMs[place] ?? nowMs));
    }
    this.#rest = bytes.subarray(at);
    if (this.#options.perS === undefined) this.#send(free, nowMs);
    else this.#free = this.#free.concat(free);
  }

  #beginPacing(): void {
    this.#free = [];
    const { perS } = this.#options;
    if (perS === undefined) return;
    this.pace(perS, (due) => this.#send(this.#free.splice(0, due), performance.now()));
  }

  #send(places: readonly number[], nowMs: number): void {
    if (places.length === 0) return;
    const { window } = this.#options;
    const heads = places.map((place) => this.#heads[(this.#index * window + place) % this.#heads.length] as Buffer);
    const packets = Buffer.allocUnsafe(heads.reduce((bytes, head) => bytes + head.length + idBytes + payloadBytes, 0));
    let at = 0;
    for (const [n, place] of places.entries()) {
      this.#sentMs[place] = nowMs;
      at += (heads[n] as Buffer).copy(packets, at);
      at = packets.writeUInt16BE(place + 1, at);
      at += packets.write(readingText(), at, 'latin1');
    }
    this.socket?.write(packets);
  }
}

const idBytes = 2;
const payloadBytes = readingText().length;

/** A QoS 1 publish to each topic, up to the packet id: made once, because a generator must cost less than what it measures. */
function headsOf(topics: readonly string[]): Buffer[] {
  return topics.map((topic) => {
    const payload = readingText();
    const whole = generate({ cmd: 'publish', topic, payload, qos: 1, dup: false, retain: false, messageId: 1 });
    return whole.subarray(0, whole.length - payloadBytes - idBytes);
  });
}
