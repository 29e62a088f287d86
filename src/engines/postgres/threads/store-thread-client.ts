// The main thread's side of the store thread, which encodes and changes chunks: sealing, removals, corrections, retention.
// Started by the first work.
import { Worker } from 'node:worker_threads';
import { Refusal } from '../../../base/refusal.ts';
import { threadHeap } from '../../../base/threads/thread-heap.ts';
import { PendingRequests } from '../../shared/threads/pending-requests.ts';
import { stoppingRefusal } from '../../shared/write-failure.ts';
import type { SharedDistribution } from '../database/distributed-tables.ts';
import { type Store, StoreFailure } from '../log/store.ts';
import type { StoreRequest, StoreResponse, StoreWork } from '../log/store-protocol.ts';
import type { StoreData } from './store-thread.ts';

interface Asked {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

export class StoreThread implements Store {
  readonly #url: string;
  readonly #chunkVersion: () => number;
  readonly #distribution: SharedDistribution;
  /** Bounded by those who ask: one pass, edits in turns, one round of retention. */
  readonly #asked = new PendingRequests<Asked>();
  #worker: Worker | undefined;
  #isClosed = false;

  /** @param options `chunkVersion`: the version in which every server reads chunks; `distribution`: what statements go by. */
  constructor(
    url: string,
    { chunkVersion, distribution }: { readonly chunkVersion: () => number; readonly distribution: SharedDistribution },
  ) {
    this.#url = url;
    this.#chunkVersion = chunkVersion;
    this.#distribution = distribution;
  }

  ask<Kind extends keyof StoreWork>(kind: Kind, order: StoreWork[Kind]['order']): Promise<StoreWork[Kind]['result']> {
    if (this.#isClosed) return Promise.reject(stoppingRefusal());
    this.#worker ??= this.#start();
    return new Promise((resolve, reject) => {
      const id = this.#asked.add({ resolve, reject });
      this.#worker?.postMessage({ id, kind, order, chunkVersion: this.#chunkVersion() } as StoreRequest);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
    this.#end(stoppingRefusal());
  }

  #start(): Worker {
    const worker = new Worker(new URL('./store-thread.ts', import.meta.url), {
      workerData: { url: this.#url, distribution: this.#distribution.memory } satisfies StoreData,
      resourceLimits: threadHeap(),
    });
    worker.on('message', (response: StoreResponse) => this.#take(response));
    worker.on('error', (error) => {
      this.#worker = undefined;
      this.#end(new StoreFailure({ kind: 'internal', message: (error as Error).message }));
    });
    worker.unref();
    return worker;
  }

  #take(response: StoreResponse): void {
    const asked = this.#asked.take(response.id);
    if ('result' in response) asked?.resolve(response.result as never);
    else if ('refusal' in response) asked?.reject(new Refusal(response.refusal.code, response.refusal.message));
    else asked?.reject(new StoreFailure(response.failure));
  }

  #end(error: Error): void {
    for (const { reject } of this.#asked.takeAll()) reject(error);
  }
}
