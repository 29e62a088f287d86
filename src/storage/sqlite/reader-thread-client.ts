// The main thread's end of the reader thread, which is started with the first long read. Bounded (I4).
import { Worker } from 'node:worker_threads';
import { Refusal } from '../../base/refusal.ts';
import { UnderWay } from '../../base/under-way.ts';
import { limits } from '../../config/limits.ts';
import { buffersOf } from '../../domain/datapoints/columns.ts';
import type { HeadPart } from './head-part.ts';
import type { ReadAnswer, ReadOrder, Reads, SpentText } from './reader-protocol.ts';

interface Waiting {
  readonly resolve: (step: never) => void;
  readonly reject: (error: Error) => void;
}

export class ReaderThread {
  readonly #path: string;
  readonly #waiting = new UnderWay<Waiting>();
  #worker: Worker | undefined;
  /** Memory of texts that the thread has handed over. */
  readonly #texts = new WeakSet<ArrayBufferLike>();
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * @param part what of the head may be needed; handed over, unless it is kept
   * @throws Refusal `busy` when too many wait, `damaged`
   */
  ask<Kind extends keyof Reads>(
    kind: Kind,
    query: Reads[Kind]['query'],
    { part, isKept }: { readonly part: HeadPart; readonly isKept: boolean },
  ): Promise<Reads[Kind]['step']> {
    if (this.#isClosed) return Promise.reject(stopping());
    if (this.#waiting.size >= limits.readsWaitingMax) {
      const detail = 'More is read than can be answered. Send the request again.';
      return Promise.reject(new Refusal('busy', detail, { retryAfterS: limits.busyRetryAfterS }));
    }
    this.#worker ??= this.#start();
    return new Promise((resolve, reject) => {
      const id = this.#waiting.add({ resolve, reject });
      this.#worker?.postMessage({ id, kind, query, part } as ReadOrder, isKept ? [] : buffersOf(part));
    });
  }

  /** Gives the memory of a text back to the thread; of one that is not from there, nothing happens. */
  giveBack({ buffer }: Uint8Array): void {
    if (!this.#texts.delete(buffer)) return;
    this.#worker?.postMessage({ spent: buffer as ArrayBuffer } satisfies SpentText, [buffer as ArrayBuffer]);
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
    const waiting = this.#waiting.take(answer.id);
    if ('step' in answer) {
      if ('text' in answer.step) this.#texts.add(answer.step.text.buffer);
      waiting?.resolve(answer.step as never);
    } else if ('refusal' in answer) {
      const { code, message, cause } = answer.refusal;
      waiting?.reject(new Refusal(code, message, { cause }));
    } else waiting?.reject(new Error(answer.fault));
  }

  #end(error: Error): void {
    for (const { reject } of this.#waiting.takeAll()) reject(error);
  }
}

function stopping(): Refusal {
  return new Refusal('busy', 'The service is stopping. Send the request again.');
}
