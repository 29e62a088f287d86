// The memory that the process may use. Asked once at start by server.ts.
import { totalmem } from 'node:os';

export interface MachineMemory {
  readonly bytes: number;
  /** What determines it: the machine, or a lower limit of a control group. */
  readonly of: 'machine' | 'container';
}

/**
 * @param constrainedBytes the system's limit for the process: undefined or 0 where unknown, a huge number where there
 * is none.
 */
export function memoryOf(totalBytes: number, constrainedBytes: number | undefined): MachineMemory {
  const isLess = constrainedBytes !== undefined && constrainedBytes > 0 && constrainedBytes < totalBytes;
  return isLess ? { bytes: constrainedBytes, of: 'container' } : { bytes: totalBytes, of: 'machine' };
}

/** The memory that the system gives this process. */
export function machineMemory(): MachineMemory {
  return memoryOf(totalmem(), process.constrainedMemory());
}
