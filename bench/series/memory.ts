// The most memory that the measured server has had, over several processes where it was started again.
import type { ServerProcess } from '../server-process.ts';

const sampleMs = 500;
const mbOfMib = 1.048576;

export class Memory {
  #server: ServerProcess;
  readonly #samples: NodeJS.Timeout;
  peakMb = 0;
  sampledMb = 0;

  constructor(server: ServerProcess) {
    this.#server = server;
    this.#samples = setInterval(() => this.#sample(), sampleMs);
  }

  /** Looks now; before a process ends, because nobody knows afterwards. */
  note(): void {
    this.#sample();
    this.peakMb = larger(this.peakMb, this.#server.peakMib() * mbOfMib);
  }

  follow(server: ServerProcess): void {
    this.#server = server;
  }

  end(): void {
    clearInterval(this.#samples);
  }

  #sample(): void {
    this.sampledMb = larger(this.sampledMb, this.#server.rssMib() * mbOfMib);
  }
}

/** NaN, of a process that is gone, counts for nothing. */
function larger(a: number, b: number): number {
  return b > a ? b : a;
}
