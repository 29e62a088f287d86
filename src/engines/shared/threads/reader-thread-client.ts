// The main thread's side of the reader thread, which is started by the first long read. Steps of reads wait here and
// are handed over in turns by caller. The queue is bounded and shared among callers (I4); a read that has begun is
// never refused because of others.
import type { Worker } from 'node:worker_threads';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { type Asker, assertThere } from '../../../domain/callers/asker.ts';
import { FairQueue } from '../../../domain/callers/fair-queue.ts';
import { FairShare } from '../../../domain/callers/fair-share.ts';
import { buffersOf } from '../../../domain/datapoints/columns.ts';
import type { HeadPartRequest, LongReads, Reads } from '../reads/long-reads.ts';
import { PendingRequests } from './pending-requests.ts';
import type { ReadRequest, ReadResponse, ReleasedText } from './reader-protocol.ts';

interface QueuedRead {
  readonly resolve: (step: never) => void;
  readonly reject: (error: Error) => void;
}

export class ReaderThread implements LongReads {
  readonly #startWorker: () => Worker;
  readonly #share = new FairShare('reads', { aloneMax: limits.readsWaitingMax, reserve: limits.readsWaitingReserve });
  readonly #queue = new FairQueue({ share: this.#share, atOnceMax: limits.readsAtOnceMax });
  /** Steps that the thread is working on. */
  readonly #pendingRequests = new PendingRequests<QueuedRead>();
  #worker: Worker | undefined;
  /** Buffers of texts that came from the thread. */
  readonly #texts = new WeakSet<ArrayBufferLike>();
  #isClosed = false;
  #made = 0;
  #dropped = 0;

  /** @param startWorker starts the engine's reader thread. */
  constructor(startWorker: () => Worker) {
    this.#startWorker = startWorker;
  }

  async ask<Kind extends keyof Reads>(
    kind: Kind,
    query: Reads[Kind]['query'],
    { asker, partOf }: { readonly asker: Asker; readonly partOf: () => HeadPartRequest },
  ): Promise<Reads[Kind]['step']> {
    if (this.#isClosed) throw stopping();
    // Reads that have begun are not bounded here, but by the memory reserved for their answers (answerBytesMax).
    if (!(await this.#queue.acquire(asker.caller, { isBegun: query.after !== undefined }))) throw tooMany();
    try {
      this.#assertThere(asker);
      this.#made += 1;
      return await this.#read(kind, query, partOf());
    } finally {
      this.#queue.release();
    }
  }

  get made(): number {
    return this.#made;
  }

  get dropped(): number {
    return this.#dropped;
  }

  get waiting(): number {
    return this.#share.held;
  }

  #assertThere(asker: Asker): void {
    try {
      assertThere(asker);
    } catch (error) {
      this.#dropped += 1;
      throw error;
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

  release({ buffer }: Uint8Array): void {
    if (!this.#texts.delete(buffer)) return;
    this.#worker?.postMessage({ spent: buffer as ArrayBuffer } satisfies ReleasedText, [buffer as ArrayBuffer]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
    this.#end(stopping());
  }

  #start(): Worker {
    const worker = this.#startWorker();
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
  return busy('More is read than can be answered. Send the request again.');
}

function stopping(): Refusal {
  return busy('The service is stopping. Send the request again.');
}

function busy(detail: string): Refusal {
  return new Refusal('busy', detail, { retryAfterS: limits.busyRetryAfterS });
}
