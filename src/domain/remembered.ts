// The memory that all caches of stored data share: devices, users, keys, rules, filters, topics. There is one for the
// process. Every cache whose content callers can make grow must use it (I4).
import { MemoryPool } from '../base/memory/memory-pool.ts';
import { limits } from '../config/limits.ts';

export const remembered = new MemoryPool(() => limits.rememberedBytesMax);
