// Gives the threads of the process the bounds that the main thread has set for its ceiling of memory. Each thread's file
// imports this first, because other modules read bounds when they are loaded.
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { limits } from '../../config/limits.ts';

const key = 'dundun limits';

Object.assign(limits, getEnvironmentData(key));

/** Sets bounds in all threads that start from now on. */
export function passLimits(bounds: Readonly<Partial<Record<keyof typeof limits, number>>>): void {
  setEnvironmentData(key, { ...bounds });
}
