// What the main thread and the writer thread say to each other.
import type { DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';

export type SqlValue = null | number | bigint | string | Uint8Array;

/** One SQL statement with its parameters. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** To the writer: one unit of work, done whole or not at all. */
export type WriteRequest =
  | { readonly id: number; readonly kind: 'datapoints'; readonly batch: DatapointBatch }
  | {
      readonly id: number;
      readonly kind: 'statements';
      readonly statements: readonly Statement[];
      readonly purge: boolean;
    }
  | { readonly id: number; readonly kind: 'seal' }
  | { readonly id: number; readonly kind: 'close' };

export interface WriteFailure {
  /**
   * `exists`: an id is taken; `quota`: the message names the quota, what is used and the limit; `growth`: the data may not grow; `gone`: what the row belongs to was removed meanwhile; `storage`: the disk refused;
   * `unsealed`: no more datapoints are held in memory, because sealing fails.
   */
  readonly kind: 'exists' | 'quota' | 'growth' | 'gone' | 'storage' | 'unsealed' | 'internal';
  readonly message: string;
}

/** From the writer: what became of one unit. */
export interface CommitOutcome {
  readonly id: number;
  /** Of datapoints: the seq of the first. */
  readonly firstSeq?: number;
  /** Of statements: the rows each changed. */
  readonly changes?: readonly number[];
  readonly failure?: WriteFailure;
}

export interface CommitReport {
  /** In order of commit. */
  readonly outcomes: readonly CommitOutcome[];
  /** Every datapoint up to this seq has left the log for the chunks. */
  readonly sealedSeq?: number;
  /** What can no longer be read of what is stored, for the log of the service. */
  readonly damaged?: string;
  /** How long the commit took, milliseconds; for the metrics. */
  readonly commitMs?: number;
  /** When that has changed: why writes are refused from now on; null: they are not. */
  readonly refuses?: string | null;
  /** When that has changed: whether sealing is behind, so that large batches wait for it. */
  readonly isCatchingUp?: boolean;
}

export interface WriterOptions {
  readonly path: string;
  /** One 64-bit number: the seq up to which the datapoints have been followed; -1: nobody follows them. */
  readonly followed: SharedArrayBuffer;
}
