// Messages between the main thread and the store thread, which changes chunks.

import type { RefusalCode } from '../../../base/refusal.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { SeriesCorrection, SeriesRemoval } from '../../../domain/ports/series.ts';
import type { EditResult } from '../../shared/sealing/edit-order.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import type { LogEdit } from './log-edits.ts';
import type { RowPlace } from './log-row.ts';

/** A pass of sealing. */
export interface PassOrder {
  /** Number of this process's writer: without its fence, nothing is sealed. */
  readonly writer: number;
  readonly number: number;
  /** It seals the log up to this seq. */
  readonly upTo: number;
  /** The rows of the log that it seals (log-index.ts). */
  readonly rows: Float64Array;
  /** The number of the last row that is sealed with it. */
  readonly upToRow: number;
  readonly edits: readonly LogEdit[];
}

/** What a pass has found. */
export interface PassResult {
  readonly sensors: number;
  readonly datapoints: number;
  /** A sentence about each row of the log that could not be read. */
  readonly damage: readonly string[];
}

/** What the thread is asked to do, and its answer. */
export interface StoreWork {
  readonly pass: { readonly order: PassOrder; readonly result: PassResult };
  /** Removes datapoints from chunks; `note` is the row of the log that has the removal. */
  readonly remove: {
    readonly order: { readonly removal: SeriesRemoval; readonly note: RowPlace };
    readonly result: EditResult;
  };
  /** Counts the datapoints in chunks that a correction may mean, and whether some cannot be read. */
  readonly find: { readonly order: SeriesCorrection; readonly result: EditResult };
  /** Corrects the only datapoint in chunks; the number of those that fit. `writer`: that of this process, without whose fence nothing is corrected. */
  readonly correct: {
    readonly order: { readonly correction: SeriesCorrection; readonly writer: number };
    readonly result: EditResult;
  };
  readonly removeBefore: {
    readonly order: { readonly sensor: SensorKey; readonly beforeMs: number };
    readonly result: number;
  };
  /** Deletes some chunks of removed sensors; true when none is left. `sensors`: those of which the log has none either. */
  readonly purge: { readonly order: { readonly sensors: readonly number[] }; readonly result: boolean };
}

type RequestOf<Kind extends keyof StoreWork> = {
  readonly id: number;
  readonly kind: Kind;
  /** In which chunks are to be written. */
  readonly chunkVersion: number;
  readonly order: StoreWork[Kind]['order'];
};

export type StoreRequest = { readonly [Kind in keyof StoreWork]: RequestOf<Kind> }[keyof StoreWork];

export type StoreResponse =
  | { readonly id: number; readonly result: StoreWork[keyof StoreWork]['result'] }
  | { readonly id: number; readonly refusal: { readonly code: RefusalCode; readonly message: string } }
  | { readonly id: number; readonly failure: WriteFailure };
