// Bounds of processes in which files start some fifty servers one after the other (scripts/test-bundles.ts loads this before
// them): what only gains where a service runs for long is left out. Each is a bound that a service may have, and processes of
// their own have the usual one.
import { setFlagsFromString } from 'node:v8';
import { passLimits } from '../../src/base/threads/thread-limits.ts';
import { limits } from '../../src/config/limits.ts';

const bounds = {
  // As on the smallest machine. Seven megabytes a server, nearly all unused, have V8 go through all objects again and again.
  duplicateMemoryMax: 32_768,
  // Longer than any of the threads runs, which would collect all their garbage twice.
  threadRestMs: 3_600_000,
  // The least that there is, as people.ts has it.
  hashKib: 8,
};

Object.assign(limits, bounds);
passLimits(bounds);
// For threads that start from now on. They would begin with as much room as the main thread (scripts/test-rounds.ts), which takes
// longer than to collect what little they leave.
setFlagsFromString('--min-semi-space-size=0');
