// One question at a time over a kept connection, timed from asking to the last byte. Asked by a thread of its own, because
// whatever else the load generator does would be counted as waiting: clearing away what it has sent takes it 10 to 30 ms.
import { Worker } from 'node:worker_threads';
import type { AskAnswer, AskerData } from './http-asker.ts';

interface PendingAnswer {
  readonly resolve: (ms: number) => void;
  readonly reject: (error: Error) => void;
}

export class HttpAsk {
  readonly #asker: Worker;
  #waiting: PendingAnswer | undefined;

  constructor(port: number, headers: Readonly<Record<string, string>> = {}) {
    const workerData: AskerData = { port, headers };
    this.#asker = new Worker(new URL('./http-asker.ts', import.meta.url), { workerData });
    this.#asker.on('message', (answer: AskAnswer) => {
      if (typeof answer === 'number') this.#waiting?.resolve(answer);
      else this.#waiting?.reject(new Error(answer));
    });
    this.#asker.on('error', (error) => this.#waiting?.reject(error as Error));
  }

  /** Milliseconds that the answer took. @throws Error when it is no success. */
  time(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#asker.postMessage(path);
    });
  }

  close(): void {
    void this.#asker.terminate();
  }
}
