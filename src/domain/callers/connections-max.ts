// Computes how many connections the process may hold: the limit, or fewer where it may open fewer descriptors or
// take too little memory. Called once at start, by wiring/wire-shared-budgets.ts.
import type { Log } from '../../base/log.ts';
import type { MachineMemory } from '../../base/memory/machine-memory.ts';
import { limits } from '../../config/limits.ts';

/** The resources that bound the number of connections. */
export interface ConnectionCapacity {
  /** Descriptors that the process may open; undefined where unknown. */
  readonly descriptorsMax: number | undefined;
  /** What the process may take: of the machine or its container, or by setting. */
  readonly memory: { readonly bytes: number; readonly of: MachineMemory['of'] | 'setting' };
  /** Whether TLS is on: encrypted connections take more memory. */
  readonly isTls: boolean;
}

/** The number of connections, and which bound determines it. */
export interface ConnectionsMax {
  readonly max: number;
  readonly because: 'limits' | 'descriptors' | 'memory';
}

/** The number of connections that leaves descriptors for files and outgoing connections. */
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

/** As `connectionsMaxWithin`, but the number alone; logs a warning where the machine's memory determines it. */
export function connectionsMaxOf(room: ConnectionCapacity, log: Log): number {
  const { max, because } = connectionsMaxWithin(room);
  if (because === 'memory' && room.memory.of !== 'setting') {
    log.warn(
      { connectionsMax: max, memoryBytes: room.memory.bytes, of: room.memory.of },
      'a quarter of the memory is for connections: there may be fewer of them than on a larger machine',
    );
  }
  return max;
}
