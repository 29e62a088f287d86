// Wires the budgets shared among callers of all protocols: connections, and memory for data on its way in or out.
// Called by wire-domain.ts alone.

import type { Log } from '../base/log.ts';
import { machineMemory } from '../base/memory/machine-memory.ts';
import { descriptorsMax } from '../base/network/descriptors.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Config } from '../config/config.ts';
import { limits } from '../config/limits.ts';
import { ByteBudget } from '../domain/callers/byte-budget.ts';
import type { Callers } from '../domain/callers/callers.ts';
import { ConnectionLimiter } from '../domain/callers/connection-limiter.ts';
import { type ConnectionCapacity, connectionsMaxOf } from '../domain/callers/connections-max.ts';
import { FairShare } from '../domain/callers/fair-share.ts';

export interface SharedBudgets {
  /** The memory for all data on its way in or out; each kind has a bound of its own besides. */
  readonly passing: FairShare;
  readonly byteBudget: ByteBudget;
  readonly connections: ConnectionLimiter;
}

export function wireSharedBudgets(parts: {
  readonly config: Pick<Config, 'tlsCert' | 'memoryBytesMax'>;
  readonly callers: Callers;
  readonly clock: Clock;
  readonly log: Log;
}): SharedBudgets {
  const { config, callers, clock, log } = parts;
  const passing = new FairShare('passingBytes', {
    aloneMax: limits.passingBytesMax,
    reserve: limits.passingBytesReserve,
  });
  const room = { descriptorsMax: descriptorsMax(), memory: memoryForConnections(config), isTls: config.tlsCert !== '' };
  return {
    passing,
    byteBudget: new ByteBudget({ callers, clock, passing }),
    connections: new ConnectionLimiter({ callers, log, max: connectionsMaxOf(room, log) }),
  };
}

/** The memory of which connections may take a share: the ceiling where one is set, else that of the machine or container. */
function memoryForConnections({ memoryBytesMax }: Pick<Config, 'memoryBytesMax'>): ConnectionCapacity['memory'] {
  const memory = machineMemory();
  if (memoryBytesMax === undefined || memory.bytes < memoryBytesMax) return memory;
  return { bytes: memoryBytesMax, of: 'setting' };
}
