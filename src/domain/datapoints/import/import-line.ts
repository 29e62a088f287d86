// One datapoint of an imported file: a line, or a field of one.
import type { BulkLine, RefusedLine } from '../ingest/bulk.ts';

export interface ImportLine extends BulkLine {
  /** From 1; undefined where the line has one datapoint. */
  readonly column: number | undefined;
  /** Time of receiving in milliseconds since 1970 UTC, where the file has one. */
  readonly receivedMs: number | undefined;
  /** The name of its sensor, should it be created. */
  readonly name: string | undefined;
  readonly unit: string | undefined;
}

export interface RefusedField extends RefusedLine {
  readonly column: number | undefined;
}
