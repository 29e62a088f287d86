// A line of a file that is imported, or a field of it: one datapoint.
import type { BulkLine, RefusedLine } from '../ingest/bulk.ts';

export interface ImportLine extends BulkLine {
  /** From 1; undefined where the line is one datapoint. */
  readonly column: number | undefined;
  /** When it was received, milliseconds since 1970 UTC, where that is brought in too. */
  readonly receivedMs: number | undefined;
  /** What its sensor is like, should it have to be made. */
  readonly name: string | undefined;
  readonly unit: string | undefined;
}

export interface RefusedField extends RefusedLine {
  readonly column: number | undefined;
}
