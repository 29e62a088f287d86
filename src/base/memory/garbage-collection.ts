// Memory of buffers that nobody uses any more: bodies that were read, columns that were handed over. Each is a few bytes to
// the engine and megabytes to the system, so that left alone the engine collects them late and the process grows by
// hundreds of megabytes. Who lets go of many says so here; each thread counts its own.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { limits } from '../../config/limits.ts';

/** Of a few requests: what waits at most, and often enough that a collection finds little to keep, which is what it costs. */
const collectBytes = 4 * 1024 * 1024;
/** In threads that hold little else, those that outlived the collections before are looked for as often as that. */
const majorEvery = 4;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: {
  readonly type: 'minor' | 'major';
  readonly flavor?: 'last-resort';
}) => void;
/** Nothing more comes for so many milliseconds. */
const restMs = 1_000;

let resting: NodeJS.Timeout | undefined;
let spentBytes = 0;
let collections = 0;

/**
 * To be called before anything else starts.
 *
 * No object begins its life among the old ones: the engine puts those there at once whose like lived on before. A few bursts
 * make it think so of what belongs to each push; then whatever such an object refers to is kept until all of the heap is
 * gone through, so that the next ones seem to live on as well.
 *
 * Threads that start from now on make do with little room for young objects. The room that the command line allows the
 * main thread would be theirs too, whatever their own limits say.
 */
export function configureGarbageCollector(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--max-semi-space-size=${limits.threadYoungMib / 2}`);
}

/** Tells that buffers of about so many bytes will not be used again by the time of the next call. */
export function reportReleasedBytes(bytes: number): void {
  spentBytes += bytes;
  clearTimeout(resting);
  if (spentBytes < collectBytes) return;
  spentBytes = 0;
  collections += 1;
  // The main thread holds the registry and whatever is cached: to go through all of that would hold up requests.
  collect({ type: !isMainThread && collections % majorEvery === 0 ? 'major' : 'minor' });
}

/**
 * Tells that this thread has nothing to do for a while. What it took for its work goes back to the system, if it really
 * stays so: that takes several collections.
 */
export function collectWhenIdle(): void {
  spentBytes = 0;
  collect({ type: 'major' });
  clearTimeout(resting);
  resting = setTimeout(() => collect({ type: 'major', flavor: 'last-resort' }), restMs);
  resting.unref();
}

/**
 * Tells that this thread has started, and will not do again what it did for that. All that can go does, and the heap shrinks:
 * without this the garbage of a start stays until a quiet time, a third of the memory of the process.
 */
export function collectAfterStart(): void {
  spentBytes = 0;
  collect({ type: 'major', flavor: 'last-resort' });
}
