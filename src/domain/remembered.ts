// The memory for what the service remembers of what is stored: devices, users, keys, rules, filters, topics. It is one for the
// process, as memory is. Whoever remembers something whose amount callers choose joins it (I4).
import { MemoryPool } from '../base/memory/memory-pool.ts';
import { limits } from '../config/limits.ts';

export const remembered = new MemoryPool(limits.rememberedBytesMax);
