// The main thread's end of the reader thread, which is started with the first long read. Steps of reads wait here and are
// handed over for callers in turns, so that one who asks for much waits for itself. Keeps true: what waits is bounded and
// shared out (I4), and a read that has begun is not broken off because others have come.
import { Worker } from 'node:worker_threads';
import { PendingRequests } from '../../../base/pending-requests.ts';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Caller } from '../../../domain/callers/caller.ts';
import { FairQueue } from '../../../domain/callers/fair-queue.ts';
import { FairShare } from '../../../domain/callers/fair-share.ts';
import { buffersOf } from '../../../domain/datapoints/columns.ts';
import type { HeadPart } from '../head/head-part.ts';
import type { ReadRequest, ReadResponse, Reads, ReleasedText } from './reader-protocol.ts';

interface QueuedRead {
  readonly resolve: (step: never) => void;
  readonly reject: (error: Error) => void;
}

/** What of the head a read needs, and whether it is kept there for other reads. */
export interface HeadPartRequest {
  readonly part: HeadPart;
  readonly isKept: boolean;
}

export class ReaderThread {
  readonly #path: string;
  readonly #queue = new FairQueue({
    share: new FairShare('reads', { aloneMax: limits.readsWaitingMax, reserve: limits.readsWaitingReserve }),
    atOnceMax: limits.readsAtOnceMax,
  });
  /** Steps that the thread has. */
  readonly #pendingRequests = new PendingRequests<QueuedRead>();
  #worker: Worker | undefined;
  /** Memory of texts that the thread has handed over. */
  readonly #texts = new WeakSet<ArrayBufferLike>();
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Reads one step when it is the caller's turn.
   * @param partOf says then what of the head may be needed; that is handed over, unless it is kept
   * @throws Refusal `busy` when too many reads of the caller wait, `damaged`
   */
  async ask<Kind extends keyof Reads>(
    kind: Kind,
    query: Reads[Kind]['query'],
    { caller, partOf }: { readonly caller: Caller; readonly partOf: () => HeadPartRequest },
  ): Promise<Reads[Kind]['step']> {
    if (this.#isClosed) throw stopping();
    // Reads that have begun are bounded by the memory for answers that they hold (answerBytesMax).
    if (!(await this.#queue.acquire(caller, { isBegun: query.after !== undefined }))) throw tooMany();
    try {
      return await this.#read(kind, query, partOf());
    } finally {
      this.#queue.release();
    }
  }

  #read<Kind extends keyof Reads>(
    kind: Kind,
    query: Reads[Kind]['query'],
    { part, isKept }: HeadPartRequest,
  ): Promise<Reads[Kind]['step']> {
    if (this.#isClosed) return Promise.reject(stopping());
    this.#worker ??= this.#start();
    return new Promise((resolve, reject) => {
      const id = this.#pendingRequests.add({ resolve, reject });
      this.#worker?.postMessage({ id, kind, query, part } as ReadRequest, isKept ? [] : buffersOf(part));
    });
  }

  /** Gives the memory of a text back to the thread; of one that is not from there, nothing happens. */
  giveBack({ buffer }: Uint8Array): void {
    if (!this.#texts.delete(buffer)) return;
    this.#worker?.postMessage({ spent: buffer as ArrayBuffer } satisfies ReleasedText, [buffer as ArrayBuffer]);
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
    worker.on('message', (response: ReadResponse) => this.#take(response));
    worker.on('error', (error) => {
      this.#worker = undefined;
      this.#end(error as Error);
    });
    worker.unref();
    return worker;
  }

  #take(response: ReadResponse): void {
    const waiting = this.#pendingRequests.take(response.id);
    if ('step' in response) {
      if ('text' in response.step) this.#texts.add(response.step.text.buffer);
      waiting?.resolve(response.step as never);
    } else if ('refusal' in response) {
      const { code, message, cause } = response.refusal;
      waiting?.reject(new Refusal(code, message, { cause }));
    } else waiting?.reject(new Error(response.fault));
  }

  #end(error: Error): void {
    for (const { reject } of this.#pendingRequests.takeAll()) reject(error);
  }
}

function tooMany(): Refusal {
  const detail = 'More is read than can be answered. Send the request again.';
  return new Refusal('busy', detail, { retryAfterS: limits.busyRetryAfterS });
}

function stopping(): Refusal {
  return new Refusal('busy', 'The service is stopping. Send the request again.');
}
