// How much memory the process has taken that the system cannot take back: all but what is mapped from files, which is the
// code of Node.js above all (58 MiB). A container is ended for the former; of the latter it keeps what there is room for.
import { readFileSync } from 'node:fs';

/** Bytes of a page where Linux counts memory in /proc/self/statm: those of x86 and of nearly all ARM machines. */
const pageBytes = 4096;

/** Bytes. Where the system does not say it (it is no Linux), all that is resident. */
export function takenBytes(): number {
  try {
    const [, resident, shared] = readFileSync('/proc/self/statm', 'latin1').split(' ', 3).map(Number);
    const taken = ((resident as number) - (shared as number)) * pageBytes;
    if (taken > 0) return taken;
  } catch {
    // Below.
  }
  return process.memoryUsage.rss();
}
