// HTTP/1.1 over raw sockets: keep-alive connections with one request outstanding each. Its own minimal parser keeps
// the generator cheaper than what it measures.
import { connect, type Socket } from 'node:net';
import { Latencies } from '../figures.ts';
import type { LoadResult } from './load.ts';
import { Pacer, paceMs } from './pacer.ts';

/** Gives the next request, head and body, as bytes, in pieces where that saves copying, or as text in Latin-1. */
export type NextRequest = () => string | Buffer | readonly (string | Buffer)[];

const answersMsMax = 60_000;

export class HttpLoad {
  readonly #port: number;
  readonly #connections: number;
  readonly #next: NextRequest;
  readonly #weight: number;
  readonly #perS: number | undefined;

  /** `weight`: datapoints in one request; `perS`: datapoints a second, where it is not to be as fast as it goes. */
  constructor(options: {
    readonly port: number;
    readonly connections: number;
    readonly next: NextRequest;
    readonly weight?: number;
    readonly perS?: number;
  }) {
    this.#port = options.port;
    this.#connections = options.connections;
    this.#next = options.next;
    this.#weight = options.weight ?? 1;
    this.#perS = options.perS;
  }

  /** Sends for so many seconds, then waits for the answers still due. */
  async run(seconds: number): Promise<LoadResult> {
    const tally = new Tally(this.#weight);
    const waiting: Line[] = [];
    const onFree = this.#perS === undefined ? (line: Line) => line.send() : (line: Line) => void waiting.push(line);
    const lines = Array.from({ length: this.#connections }, () => new Line(this.#port, this.#next, { tally, onFree }));
    await Promise.all(lines.map((line) => line.open()));
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    tally.endMs = startMs + seconds * 1000;
    for (const line of lines) onFree(line);
    const stopPacing = this.#perS === undefined ? () => {} : pace(waiting, this.#perS / this.#weight);
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
      refused: tally.refused,
      acknowledgedInTime: tally.acknowledgedInTime,
      elapsedS: seconds,
      latencies: tally.latencies,
      generatorCpuS: (used.user + used.system) / 1e6,
    };
  }
}

/** Sends on those that wait, as requests become due; what is called at the end closes those that wait still. */
function pace(waiting: Line[], perS: number): () => void {
  const pacer = new Pacer(perS);
  const ticks = setInterval(() => {
    for (const line of waiting.splice(0, pacer.take(waiting.length))) line.send();
  }, paceMs);
  return () => {
    clearInterval(ticks);
    for (const line of waiting) line.close();
  };
}

class Tally {
  readonly weight: number;
  sent = 0;
  acknowledged = 0;
  acknowledgedInTime = 0;
  readonly refused = new Map<number, number>();
  readonly latencies = new Latencies();
  endMs = Number.POSITIVE_INFINITY;

  constructor(weight: number) {
    this.weight = weight;
  }

  answer(status: number, ms: number, nowMs: number): void {
    if (status < 200 || status > 299) {
      this.refused.set(status, (this.refused.get(status) ?? 0) + this.weight);
      return;
    }
    this.acknowledged += this.weight;
    if (nowMs > this.endMs) return;
    this.acknowledgedInTime += this.weight;
    this.latencies.add(ms);
  }
}

/** One connection. A request that gets no answer before the connection ends counts as sent and no more. */
class Line {
  readonly #port: number;
  readonly #next: NextRequest;
  readonly #tally: Tally;
  readonly #onFree: (line: Line) => void;
  readonly #answer = new AnswerReader();
  readonly done: Promise<void>;
  #end: () => void = () => {};
  #socket: Socket | undefined;
  #sentMs = 0;

  constructor(
    port: number,
    next: NextRequest,
    { tally, onFree }: { readonly tally: Tally; readonly onFree: (line: Line) => void },
  ) {
    this.#port = port;
    this.#next = next;
    this.#tally = tally;
    this.#onFree = onFree;
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const buffer = Buffer.allocUnsafe(16 * 1024);
      const onread = { buffer, callback: (count: number) => this.#take(buffer.toString('latin1', 0, count)) };
      const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true, onread }, resolve);
      this.#socket = socket;
      socket.on('error', reject);
      socket.on('close', () => this.#end());
    });
  }

  send(): void {
    const request = this.#next();
    this.#tally.sent += this.#tally.weight;
    this.#sentMs = performance.now();
    const pieces = typeof request === 'string' || Buffer.isBuffer(request) ? [request] : request;
    for (const piece of pieces) {
      if (typeof piece === 'string') this.#socket?.write(piece, 'latin1');
      else this.#socket?.write(piece);
    }
  }

  close(): void {
    this.#socket?.destroy();
  }

  #take(text: string): boolean {
    const status = this.#answer.read(text);
    if (status === undefined) return true;
    const nowMs = performance.now();
    this.#tally.answer(status, nowMs - this.#sentMs, nowMs);
    if (nowMs < this.#tally.endMs) this.#onFree(this);
    else this.close();
    return true;
  }
}

/** Finds the end of one answer; with one request outstanding there is never more than one. */
class AnswerReader {
  #text = '';

  /** The status once the answer is whole. */
  read(piece: string): number | undefined {
    const text = this.#text === '' ? piece : this.#text + piece;
    if (!isWhole(text)) {
      this.#text = text;
      return undefined;
    }
    this.#text = '';
    return Number(text.slice(9, 12));
  }
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  if (text.startsWith('204', 9)) return true;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  if (length !== undefined) return text.length >= headEnd + 4 + Number(length);
  return text.endsWith('0\r\n\r\n');
}
