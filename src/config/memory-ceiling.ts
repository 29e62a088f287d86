// The ceiling of the process's memory: what is set, or what the machine or its container has. bin/heap.js knows the same.
import type { MachineMemory } from '../base/memory/machine-memory.ts';
import { memoryBytesDefault, memoryBytesMin } from './memory-profile.ts';

/** Share of a container's memory that the process takes: the rest is for files that the system caches. */
const containerShare = 0.9;
/** Share of a machine's memory: others run there too. */
const machineShare = 0.5;

export interface MemoryCeiling {
  readonly bytes: number;
  /**
   * Where the ceiling comes from: the setting, the default, or the memory of the machine or container where that is too
   * small for the default.
   */
  readonly of: 'setting' | 'default' | MachineMemory['of'];
  /** Bytes that the process may take on this machine beside others. */
  readonly availableBytes: number;
}

/** @param setBytes the setting, or undefined. Never less than the least ceiling that the service works in. */
export function memoryCeilingOf(setBytes: number | undefined, memory: MachineMemory): MemoryCeiling {
  const availableBytes = memory.bytes * (memory.of === 'container' ? containerShare : machineShare);
  if (setBytes !== undefined) return { bytes: setBytes, of: 'setting', availableBytes };
  if (availableBytes >= memoryBytesDefault) return { bytes: memoryBytesDefault, of: 'default', availableBytes };
  return { bytes: Math.max(memoryBytesMin, Math.floor(availableBytes)), of: memory.of, availableBytes };
}
