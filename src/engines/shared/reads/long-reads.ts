// The interface by which series.ts makes reads that are too long for the main thread. threads/reader-thread-client.ts
// implements it; open.ts passes it in, so that reads do not depend on threads.
import type { Asker } from '../../../domain/callers/asker.ts';
import type { ReadCounts } from '../../../domain/ports/engine.ts';
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

/** The part of the head that a read needs; `isKept` where the head returns it to other reads too. */
export interface HeadPartRequest {
  readonly part: HeadPart;
  readonly isKept: boolean;
}

export interface LongReads extends ReadCounts {
  /**
   * Reads one step when it is the caller's turn, unless the asker has gone by then.
   * @param partOf called when that turn comes: returns the part of the head; its buffers are transferred unless
   * `isKept`
   * @throws Refusal `busy` when too many reads of the caller wait or the asker has gone, `damaged`
   */
  ask<Kind extends keyof Reads>(
    kind: Kind,
    query: Reads[Kind]['query'],
    options: { readonly asker: Asker; readonly partOf: () => HeadPartRequest },
  ): Promise<Reads[Kind]['step']>;
  /** Takes back the buffer of a text; ignores buffers from elsewhere. */
  release(text: Uint8Array): void;
  close(): Promise<void>;
}
