// Memory of buffers that nobody uses any more: bodies that were read, columns that were decoded. Each is a few bytes to
// the engine and megabytes to the system, so that left alone the engine collects them late and the process grows by
// hundreds of megabytes. Who lets go of many says so here; each thread counts its own.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/** Of a few requests: what waits at most, and often enough that a collection finds little to keep, which is what it costs. */
const collectBytes = 8 * 1024 * 1024;
/** In threads that hold little else, those that outlived the collections before are looked for as often as that. */
const majorEvery = 4;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: {
  readonly type: 'minor' | 'major';
  readonly flavor?: 'last-resort';
}) => void;
let spentBytes = 0;
let collections = 0;

/** Tells that buffers of about so many bytes will not be used again by the time of the next call. */
export function noteSpent(bytes: number): void {
  spentBytes += bytes;
  if (spentBytes < collectBytes) return;
  spentBytes = 0;
  collections += 1;
  // The main thread holds the registry and whatever is cached: to go through all of that would hold up requests.
  collect({ type: !isMainThread && collections % majorEvery === 0 ? 'major' : 'minor' });
}

/** Tells that this thread has nothing to do for a while. */
export function noteRest(): void {
  spentBytes = 0;
  collect({ type: 'major' });
}

/**
 * Tells that this thread has started, and will not do again what it did for that. All that can go does, and the heap shrinks:
 * without this the garbage of a start stays until a quiet time, a third of the memory of the process.
 */
export function noteStarted(): void {
  spentBytes = 0;
  collect({ type: 'major', flavor: 'last-resort' });
}
