// A disk on which each sync takes some milliseconds longer: a library that is preloaded into the measured process. Used by
// sections/overload.ts.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const compiler = 'cc';

/**
 * Builds the library in the folder.
 * @returns the environment of the process; undefined where there is no C compiler, or no Linux.
 */
export function slowDisk(folder: string, syncMs: number): Readonly<Record<string, string>> | undefined {
  if (process.platform !== 'linux') return undefined;
  const library = join(folder, 'slow-disk.so');
  const source = join(import.meta.dirname, 'slow-disk.c');
  try {
    execFileSync(compiler, ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', library, source]);
  } catch {
    return undefined;
  }
  return { LD_PRELOAD: library, SLOW_DISK_MS: String(syncMs) };
}
