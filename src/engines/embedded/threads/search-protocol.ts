// Messages between the main thread and the search thread.
import type { SqlValue } from '../database/database-writer.ts';

export interface SearchRequest {
  readonly id: number;
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  /**
   * For queries that use the last-seen index: what is new in the head since the last such query (head-last-seen.ts).
   */
  readonly lastSeen: Float64Array | undefined;
  /** True where sensors were moved to other devices: the index is made anew, and `lastSeen` is all of the head. */
  readonly isMoved: boolean;
  /** Devices that have lost a sensor, by which they may have been heard last. */
  readonly lost: readonly number[];
}

export type SearchResponse =
  | { readonly id: number; readonly rows: readonly unknown[] }
  /** The search was ended because its time was up; the text is for the caller. */
  | { readonly id: number; readonly refusal: string }
  | { readonly id: number; readonly fault: string };
