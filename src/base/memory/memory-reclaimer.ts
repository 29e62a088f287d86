// Gives memory back after a load, and collects garbage before the process reaches its ceiling. V8 collects when it
// allocates: what a burst has left on the heap, and the buffers that garbage keeps alive, would stay for as long as little
// happens. Started by server.ts; uses real time, even where a test sets another clock.
import { performance } from 'node:perf_hooks';
import { limits } from '../../config/limits.ts';
import { collectWhenQuiet, collectWhenScarce } from './garbage-collection.ts';
import { takenBytes } from './taken-memory.ts';

type Utilization = ReturnType<typeof performance.eventLoopUtilization>;

export class MemoryReclaimer {
  #timer: NodeJS.Timeout | undefined;
  #before: Utilization = performance.eventLoopUtilization();
  /** Looks in a row at which the thread had little to do. */
  #quietLooks = 0;
  /** Bytes that were taken after the last collection in a quiet time. */
  #reclaimedBytes = Number.POSITIVE_INFINITY;
  #collectedMs = Number.NEGATIVE_INFINITY;

  /** Call once the garbage of the start has been collected. */
  start(): void {
    this.#reclaimedBytes = takenBytes();
    this.#timer = setInterval(() => this.#look(), limits.memoryLookMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    this.#quietLooks = utilization <= limits.memoryQuietShare ? this.#quietLooks + 1 : 0;
    const bytes = takenBytes();
    if (this.#quietLooks >= limits.memoryQuietLooks) this.#reclaim(bytes);
    else if (bytes >= limits.processBytesMax * limits.memoryScarceShare) this.#collect();
  }

  /** In a quiet time nobody waits for a collection; it is made once after each growth. */
  #reclaim(bytes: number): void {
    if (bytes - this.#reclaimedBytes < limits.memoryReclaimedBytesMin) {
      this.#reclaimedBytes = Math.min(this.#reclaimedBytes, bytes);
      return;
    }
    this.#quietLooks = 0;
    collectWhenQuiet();
    this.#reclaimedBytes = takenBytes();
  }

  #collect(): void {
    const nowMs = performance.now();
    if (nowMs - this.#collectedMs < limits.memoryScarceMs) return;
    this.#collectedMs = nowMs;
    collectWhenScarce();
  }
}
