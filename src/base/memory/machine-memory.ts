// How much memory the process may have. Asked once at start by server.ts.
import { totalmem } from 'node:os';

export interface MachineMemory {
  readonly bytes: number;
  /** What sets the bound: the machine itself, or a control group or limit that is below it. */
  readonly of: 'machine' | 'container';
}

/**
 * @param constrainedBytes what the system allows the process: undefined or 0 where it sets nothing, a huge number where it
 * sets no bound.
 */
export function memoryOf(totalBytes: number, constrainedBytes: number | undefined): MachineMemory {
  const isLess = constrainedBytes !== undefined && constrainedBytes > 0 && constrainedBytes < totalBytes;
  return isLess ? { bytes: constrainedBytes, of: 'container' } : { bytes: totalBytes, of: 'machine' };
}

/** Of this process, as the system tells. */
export function machineMemory(): MachineMemory {
  return memoryOf(totalmem(), process.constrainedMemory());
}
