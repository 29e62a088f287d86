// One datapoint of an imported file, which is a whole line or one field of a line. Made by http/import, stored by
// imports.ts.
import type { Said } from '../../../base/refusal.ts';
import type { BulkLine, RefusedLine } from '../ingest/bulk.ts';

export interface ImportLine extends BulkLine {
  /** Number of the column, from 1; undefined where a line is one datapoint. */
  readonly column: number | undefined;
  /** Time of receiving in milliseconds since 1970 UTC, where the file has one. */
  readonly receivedMs: number | undefined;
  /** The name that its sensor gets if it is created. */
  readonly name: string | undefined;
  readonly unit: string | undefined;
}

export interface RefusedField extends RefusedLine {
  readonly column: number | undefined;
  /** Why, by a code; absent in answers that were stored before there were codes. */
  readonly said?: Said;
}
