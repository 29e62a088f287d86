// How many connections the process may hold: as many as `limits` say, less where it may open fewer descriptors, or where the
// machine has too little memory for them. Asked once at start by server.ts.
import type { Log } from '../../base/log.ts';
import type { MachineMemory } from '../../base/memory/machine-memory.ts';
import { limits } from '../../config/limits.ts';

/** What the machine gives. */
export interface ConnectionCapacity {
  /** Descriptors that the process may open, where that is known. */
  readonly descriptorsMax: number | undefined;
  readonly memory: MachineMemory;
  /** Whether connections may be encrypted: those take more memory. */
  readonly isTls: boolean;
}

/** How many connections there may be, and what that follows from. */
export interface ConnectionsMax {
  readonly max: number;
  readonly because: 'limits' | 'descriptors' | 'memory';
}

/** Connections that fit into what the machine gives, beside the files of the process and its own connections to others. */
export function connectionsMaxWithin({ descriptorsMax, memory, isTls }: ConnectionCapacity): ConnectionsMax {
  const bytesEach = isTls ? limits.connectionBytesTls : limits.connectionBytes;
  const bounds: ConnectionsMax[] = [{ max: limits.connectionsMax, because: 'limits' }];
  if (descriptorsMax !== undefined) {
    const reserve = Math.min(limits.descriptorsReserve, Math.ceil(descriptorsMax / 4));
    bounds.push({ max: descriptorsMax - reserve, because: 'descriptors' });
  }
  bounds.push({ max: Math.floor((memory.bytes * limits.connectionsMemoryShare) / bytesEach), because: 'memory' });
  const least = bounds.reduce((one, other) => (other.max < one.max ? other : one));
  return { ...least, max: Math.max(1, least.max) };
}

/** The same, and a line of the log where it is the memory that allows fewer. */
export function connectionsMaxOf(room: ConnectionCapacity, log: Log): number {
  const { max, because } = connectionsMaxWithin(room);
  if (because === 'memory') {
    log.warn(
      { connectionsMax: max, memoryBytes: room.memory.bytes, of: room.memory.of },
      'a quarter of the memory is for connections: there may be fewer of them than on a larger machine',
    );
  }
  return max;
}
