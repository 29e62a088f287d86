// Messages between the main thread and the reader thread.
import type { RefusalCode } from '../../../base/refusal.ts';
import type {
  AggregateQuery,
  AggregateStep,
  DownsampleQuery,
  DownsampleStep,
  RangeQuery,
  RangeStep,
  TextQuery,
  TextStep,
} from '../../../domain/ports/series.ts';
import type { HeadPart } from '../head/head-part.ts';

/** The kinds of reads, each with its query and its answer. */
export interface Reads {
  readonly range: { readonly query: RangeQuery; readonly step: RangeStep };
  readonly aggregate: { readonly query: AggregateQuery; readonly step: AggregateStep };
  readonly downsample: { readonly query: DownsampleQuery; readonly step: DownsampleStep };
  readonly text: { readonly query: TextQuery; readonly step: TextStep };
}

type OrderOf<Kind extends keyof Reads> = {
  readonly id: number;
  readonly kind: Kind;
  readonly query: Reads[Kind]['query'];
  /** The part of the head that the step may need. */
  readonly part: HeadPart;
};

export type ReadRequest = { readonly [Kind in keyof Reads]: OrderOf<Kind> }[keyof Reads];

/** Returns the buffer of a text that has been sent. */
export interface ReleasedText {
  readonly spent: ArrayBuffer;
}

export type ReadResponse =
  | { readonly id: number; readonly step: Reads[keyof Reads]['step'] }
  | {
      readonly id: number;
      readonly refusal: { readonly code: RefusalCode; readonly message: string; readonly cause: string };
    }
  | { readonly id: number; readonly fault: string };
