// The main thread's side of the search thread, which is started by the first search. One search runs at a time; waiting
// ones are served in turns by caller. The queue is bounded, in total and for each caller; a thread that does not answer
// is replaced.
import { Worker } from 'node:worker_threads';
import type { Refusal } from '../../../base/refusal.ts';
import { threadHeap } from '../../../base/threads/thread-heap.ts';
import { limits } from '../../../config/limits.ts';
import type { HeadLastSeen } from '../../shared/head/head-last-seen.ts';
import type { SearchOptions } from '../../shared/registry/registry.ts';
import { SearchQueue, searchRefusal, searchTooLong } from '../../shared/registry/search-queue.ts';
import type { SqlValue } from '../database/database-writer.ts';
import type { SearchRequest, SearchResponse } from './search-protocol.ts';

interface Search extends SearchOptions {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: Error) => void;
}

export class SearchThread {
  readonly #path: string;
  readonly #lastSeen: HeadLastSeen;
  readonly #waiting = new SearchQueue<Search>();
  #running: (Search & { readonly id: number; readonly timer: NodeJS.Timeout }) | undefined;
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;
  /** True where sensors were moved to other devices since the index was last used. */
  #hasMoved = false;
  /** Devices that have lost a sensor since then. */
  #lost = new Set<number>();

  constructor(parts: { readonly path: string; readonly lastSeen: HeadLastSeen }) {
    this.#path = parts.path;
    this.#lastSeen = parts.lastSeen;
  }

  /** Runs a query and returns its rows. @throws Refusal `busy` when too many wait, the search took too long, or its asker has gone. */
  run(
    query: { readonly sql: string; readonly parameters: readonly SqlValue[] },
    options: SearchOptions,
  ): Promise<readonly unknown[]> {
    if (this.#isClosed) return Promise.reject(stopping());
    try {
      this.#waiting.assertRoom(options.caller);
    } catch (error) {
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.add({ ...query, ...options, resolve, reject });
      this.#startNext();
    });
  }

  /** Sensors were moved to other devices: the next search that asks when devices were last seen makes that index anew. */
  sensorsMoved(): void {
    this.#hasMoved = true;
  }

  /** A sensor of the device was removed: the next such search counts its others anew; all devices where there are many. */
  sensorRemoved(device: number): void {
    this.#lost.add(device);
    if (this.#lost.size <= limits.recountedDevicesMax) return;
    this.#lost.clear();
    this.#hasMoved = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#end(stopping());
    this.#waiting.rejectAll(stopping());
    await worker?.terminate();
  }

  #startNext(): void {
    if (this.#running !== undefined) return;
    const search = this.#waiting.next();
    if (search === undefined) return;
    this.#worker ??= this.#start();
    this.#lastId += 1;
    const id = this.#lastId;
    const { sql, parameters } = search;
    const usesIndex = sql.includes('device_last_seen(');
    const isMoved = usesIndex && this.#hasMoved;
    if (isMoved) this.#lastSeen.forget();
    if (usesIndex) this.#hasMoved = false;
    const lastSeen = usesIndex ? this.#lastSeen.since() : undefined;
    const lost = usesIndex ? [...this.#lost] : [];
    if (usesIndex) this.#lost.clear();
    // `within_time` is not called while SQLite sorts, or spends all its time on one row: then the thread is ended.
    const timer = setTimeout(() => this.#giveUp(), limits.searchMsMax + limits.searchEndMsMax).unref();
    this.#running = { ...search, id, timer };
    const request: SearchRequest = { id, sql, parameters, lastSeen, isMoved, lost };
    this.#worker.postMessage(request, lastSeen === undefined ? [] : [lastSeen.buffer as ArrayBuffer]);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./search-thread.ts', import.meta.url), {
      workerData: { path: this.#path },
      resourceLimits: threadHeap(),
    });
    worker.on('message', (response: SearchResponse) => this.#take(response));
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#end(error as Error);
    });
    worker.unref();
    return worker;
  }

  #take(response: SearchResponse): void {
    const running = this.#running;
    if (running?.id !== response.id) return;
    clearTimeout(running.timer);
    this.#running = undefined;
    if ('rows' in response) running.resolve(response.rows);
    else running.reject('refusal' in response ? searchRefusal(response.refusal) : new Error(response.fault));
    this.#startNext();
  }

  #giveUp(): void {
    const worker = this.#worker;
    this.#end(searchTooLong());
    worker?.terminate().catch(() => {});
  }

  /** The thread has ended. The next search starts another, which builds its last-seen index again. */
  #end(error: Error): void {
    const running = this.#running;
    this.#worker = undefined;
    this.#running = undefined;
    this.#lastSeen.forget();
    if (running !== undefined) {
      clearTimeout(running.timer);
      running.reject(error);
    }
    if (!this.#isClosed) this.#startNext();
  }
}

function stopping(): Refusal {
  return searchRefusal('The service is stopping. Send the request again.');
}
