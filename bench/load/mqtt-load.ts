// MQTT 3.1.1 over raw sockets: publishes of QoS 1, or 2, made once and patched in place, a window of them outstanding on each
// connection, acknowledgements read four bytes at a time. Cheaper than what it measures.
import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { Latencies } from '../figures.ts';
import type { LoadResult } from './load.ts';
import { Pacer, paceMs } from './pacer.ts';
import { type NextReading, readingText } from './readings.ts';

export interface MqttLoadOptions {
  readonly port: number;
  readonly clients: number;
  /** Publishes outstanding on each connection. */
  readonly window: number;
  readonly topics: readonly string[];
  /** QoS 1 by default; with 2 a publish is done at its PUBCOMP. */
  readonly publishQos?: 1 | 2;
  /** Whether the sessions are kept when their connections end. */
  readonly isKept?: boolean;
  readonly login: { readonly username: string; readonly password: string } | undefined;
  /** Publishes a second over all connections, where it is not to be as fast as it goes. */
  readonly perS?: number;
  /** What is published; always of the same length. */
  readonly reading?: NextReading;
}

const answersMsMax = 60_000;

export class MqttLoad {
  readonly #options: MqttLoadOptions;

  constructor(options: MqttLoadOptions) {
    this.#options = options;
  }

