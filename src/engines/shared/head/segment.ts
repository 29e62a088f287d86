// A part of the head's memory, for a fixed number of datapoints in order of arrival. Made and freed by head.ts.
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';

/** Datapoints in one segment. */
export const segmentRows = 32_768;

export class Segment {
  readonly rows = new Float64Array(segmentRows * rowNumbers);
  /**
   * Bits 1–31: distance in seqs to this sensor's previous datapoint (0: none). Bit 0: no earlier datapoint of the
   * sensor has a later time.
   */
  readonly back = new Uint32Array(segmentRows);

  /** Frees the memory at once; the garbage collector would keep it for long. The segment must not be used any more. */
  free(): void {
    for (const { buffer } of [this.rows, this.back]) (buffer as ArrayBuffer).transfer(0);
  }
}

/** The time of the datapoint whose numbers begin at `at` in `rows`: its timestamp, or the time of receiving where it has none. */
export function timeOf(rows: Float64Array, at: number): number {
  const timestampMs = rows[at + 1] as number;
  return Number.isNaN(timestampMs) ? (rows[at + 2] as number) : timestampMs;
}
