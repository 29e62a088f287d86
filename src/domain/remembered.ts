// The shared memory of all caches of stored data: devices, users, keys, rules, filters, topics. One for the process.
// Every cache whose content callers can grow must use it (I4).
import { MemoryPool } from '../base/memory/memory-pool.ts';
import { limits } from '../config/limits.ts';

export const remembered = new MemoryPool(limits.rememberedBytesMax);
