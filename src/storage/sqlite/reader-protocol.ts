// What the main thread and the reader thread say to each other.
import type { RefusalCode } from '../../base/refusal.ts';
import type { RangeQuery, RangeStep } from '../../domain/datapoints/datapoint-store.ts';
import type { HeadPart } from './head-part.ts';

export interface ReadOrder {
  readonly id: number;
  readonly query: RangeQuery;
  /** What of the sensor is in the log. */
  readonly part: HeadPart;
}

export type ReadAnswer =
  | { readonly id: number; readonly step: RangeStep }
  | {
      readonly id: number;
      readonly refusal: { readonly code: RefusalCode; readonly message: string; readonly cause: string };
    }
  | { readonly id: number; readonly fault: string };
