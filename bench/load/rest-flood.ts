// A flood over HTTP/1.1: so many requests outstanding on each connection, one after the other or pipelined.
import { FloodLine, type FloodTally } from './flood.ts';

export interface RestFloodOptions {
  readonly port: number;
  readonly connections: number;
  /** Requests outstanding on each connection. */
  readonly depth: number;
  /** Requests a second on each connection, whatever is answered; undefined: `depth` outstanding at any time. */
  readonly perS?: number;
  /** Datapoints of a request. */
  readonly weight: number;
  /** The next request, head and body, in Latin-1. */
  readonly next: () => string;
}

export function openRestFlood(options: RestFloodOptions, tally: FloodTally): FloodLine[] {
  return Array.from({ length: options.connections }, () => {
    const line = new RestLine(options, tally);
    line.open();
    return line;
  });
}

class RestLine extends FloodLine {
  readonly #options: RestFloodOptions;
  #sentMs: number[] = [];
  #text = '';

  constructor(options: RestFloodOptions, tally: FloodTally) {
    super(options.port, tally);
    this.#options = options;
  }

  protected begin(): void {
    this.#sentMs = [];
    this.#text = '';
    const { depth, perS } = this.#options;
    if (perS === undefined) this.#send(depth);
    else this.pace(perS, (due) => this.#send(due));
  }

  #send(count: number): void {
    const nowMs = performance.now();
    const requests: string[] = [];
    for (let n = 0; n < count; n += 1) {
      requests.push(this.#options.next());
      this.#sentMs.push(nowMs);
    }
    this.socket?.write(requests.join(''), 'latin1');
  }

  protected take(bytes: Buffer): void {
    const { weight } = this.#options;
    this.#text += bytes.toString('latin1');
    const nowMs = performance.now();
    let answered = 0;
    let at = 0;
    for (;;) {
      const headEnd = this.#text.indexOf('\r\n\r\n', at);
      if (headEnd < 0) break;
      const isStored = this.#text.startsWith('20', at + 9);
      const head = isStored ? '' : this.#text.slice(at, headEnd);
      const end = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (end > this.#text.length) break;
      const sentMs = this.#sentMs.shift() ?? nowMs;
      if (isStored) this.tally.add(weight, nowMs - sentMs);
      else this.tally.refuse(weight);
      answered += 1;
      at = end;
    }
    this.#text = this.#text.slice(at);
    if (answered > 0 && this.#options.perS === undefined) this.#send(answered);
  }
}
