// Access to the registry: reads through Kysely, and writes as compiled statements that the engine runs as one unit in
// its next commit. The same SQL for every engine, but for what its dialect says.
import type { Compilable, Kysely } from 'kysely';
import type { DeviceKey } from '../../../domain/device-key.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { Tables } from './tables.ts';

export interface SearchOptions {
  readonly caller: string;
  /** True once nobody can receive the answer. */
  readonly isGone?: (() => boolean) | undefined;
}

export interface Registry {
  readonly dialect: SqlDialect;
  /** Short reads, of rows found by an index, on the main thread. */
  readonly read: Kysely<Tables>;
  /**
   * A read whose time grows with the data (lists, counts, filters). Runs beside other work and with a time limit: its
   * first condition must be `withinTime`. Callers take turns.
   * @throws Refusal `busy` when too many wait, it takes too long, or whoever asked has gone before its turn came.
   */
  search<Row>(query: Compilable<Row>, options: SearchOptions): Promise<Row[]>;
  /**
   * Runs all statements or none, as if no other unit ran meanwhile (serializable): a condition in a statement still
   * holds at the commit. Resolves after the commit with the number of rows each changed. `purge`: sensors are removed,
   * so their datapoints have to be deleted. `moves`: sensors come to belong to other devices. `loses`: a device that loses a sensor. `isWeighed: false`: the caller bounds the bytes, as the service does for
   * its own work, which must continue beside large changes. `fence`: the lease under which the caller writes; compared
   * in the same transaction.
   * @throws Refusal `exists` where a unique id is taken, `busy`, `storage`; LeaseLost where the lease was taken with a
   * greater epoch.
   */
  write(
    queries: readonly Compilable[],
    options?: {
      readonly purge?: boolean;
      readonly moves?: boolean;
      readonly loses?: DeviceKey;
      readonly isWeighed?: boolean;
      readonly fence?: Fence | undefined;
    },
  ): Promise<readonly number[]>;
}
