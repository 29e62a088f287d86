// Messages between the main thread and the writer thread.
import type { DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import type { EditOrder, EditResult } from '../../shared/sealing/edit-order.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import type { Statement } from '../database/database-writer.ts';

/** To the writer: one unit of work, done as a whole or not at all. */
export type WriteRequest =
  | { readonly id: number; readonly kind: 'datapoints'; readonly batch: DatapointBatch }
  | {
      readonly id: number;
      readonly kind: 'statements';
      readonly statements: readonly Statement[];
      readonly purge: boolean;
      /** Done only where this lease was not taken with a greater epoch. */
      readonly fence?: Fence | undefined;
    }
  | { readonly id: number; readonly kind: 'edit'; readonly order: EditOrder }
  | { readonly id: number; readonly kind: 'seal' }
  | { readonly id: number; readonly kind: 'close' };

/**
 * The file that holds room on the disk: all of it is there; the disk has no room for all of it; it has been given up, in
 * part at least, because the disk was full, and no datapoints are taken; or there is room, and it is being taken again.
 */
export type ReserveState = 'whole' | 'partial' | 'in use' | 'taking';

/** From the writer: the result of one unit. */
export interface CommitOutcome {
  readonly id: number;
  /** For datapoints: the seq of the first. */
  readonly firstSeq?: number;
  /** For statements: the number of rows each changed. */
  readonly changes?: readonly number[];
  /** For edits; with a failure, where a part was done and is stored: the rest is done later. */
  readonly edited?: EditResult;
  readonly failure?: WriteFailure;
}

/** From the writer: what happened since its last report. */
export interface CommitReport {
  /** In the order of commit. */
  readonly outcomes: readonly CommitOutcome[];
  /** Datapoints up to this seq have been moved from the log into chunks. */
  readonly sealedSeq?: number;
  /** A sentence about data that can no longer be read, for the log of the service. */
  readonly damaged?: string;
  /** Duration of the commit in milliseconds, for the metrics. */
  readonly commitMs?: number;
  /** Set when it has changed: why writes are refused from now on; null when they are accepted again. */
  readonly refuses?: string | null;
  /** Set when it has changed. */
  readonly reserve?: ReserveState;
  /** Set when this or the next has changed: whether sealing is behind, so that large batches wait. */
  readonly isCatchingUp?: boolean;
  /** How far sealing is behind, from 0 to 1. */
  readonly sealingDebt?: number;
}

export interface WriterOptions {
  readonly path: string;
  /** One 64-bit number: the seq up to which the watcher has read; -1 without rules. */
  readonly followed: SharedArrayBuffer;
}
