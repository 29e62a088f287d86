// What the sealer thread and the writer thread say to each other.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import type { WrittenChunk } from '../../shared/sealing/written-chunk.ts';
import type { WriteFailure } from './writer-protocol.ts';

export interface SealedChunk extends WrittenChunk {
  readonly sensor: number;
}

/** The datapoint that came last of a sensor. */
export interface SealedLatest {
  readonly sensor: number;
  readonly seq: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: StoredValue;
}

/** To the writer: what one commit takes in. */
export interface SealUnit {
  /** The pass moves the log up to this seq; */
  readonly upTo: number;
  /** before this unit sensors with smaller keys were done, */
  readonly fromSensor: number;
  /** and after it those with smaller keys than this. */
  readonly nextSensor: number;
  readonly chunks: readonly SealedChunk[];
  readonly latest: readonly SealedLatest[];
  /** Ids of chunks whose datapoints are in the new ones. */
  readonly replaced: readonly number[];
  /** Those of them that could not be read. */
  readonly damaged: readonly number[];
  /** With the first unit: rows of the log that could not be read. They are set aside, and told of in the log of the service. */
  readonly damage?: { readonly firstSeqs: readonly number[]; readonly told: readonly string[] } | undefined;
  /** With the last unit of a pass: what it has moved. */
  readonly end?: { readonly sensors: number; readonly datapoints: number };
}

/** To the writer; `pass` is the number that came with the order. */
export type SealerMessage =
  | { readonly kind: 'unit'; readonly pass: number; readonly unit: SealUnit }
  | { readonly kind: 'failed'; readonly pass: number; readonly failure: WriteFailure };

/** To the sealer: begin a pass; go on with the next unit; let the pass be. */
export type SealerCommand =
  | { readonly kind: 'pass'; readonly pass: number; readonly upTo: number }
  | { readonly kind: 'next' }
  | { readonly kind: 'stop' };