  /** Publishes for so many seconds, then waits for the acknowledgements still due. */
  async run(seconds: number): Promise<LoadResult> {
    const tally = new Tally();
    const { perS } = this.#options;
    const lines = Array.from({ length: this.#options.clients }, (_, i) => new Line(this.#options, i, tally));
    // The first sign-in is checked at length; the others find it remembered.
    for (const line of lines.slice(0, 1)) await line.open();
    await Promise.all(lines.slice(1).map((line) => line.open()));
    const cpu = process.cpuUsage();
    tally.endMs = performance.now() + seconds * 1000;
    const stopPacing = perS === undefined ? sendAll(lines) : pace(lines, perS);
    const deadline = setTimeout(
      () => {
        for (const line of lines) line.close();
      },
      seconds * 1000 + answersMsMax,
    );
    const clock = new Promise<NodeJS.CpuUsage>((resolve) =>
      setTimeout(() => {
        tally.endMs = Math.min(tally.endMs, performance.now());
        stopPacing();
        resolve(process.cpuUsage(cpu));
      }, seconds * 1000),
    );
    const [used] = await Promise.all([clock, ...lines.map((line) => line.done)]);
    clearTimeout(deadline);
    return {
      sent: tally.sent,
      acknowledged: tally.acknowledged,
      refused: new Map(),
      acknowledgedInTime: tally.acknowledgedInTime,
      elapsedS: seconds,
      latencies: tally.latencies,
      generatorCpuS: (used.user + used.system) / 1e6,
    };
  }
}

function sendAll(lines: readonly Line[]): () => void {
  for (const line of lines) line.send(Number.POSITIVE_INFINITY);
  return () => {};
}

/** Publishes on the lines in turn, as publishes become due; what is called at the end closes those with nothing due. */
function pace(lines: readonly Line[], perS: number): () => void {
  const pacer = new Pacer(perS);
  let turn = 0;
  let lastMs = performance.now();
  const ticks = setInterval(() => {
    const nowMs = performance.now();
    // A tick that comes late, because others had the processor, makes up for those that did not come.
    const share = Math.ceil((perS * Math.max(paceMs, nowMs - lastMs)) / 1000 / lines.length);
    lastMs = nowMs;
    for (let tried = 0; tried < lines.length; tried++) {
      const line = lines[turn++ % lines.length] as Line;
      line.send(pacer.take(Math.min(share, line.free)));
    }
  }, paceMs);
  return () => {
    clearInterval(ticks);
    for (const line of lines) line.endIfDone();
  };
}

class Tally {
  sent = 0;
  acknowledged = 0;
  acknowledgedInTime = 0;
  readonly latencies = new Latencies();
  endMs = Number.POSITIVE_INFINITY;
}

const connack = 0x20;
const puback = 0x40;
const pubrec = 0x50;
const pubcomp = 0x70;
const pubrel = 0x62;
const answerBytes = 4;

/** One connection. Packet ids are the places of the window, from 1. */
class Line {
  readonly #options: MqttLoadOptions;
  readonly #index: number;
  readonly #tally: Tally;
  /** For each place one packet or, where there are more topics than places, several in turn. */
  readonly #packets: readonly (readonly Buffer[])[];
  readonly #turns: Uint32Array;
  readonly #reading: NextReading;
  #free: number[];
  readonly #sentMs: Float64Array;
  readonly done: Promise<void>;
  #end: () => void = () => {};
  #connected: (error?: Error) => void = () => {};
  #socket: Socket | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #outstanding = 0;

  constructor(options: MqttLoadOptions, index: number, tally: Tally) {
    this.#options = options;
    this.#index = index;
    this.#tally = tally;
    this.#sentMs = new Float64Array(options.window);
    this.#reading = options.reading ?? readingText;
    this.#turns = new Uint32Array(options.window);
    this.#free = Array.from(this.#turns.keys());
    this.#packets = this.#free.map((place) =>
      topicsOf(options, index * options.window + place).map((topic) => {
        const payload = this.#reading();
        const qos = options.publishQos ?? 1;
        return generate({ cmd: 'publish', topic, payload, qos, dup: false, retain: false, messageId: place + 1 });
      }),
    );
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#connected = (error) => (error === undefined ? resolve() : reject(error));
      const buffer = Buffer.allocUnsafe(64 * 1024);
      const onread = { buffer, callback: (count: number) => this.#take(buffer.subarray(0, count)) };
      const socket = connect({ host: '127.0.0.1', port: this.#options.port, noDelay: true, onread });
      this.#socket = socket;
      socket.on('error', reject);
      socket.on('close', () => {
        reject(new Error('The broker closed the connection.'));
        this.#end();
      });
      const { login } = this.#options;
      socket.write(
        generate({
          cmd: 'connect',
          protocolId: 'MQTT',
          protocolVersion: 4,
          clean: this.#options.isKept !== true,
          clientId: `bench-${process.pid}-${this.#index}`,
          keepalive: 60,
          ...(login === undefined ? {} : { username: login.username, password: Buffer.from(login.password) }),
        }),
      );
    });
  }

  /** Places of the window with nothing outstanding. */
  get free(): number {
    return this.#free.length;
  }

  /** Publishes so many, as far as the window has room. */
  send(count: number): void {
    // A tick that comes late may find the line closed at the end.
    if (count > 0 && this.#free.length > 0 && this.#socket?.destroyed === false)
      this.#send(this.#free.splice(0, count));
  }

  endIfDone(): void {
    if (this.#outstanding === 0) this.close();
  }

  close(): void {
    this.#socket?.destroy();
  }

  #take(piece: Buffer): boolean {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const nowMs = performance.now();
    const freeBefore = this.#free.length;
    let at = 0;
    const releases: Buffer[] = [];
    for (; at + answerBytes <= bytes.length; at += answerBytes) {
      if (bytes[at] === puback || bytes[at] === pubcomp)
        this.#free.push(this.#acknowledge(bytes.readUInt16BE(at + 2), nowMs));
      else if (bytes[at] === pubrec)
        releases.push(Buffer.from([pubrel, 2, bytes[at + 2] as number, bytes[at + 3] as number]));
      else if (bytes[at] === connack) this.#connected(connackFault(bytes[at + 3]));
      else throw new Error(`The broker sent a packet of kind ${bytes[at]}, which nothing here asked for.`);
    }
    // The buffer is read into again, so what is left is copied.
    this.#rest = Buffer.from(bytes.subarray(at));
    if (releases.length > 0) this.#socket?.write(Buffer.concat(releases));
    if (this.#free.length === freeBefore) return true;
    if (nowMs >= this.#tally.endMs) this.endIfDone();
    else if (this.#options.perS === undefined) this.send(this.#free.length);
    return true;
  }

  #acknowledge(packetId: number, nowMs: number): number {
    const place = packetId - 1;
    this.#outstanding -= 1;
    this.#tally.acknowledged += 1;
    if (nowMs <= this.#tally.endMs) {
      this.#tally.acknowledgedInTime += 1;
      this.#tally.latencies.add(nowMs - (this.#sentMs[place] ?? nowMs));
    }
    return place;
  }

  #send(places: readonly number[]): void {
    const packets = places.map((place) => this.#next(place));
    const nowMs = performance.now();
    for (const place of places) this.#sentMs[place] = nowMs;
    this.#tally.sent += places.length;
    this.#outstanding += places.length;
    this.#socket?.write(Buffer.concat(packets));
  }

  #next(place: number): Buffer {
    const packets = this.#packets[place] as readonly Buffer[];
    const turn = this.#turns[place] as number;
    this.#turns[place] = turn + 1;
    const packet = packets[turn % packets.length] as Buffer;
    packet.write(this.#reading(), packet.length - payloadBytes, 'latin1');
    return packet;
  }
}

/** The topics of a place among all places of all lines. */
function topicsOf({ topics, clients, window }: MqttLoadOptions, place: number): string[] {
  const own: string[] = [];
  for (let n = place; n < topics.length; n += clients * window) own.push(topics[n] as string);
  return own.length > 0 ? own : [topics[place % topics.length] ?? ''];
}

/** The payload is what a packet ends with; the timestamp must move on, or all would land in one place of the store. */
const payloadBytes = readingText().length;

function connackFault(code: number | undefined): Error | undefined {
  return code === 0 ? undefined : new Error(`The broker refused the connection with code ${code}.`);
}
