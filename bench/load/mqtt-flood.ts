// A flood over MQTT 3.1.1: each client keeps its window of QoS 1 publishes full.
import { generate } from 'mqtt-packet';
import { FloodLine, type FloodTally } from './flood.ts';
import { readingText } from './readings.ts';

export interface MqttFloodOptions {
  readonly port: number;
  readonly clients: number;
  readonly window: number;
  readonly topics: readonly string[];
  readonly login: { readonly username: string; readonly password: string };
}

const connack = 0x20;
const puback = 0x40;
const answerBytes = 4;

/** Connections are made a few at a time: signing in is not what is measured. */
export function openMqttFlood(options: MqttFloodOptions, tally: FloodTally): FloodLine[] {
  const lines = Array.from({ length: options.clients }, (_, n) => new MqttLine(options, n, tally));
  for (const [n, line] of lines.entries()) setTimeout(() => line.open(), n);
  return lines;
}

class MqttLine extends FloodLine {
  readonly #options: MqttFloodOptions;
  readonly #index: number;
  readonly #sentMs: Float64Array;
  #rest: Buffer = Buffer.alloc(0);

  constructor(options: MqttFloodOptions, index: number, tally: FloodTally) {
    super(options.port, tally);
    this.#options = options;
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
      if (bytes[at] === connack) for (let place = 0; place < this.#options.window; place += 1) free.push(place);
      if (bytes[at] !== puback) continue;
      const place = bytes.readUInt16BE(at + 2) - 1;
      free.push(place);
      this.tally.add(1, nowMs - (this.#sentMs[place] ?? nowMs));
    }
    this.#rest = bytes.subarray(at);
    if (free.length > 0) this.#send(free, nowMs);
  }

  #send(places: readonly number[], nowMs: number): void {
    const { topics, window } = this.#options;
    const packets = places.map((place) => {
      this.#sentMs[place] = nowMs;
      const topic = topics[(this.#index * window + place) % topics.length] ?? '';
      return generate({ cmd: 'publish', topic, payload: readingText(), qos: 1, dup: false, retain: false, messageId: place + 1 }); // biome-ignore format: one line
    });
    this.socket?.write(Buffer.concat(packets));
  }
}
