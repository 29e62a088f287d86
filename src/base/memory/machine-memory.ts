// How much memory the process may use. server.ts asks once at start.
import { totalmem } from 'node:os';

export interface MachineMemory {
  readonly bytes: number;
  /** What limits it: the machine, or a lower limit of a control group (container). */
  readonly of: 'machine' | 'container';
}

/**
 * @param constrainedBytes the limit that the system sets for the process: undefined or 0 where unknown, a huge number
 * where there is none.
 */
export function memoryOf(totalBytes: number, constrainedBytes: number | undefined): MachineMemory {
  const isLess = constrainedBytes !== undefined && constrainedBytes > 0 && constrainedBytes < totalBytes;
  return isLess ? { bytes: constrainedBytes, of: 'container' } : { bytes: totalBytes, of: 'machine' };
}

/** The memory that the system gives this process. */
export function machineMemory(): MachineMemory {
  return memoryOf(totalmem(), process.constrainedMemory());
}
