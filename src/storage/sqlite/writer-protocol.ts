// What the main thread and the writer thread say to each other.
import type { DatapointBatch } from '../../domain/datapoints/datapoint-store.ts';

export type SqlValue = null | number | bigint | string | Uint8Array;

/** One SQL statement with its parameters. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/**
 * A batch as it crosses to the writer thread: numbers side by side in one buffer that is handed over, because copying
 * row after row costs more than storing it.
 */
export interface PackedBatch {
  /** For each datapoint: sensor, timestamp (NaN: none), received, value (NaN: the next of `texts`). */
  readonly rows: Float64Array<ArrayBuffer>;
  /** The values that are no numbers, as JSON text, in order. */
  readonly texts: readonly string[];
  readonly receipts: DatapointBatch['receipts'];
  readonly publishes: Float64Array<ArrayBuffer>;
}

/** Numbers of one datapoint in `rows`, and of one publish mark in `publishes`. */
export const rowNumbers = 4;
export const markNumbers = 2;

/** To the writer: one unit of work, done whole or not at all. */
export type Work =
  | { readonly id: number; readonly kind: 'datapoints'; readonly batch: PackedBatch }
  | {
      readonly id: number;
      readonly kind: 'statements';
      readonly statements: readonly Statement[];
      readonly purge: boolean;
    }
  | { readonly id: number; readonly kind: 'settle' }
  | { readonly id: number; readonly kind: 'close' };

/** `exists`: an id is taken; `gone`: what the row belongs to was removed meanwhile; `storage`: the disk refused. */
export type FailureKind = 'exists' | 'gone' | 'storage' | 'internal';

/** From the writer: what became of one unit. */
export interface Outcome {
  readonly id: number;
  /** Of datapoints: the seq of the first. */
  readonly firstSeq?: number;
  /** Of statements: the rows each changed. */
  readonly changes?: readonly number[];
  readonly failure?: { readonly kind: FailureKind; readonly message: string };
}

export interface Report {
  /** In order of commit. */
  readonly outcomes: readonly Outcome[];
  /** Every datapoint up to this seq has left the log for the clustered table. */
  readonly settledSeq?: number;
  /** How long the commit took, milliseconds; for the metrics. */
  readonly commitMs?: number;
}

export interface WriterOptions {
  readonly path: string;
}
