// What the main thread and the search thread say to each other.
import type { SqlValue } from './writer-protocol.ts';

export interface SearchRequest {
  readonly id: number;
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  /** For a query of when devices were heard: what has come since the last such query (head-last-seen.ts). */
  readonly heard: Float64Array | undefined;
}

export type SearchResponse =
  | { readonly id: number; readonly rows: readonly unknown[] }
  /** Its time was up; what to say. */
  | { readonly id: number; readonly refusal: string }
  | { readonly id: number; readonly fault: string };
