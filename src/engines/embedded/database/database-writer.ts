// The interface by which parts of the engine write, on the main thread. threads/writer.ts implements it by the writer
// thread; open.ts passes it to each part, so that no part depends on threads.
import type { DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import type { EditOrder, EditResult } from '../../shared/sealing/edit-order.ts';

export type SqlValue = null | number | bigint | string | Uint8Array;

/** One SQL statement with its parameters. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** Every write of the service goes through it; all that waits when a commit begins goes into that commit. */
export interface DatabaseWriter {
  /** True while sealing is behind: batches of more than `catchUpDatapointsMax` datapoints wait. */
  readonly isCatchingUp: boolean;
  /** How far sealing is behind, from 0 to 1. */
  readonly sealingDebt: number;
  /** Called when sealing has caught up. */
  onCaughtUp: () => void;
  /**
   * Stores datapoints and what belongs into their commit; resolves with the seq of the first. `committed` is called
   * synchronously when the commit's report arrives, before later reports are handled.
   */
  append(batch: DatapointBatch, committed: (firstSeq: number) => void): Promise<number>;
  /**
   * Runs the statements as one unit: all of them or none.
   * @param options `purge`: sensors were marked for deletion; `isWeighed: false`: the caller bounds the bytes; `fence`:
   * the lease under which the caller writes.
   * @returns how many rows each statement changed.
   * @throws Refusal `exists` where an id is taken, `busy` when too many wait, `storage` when the disk refuses;
   * LeaseLost.
   */
  write(
    statements: readonly Statement[],
    options?: { readonly purge?: boolean; readonly isWeighed?: boolean; readonly fence?: Fence | undefined },
  ): Promise<readonly number[]>;
  /**
   * Changes stored datapoints, in steps among other commits; resolves when all is done. `done` is called synchronously
   * then, before later reports are handled; also before it rejects, where a part was done and the rest will be.
   * @throws Refusal `storage`, `damaged` where a page of the database is damaged. If `done` was not called, nothing was changed.
   */
  edit(order: EditOrder, done: (result: EditResult) => void): Promise<EditResult>;
}
