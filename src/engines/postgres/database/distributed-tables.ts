// The one list of tables that Citus distributes where it is there, and by which column; all others are plain tables of the
// coordinator. Whatever is run often on one of these says which value of that column it means, so that it goes to one shard; what goes to
// several is named in `sweeps` of test/support/shard-law.ts.

/**
 * How far the tables are distributed: 0 not at all; 1 servers go by shard, so that they can be; 2 they are. Each is right on plain
 * PostgreSQL too, where statements by shard are more of them.
 */
export type Distribution = 0 | 1 | 2;

/** The one that this process goes by, in all of its threads. */
export class SharedDistribution {
  readonly #cell: Int32Array;

  /** @param memory that of another thread. */
  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#cell = new Int32Array(memory);
  }

  get memory(): SharedArrayBuffer {
    return this.#cell.buffer as SharedArrayBuffer;
  }

  get value(): Distribution {
    return Atomics.load(this.#cell, 0) as Distribution;
  }

  learn(value: Distribution): void {
    Atomics.store(this.#cell, 0, value);
  }
}

export interface DistributedTable {
  readonly table: string;
  readonly column: string;
  /** Tables of a group have equal values of the column in one shard; the first of a group has its name. */
  readonly group: string;
  /** It has no key, so its rows are known by all that they hold: shards may be moved while rows of them are deleted. */
  readonly hasNoKey?: true;
}

/** The migration without which a release does not know that tables may be distributed. */
export const distributionMigration = '0012-distribution';

const ofLog = ['log_bytes_0', 'log_bytes_1', 'log_bytes_2', 'log_bytes_3'];
const ofSensors = ['chunk', 'series'];

export const distributedTables: readonly DistributedTable[] = [
  ...ofLog.map((table) => ({ table, column: 'writer', group: 'log_bytes_0' })),
  ...ofSensors.map((table) => ({ table, column: 'sensor', group: 'chunk' })),
  { table: 'damaged_chunk', column: 'sensor', group: 'chunk', hasNoKey: true },
];
