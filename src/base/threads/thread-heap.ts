// The heap of a thread other than the main one.
import type { ResourceLimits } from 'node:worker_threads';
import { limits } from '../../config/limits.ts';

/** For `new Worker`: how much of the process's memory the heap of the thread may take. */
export function threadHeap(): ResourceLimits {
  return { maxYoungGenerationSizeMb: limits.threadYoungMib, maxOldGenerationSizeMb: limits.threadOldMib };
}
