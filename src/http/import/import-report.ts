// The report of an import: counts everything, and keeps a bounded number of details. Filled by line-reader.ts and
// import-run.ts.
import type { Said } from '../../base/refusal.ts';
import { doubleOf } from '../../base/text/exact-number.ts';
import type { Json } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';
import type { ImportLine, RefusedField } from '../../domain/datapoints/import/import-line.ts';
import type { BatchOutcome } from '../../domain/datapoints/import/imports.ts';

/** Counts for one column. */
interface ColumnCount {
  numbers: number;
  others: number;
  missing: number;
}

export class ImportReport {
  lines = 0;
  accepted = 0;
  known = 0;
  missing = 0;
  refusedCount = 0;
  readonly refused: RefusedField[] = [];
  readonly samples: ImportLine[] = [];
  /** Earliest and latest time read, in milliseconds since 1970 UTC. */
  fromMs = Number.POSITIVE_INFINITY;
  toMs = Number.NEGATIVE_INFINITY;
  /** The line after the last one read. */
  nextLine = 1;
  /** Set where the import stopped early: the first line that was not processed. */
  stopped: { readonly line: number; readonly detail: string; readonly said: Said } | undefined;
  readonly #counts = new Map<number, ColumnCount>();

  refuse(field: RefusedField): void {
    this.refusedCount += 1;
    if (this.refused.length < limits.importRefusedMax) this.refused.push(field);
  }

  countValue(column: number, value: Json | undefined): void {
    const count = this.countOf(column);
    if (value === undefined) {
      count.missing += 1;
      this.missing += 1;
    } else if (doubleOf(value) !== undefined) count.numbers += 1;
    else count.others += 1;
  }

  countOf(column: number): ColumnCount {
    let count = this.#counts.get(column);
    if (count === undefined) {
      count = { numbers: 0, others: 0, missing: 0 };
      this.#counts.set(column, count);
    }
    return count;
  }

  /** Counts datapoints that were read. */
  addRead(lines: readonly ImportLine[]): void {
    for (const line of lines) {
      const { timestampMs } = line.reading;
      if (timestampMs < this.fromMs) this.fromMs = timestampMs;
      if (timestampMs > this.toMs) this.toMs = timestampMs;
      if (this.samples.length < limits.importSamplesMax) this.samples.push(line);
    }
  }

  /** Nothing from this line on was processed. */
  stopAt(line: number, why: { readonly detail: string; readonly said: Said }): void {
    this.stopped = { line, ...why };
    const before = this.refused.filter((field) => field.line < line);
    this.refusedCount -= this.refused.length - before.length;
    this.refused.splice(0, this.refused.length, ...before);
    this.nextLine = line;
  }

  /** Counts the outcome of a batch. */
  addOutcome({ accepted, known, refused, refusedCount }: BatchOutcome): void {
    this.accepted += accepted;
    this.known += known;
    for (const field of refused) this.refuse(field);
    this.refusedCount += refusedCount - refused.length;
  }
}
