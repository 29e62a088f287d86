// How large the heap of the server's main thread may become: V8 has to know before it starts, so the launcher looks for the
// ceiling of the memory by itself. Plain JavaScript, because a Node.js that is too old runs it too.
import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';

const mib = 2 ** 20;
const usualBytes = 512 * mib;
/** Below it young objects get a quarter of the usual room. */
const smallBytes = 384 * mib;
const leastBytes = 256e6;
/** @type {Readonly<Record<string, number>>} */
const units = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30, TIB: 2 ** 40 };

/**
 * Old objects may grow by three fifths before a major collection ends, and one begins at four fifths of that. Otherwise V8 begins
 * where what is left is less than the young objects take, which is always so where the heap is small and they have much room:
 * one collection behind the other (docs/decisions/0063-seldom-major-collections.md).
 */
const seldomMajor = [
  '--heap-growing-percent=60',
  '--incremental-marking-soft-trigger=80',
  '--incremental-marking-hard-trigger=95',
];

/**
 * Flags for Node.js. Old objects may take half of the ceiling, two fifths of a small one, or a third of the least (the rest is what V8 does not count: its code, buffers,
 * other threads, the database); close to such a bound V8 lets the heap grow by a third before it collects, and not to
 * four times what is alive. Young objects take so many MiB twice, a quarter of what V8 takes by itself under load, and
 * not less: what is made of a message lives until its commit, some ten milliseconds. Where young objects are collected more often
 * than that, it survives two collections, and all of it ends among the old ones (docs/decisions/0058-young-objects.md).
 * On one core nobody helps it to collect: helpers would only take turns with it.
 * @type {(env: NodeJS.ProcessEnv) => string[]}
 */
export function heapFlags(env) {
  const bytes = ceilingOf(env);
  const share = bytes < leastBytes * 1.2 ? 0.33 : bytes < smallBytes ? 0.4 : 0.5;
  const youngMib = bytes < smallBytes ? 2 : bytes < usualBytes ? 8 : 16;
  const flags = [`--min-semi-space-size=${youngMib}`, `--max-semi-space-size=${youngMib}`];
  // Who sets it for Node.js has it so.
  if (!/max[-_]old[-_]space[-_]size/.test(env['NODE_OPTIONS'] ?? ''))
    flags.push(`--max-old-space-size=${Math.floor((bytes * share) / mib)}`);
  if (bytes >= usualBytes) flags.push(...seldomMajor);
  if (availableParallelism() === 1) flags.push('--single-threaded-gc');
  return flags;
}

/**
 * The ceiling, as src/config/memory-ceiling.ts has it; a setting that is wrong counts as none here, and is refused there.
 * @type {(env: NodeJS.ProcessEnv) => number}
 */
function ceilingOf(env) {
  const [, number, unit = 'B'] = /^(\d+(?:\.\d+)?) ?([KMGT]i?B|B)?$/i.exec(settingOf(env)) ?? [];
  const set = Number(number) * (units[unit.toUpperCase()] ?? Number.NaN);
  if (set >= leastBytes) return set;
  const container = process.constrainedMemory?.() ?? 0;
  const total = totalmem();
  const room = container > 0 && container < total ? container * 0.9 : total / 2;
  return Math.max(leastBytes, Math.min(usualBytes, room));
}

/** @type {(env: NodeJS.ProcessEnv) => string} */
function settingOf(env) {
  if (env['DUNDUN_MEMORY_MAX']) return env['DUNDUN_MEMORY_MAX'];
  try {
    const file = readFileSync(env['DUNDUN_CONFIG'] ?? '', 'utf8');
    return /^\s*(?:export\s+)?DUNDUN_MEMORY_MAX\s*=\s*["'`]?([^"'`#\n]*)/m.exec(file)?.[1]?.trim() ?? '';
  } catch {
    // No such file: the service says so.
    return '';
  }
}
