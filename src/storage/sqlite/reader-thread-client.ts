// The main thread's end of the reader thread, which is started with the first long read. Bounded (I4).
import { Worker } from 'node:worker_threads';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { RangeQuery, RangeStep } from '../../domain/datapoints/datapoint-store.ts';
import { type HeadPart, headPartFor } from './head-part.ts';
import type { ReadAnswer, ReadOrder } from './reader-protocol.ts';

interface Waiting {
  readonly resolve: (step: RangeStep) => void;
  readonly reject: (error: Error) => void;
}

export class ReaderThread {
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws Refusal `busy` when too many wait, `damaged` */
  read(query: RangeQuery, part: HeadPart): Promise<RangeStep> {
    if (this.#isClosed) return Promise.reject(stopping());
    if (this.#waiting.size >= limits.readsWaitingMax) {
      const detail = 'More is read than can be answered. Send the request again.';
      return Promise.reject(new Refusal('busy', detail, { retryAfterS: limits.busyRetryAfterS }));
    }
    this.#worker ??= this.#start();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker?.postMessage({ id, query, part: headPartFor(query, part) } satisfies ReadOrder);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
    this.#end(stopping());
  }

  #start(): Worker {
    const worker = new Worker(new URL('./reader-thread.ts', import.meta.url), {
      workerData: { path: this.#path },
      resourceLimits: { maxYoungGenerationSizeMb: limits.threadYoungMib },
    });
    worker.on('message', (answer: ReadAnswer) => this.#take(answer));
    worker.on('error', (error) => {
      this.#worker = undefined;
      this.#end(error as Error);
    });
    worker.unref();
    return worker;
  }

  #take(answer: ReadAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('step' in answer) waiting?.resolve(answer.step);
    else if ('refusal' in answer) {
      const { code, message, cause } = answer.refusal;
      waiting?.reject(new Refusal(code, message, { cause }));
    } else waiting?.reject(new Error(answer.fault));
  }

  #end(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function stopping(): Refusal {
  return new Refusal('busy', 'The service is stopping. Send the request again.');
}
