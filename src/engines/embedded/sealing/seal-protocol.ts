// Messages between the sealer thread and the writer thread.
import type { SealedChunk, SealedLatest } from '../../shared/sealing/sealed-sensor.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';

/** To the writer: what it stores in one transaction. */
export interface SealUnit {
  /** The pass seals the log up to this seq. */
  readonly upTo: number;
  /** Before this unit, sensors with smaller keys than this are done. */
  readonly fromSensor: number;
  /** After this unit, sensors with smaller keys than this are done. */
  readonly nextSensor: number;
  readonly chunks: readonly SealedChunk[];
  readonly latest: readonly SealedLatest[];
  /** Ids of chunks that the new ones replace. */
  readonly replaced: readonly number[];
  /** Ids among these whose bytes were damaged; they are set aside. */
  readonly damaged: readonly number[];
  /**
   * With the first unit: log rows that could not be read. They are set aside, and the sentences go to the log of the
   * service.
   */
  readonly damage?: { readonly firstSeqs: readonly number[]; readonly descriptions: readonly string[] } | undefined;
  /** With the last unit of a pass: the totals. */
  readonly end?: { readonly sensors: number; readonly datapoints: number };
}

/** To the writer; `pass` is the number of the command that it answers. */
export type SealerMessage =
  | { readonly kind: 'unit'; readonly pass: number; readonly unit: SealUnit }
  | { readonly kind: 'failed'; readonly pass: number; readonly failure: WriteFailure };

/** To the sealer: begin a pass; make the next unit. */
export type SealerCommand =
  | { readonly kind: 'pass'; readonly pass: number; readonly upTo: number }
  | { readonly kind: 'next' };
