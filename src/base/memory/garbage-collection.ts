// Triggers garbage collection for large buffers that are no longer used: parsed bodies, transferred columns. To V8
// each is a small object, so V8 alone collects them late, and the process grows by hundreds of megabytes. Code that
// releases many of them reports it here; each thread counts its own.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { limits } from '../../config/limits.ts';

const MIB = 1024 * 1024;

/**
 * Released bytes after which a collection runs: about the memory of a few requests. Often enough that little garbage
 * waits, and rare enough that a collection finds few live objects to copy.
 */
const collectBytes = 4 * MIB;
/**
 * In threads other than the main one, a major collection follows when buffers take so many bytes more than after the last one:
 * they have survived minor ones. Not every few collections: where all buffers are short-lived it frees nothing, and still
 * goes through all objects.
 */
const survivingBytesMax = () => limits.threadOldMib * (MIB / 8);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: {
  readonly type: 'minor' | 'major';
  readonly flavor?: 'last-resort';
}) => void;
let resting: NodeJS.Timeout | undefined;
let spentBytes = 0;
/** Bytes of buffers after the last major collection; NaN until the next one. */
let survivingBytes = 0;

/**
 * Must be called before anything else starts.
 *
 * Switches off pretenuring: V8 allocates objects directly in the old generation if earlier ones from the same place
 * survived. A few bursts would make it do so for the objects of each push, and whatever such an object refers to stays
 * until a major collection, so that later ones seem to survive as well.
 *
 * Limits the young generation of threads that start from now on: they would inherit the main thread's size from the
 * command line, whatever their own resource limits say.
 */
export function configureGarbageCollector(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--max-semi-space-size=${limits.threadYoungMib / 2}`);
  setFlagsFromString('--min-semi-space-size=0');
}

/**
 * Reports that about so many bytes of buffers will be unused when this is called next; collects once enough have
 * gathered.
 */
export function reportReleasedBytes(bytes: number): void {
  spentBytes += bytes;
  clearTimeout(resting);
  if (spentBytes < collectBytes) return;
  spentBytes = 0;
  // Only minor collections on the main thread: a major one would go through all caches and hold up requests.
  const isMajor = !isMainThread && haveSurvived();
  collect({ type: isMajor ? 'major' : 'minor' });
  if (isMajor) survivingBytes = Number.NaN;
}

/** Whether minor collections have left many buffers. */
function haveSurvived(): boolean {
  const { external_memory: bytes } = getHeapStatistics();
  survivingBytes = Number.isNaN(survivingBytes) ? bytes : Math.min(survivingBytes, bytes);
  return bytes - survivingBytes > survivingBytesMax();
}

/** Called where memory is scarce: a major collection holds this thread up for some tens of milliseconds. */
export function collectWhenScarce(): void {
  spentBytes = 0;
  collect({ type: 'major' });
}

/**
 * Called when this thread has nothing to do for a while. Returns its memory to the system if it stays idle, which takes
 * several collections.
 */
export function collectWhenIdle(): void {
  spentBytes = 0;
  collect({ type: 'major' });
  clearTimeout(resting);
  resting = setTimeout(() => collect({ type: 'major', flavor: 'last-resort' }), limits.threadRestMs);
  resting.unref();
}

/**
 * Called once this thread has started, and in a quiet time after a load. Frees what that has left, which would otherwise
 * stay until V8 needs it: after the start a third of the process's memory.
 */
export function collectWhenQuiet(): void {
  spentBytes = 0;
  collect({ type: 'major', flavor: 'last-resort' });
}

/** As `collectWhenQuiet`, a second later: the start of the service must not wait for it. */
export function collectSoonAfterStart(): void {
  setTimeout(collectWhenQuiet, limits.threadRestMs).unref();
}
