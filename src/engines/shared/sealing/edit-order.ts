// Orders to remove or correct stored datapoints, as series-edits.ts hands them to what changes the stored data.
import type { SeriesCorrection, SeriesRemoval } from '../../../domain/ports/series.ts';

/** Datapoints to be removed, and the part of the log that has some of them; 0 and 0 where none has. */
export interface RemovalOrder extends SeriesRemoval {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** A correction, and the seq of the only datapoint in the log that fits; 0 where none does. */
export interface CorrectionOrder extends SeriesCorrection {
  readonly seq: number;
}

/** A change of stored datapoints. */
export type EditOrder = { readonly removal: RemovalOrder } | { readonly correction: CorrectionOrder };

/** How many datapoints were removed, or fit the correction; and how many could not be read. */
export type EditResult = readonly [count: number, unreadable: number];
