// What a follower is given of the log: the datapoints of its pieces, in order of arrival.
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { LogEntry } from '../../../domain/ports/commit-log.ts';
import type { LogPiece } from './log-piece.ts';
import { noSensor } from './no-sensor.ts';

/** Of a datapoint that was removed only the seq is left. */
export interface RemovedEntry {
  readonly seq: number;
}

/** Identifies a sealed datapoint, which has no seq, by its content. */
export function keyOf({ timestampMs, receivedMs, value }: Omit<LogEntry, 'seq' | 'sensor' | 'skipsRules'>): string {
  return `${receivedMs} ${timestampMs ?? ''} ${typeof value} ${value}`;
}

/** @param skipsRules whether no rule is evaluated for the datapoint of a seq. */
export function* logEntriesOf(
  { firstSeq, rows, texts }: LogPiece,
  skipsRules: (seq: number) => boolean,
): Generator<LogEntry | RemovedEntry> {
  let text = 0;
  for (let at = 0; at < rows.length; at += rowNumbers) {
    const seq = firstSeq + at / rowNumbers;
    const timestampMs = rows[at + 1] as number;
    const number = rows[at + 3] as number;
    if (rows[at] === noSensor) {
      yield { seq };
      continue;
    }
    yield {
      seq,
      sensor: rows[at] as SensorKey,
      timestampMs: Number.isNaN(timestampMs) ? undefined : timestampMs,
      receivedMs: rows[at + 2] as number,
      value: Number.isNaN(number) ? (texts[text++] as string) : number,
      skipsRules: skipsRules(seq),
    };
  }
}

/** Gathers the datapoints of a step; each says how many just before it were removed. */
export class GatheredEntries {
  readonly points: LogEntry[] = [];
  readonly #behind: number;
  #removed = 0;

  /** @param behind the seq behind which the step begins. */
  constructor(behind: number) {
    this.#behind = behind;
  }

  add(entries: Iterable<LogEntry | RemovedEntry>): void {
    for (const point of entries) {
      if (point.seq <= this.#behind) continue;
      if (!('sensor' in point)) {
        this.#removed += 1;
        continue;
      }
      this.points.push(this.#removed === 0 ? point : { ...point, removedBefore: this.#removed });
      this.#removed = 0;
    }
  }
}
