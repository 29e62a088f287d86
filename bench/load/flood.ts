// Load that never lets up: more connections, or more outstanding on each, than the service can keep up with. A connection
// that is cut comes back after a second, as a device does. Or load at a rate, which goes on whatever is answered. What is told each second shows whether an overload ends.
import { connect, type Socket } from 'node:net';
import { Latencies } from '../figures.ts';
import { Pacer } from './pacer.ts';

/** What became of the load since it was last asked. */
export interface FloodInterval {
  /** Datapoints acknowledged. */
  readonly acknowledged: number;
  /** Datapoints of requests answered with anything but success. */
  readonly refused: number;
  /** Connections that the service ended. */
  readonly cut: number;
  readonly latencies: Latencies;
}

export class FloodTally {
  #acknowledged = 0;
  #refused = 0;
  #cut = 0;
  #latencies = new Latencies();

  add(datapoints: number, ms: number): void {
    this.#acknowledged += datapoints;
    this.#latencies.add(ms);
  }

  refuse(datapoints: number): void {
    this.#refused += datapoints;
  }

  cut(): void {
    this.#cut += 1;
  }

  take(): FloodInterval {
    const taken = {
      acknowledged: this.#acknowledged,
      refused: this.#refused,
      cut: this.#cut,
      latencies: this.#latencies,
    };
    this.#acknowledged = 0;
    this.#refused = 0;
    this.#cut = 0;
    this.#latencies = new Latencies();
    return taken;
  }
}

const comeBackMs = 1_000;
/** How often a line with a rate looks what is due, milliseconds. */
const paceMs = 5;

/** One connection of a flood; the kinds say what it sends and how it reads. */
export abstract class FloodLine {
  readonly #port: number;
  protected readonly tally: FloodTally;
  protected socket: Socket | undefined;
  #isOver = false;
  /** Whether it was ever answered: its client is signed in. */
  isUnderWay = false;
  #pacing: NodeJS.Timeout | undefined;

  constructor(port: number, tally: FloodTally) {
    this.#port = port;
    this.tally = tally;
  }

  open(): void {
    const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.isUnderWay = true;
      this.take(bytes);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(this.#pacing);
      if (this.#isOver) return;
      this.tally.cut();
      setTimeout(() => {
        if (!this.#isOver) this.open();
      }, comeBackMs);
    });
    this.begin();
  }

  close(): void {
    this.#isOver = true;
    clearInterval(this.#pacing);
    this.socket?.destroy();
  }

  /** Sends so many a second on this connection from now on, whatever is answered. */
  protected pace(perS: number, send: (most: number) => void): void {
    const pacer = new Pacer(perS);
    this.#pacing = setInterval(() => {
      const due = pacer.take(Number.POSITIVE_INFINITY);
      if (due > 0) send(due);
    }, paceMs);
  }

  /** A new connection: sends its first bytes. */
  protected abstract begin(): void;
  protected abstract take(bytes: Buffer): void;
}
