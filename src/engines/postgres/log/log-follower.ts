// Reads datapoints of all sensors in order of arrival, for the watcher of rules when it has fallen behind the feed or comes
// back after a stop. Rows stay in the log, sealed or not, until it has confirmed them (bounded by
// `replayBacklogDatapointsMax`).
import { limits } from '../../../config/limits.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { LogEntry } from '../../../domain/ports/commit-log.ts';
import { GatheredEntries, keyOf, logEntriesOf, type RemovedEntry } from '../../shared/log/log-entries.ts';
import { applyEdits, type LogEdits } from './log-edits.ts';
import type { LogIndex } from './log-index.ts';
import { type Query, type ReadRow, readRows } from './log-reader.ts';
import { skipsRules } from './log-row.ts';

/** Rows read in one step; each may hold a single datapoint. */
const rowsAtOnce = 500;
/** Rows searched backwards for a sensor's previous datapoint. */
const rowsLookedBack = 100;

export class LogFollower {
  readonly #query: Query;
  readonly #index: LogIndex;
  readonly #edits: LogEdits;

  constructor(parts: { readonly query: Query; readonly index: LogIndex; readonly edits: LogEdits }) {
    this.#query = parts.query;
    this.#index = parts.index;
    this.#edits = parts.edits;
  }

  /** The next datapoints after a seq; an empty list at the end of the log. Damaged rows are passed over. */
  async readAfter(seq: number): Promise<LogEntry[]> {
    const gathered = new GatheredEntries(seq);
    for (let behind = seq; ; ) {
      const from = this.#index.firstBehind(behind);
      const to = Math.min(this.#index.size, from + rowsAtOnce);
      if (from === to) return gathered.points;
      const last = this.#index.at(to - 1);
      for await (const rows of readRows(this.#query, this.#index.slice(from, to))) {
        for (const row of rows) gathered.add(this.#entriesOf(row));
        if (gathered.points.length >= limits.readStepRows) return gathered.points;
      }
      if (gathered.points.length > 0) return gathered.points;
      behind = Math.max(behind + 1, last.firstSeq + last.count - 1);
    }
  }

  /** When the datapoint with this seq was received; undefined where it is no longer kept. */
  async receivedMsOf(seq: number): Promise<number | undefined> {
    const [row] = await this.#rowsFrom(this.#index.firstBehind(seq - 1), 1);
    if (row === undefined || typeof row.content === 'string' || row.firstSeq > seq) return undefined;
    return row.content.rows[(seq - row.firstSeq) * rowNumbers + 2];
  }

  /** A sensor's last datapoint up to a seq, searched only in the last `rowsLookedBack` rows. */
  async latestUpTo(sensor: SensorKey, seq: number): Promise<LogEntry | undefined> {
    const end = Math.min(this.#index.size, this.#index.firstBehind(seq - 1) + 1);
    const from = Math.max(0, end - rowsLookedBack);
    const rows = await this.#rowsFrom(from, end - from);
    for (const row of rows.reverse()) {
      const points = [...this.#entriesOf(row)].filter((entry): entry is LogEntry => 'sensor' in entry);
      const found = points.findLast((point) => point.sensor === sensor && point.seq <= seq);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Counts a sensor's datapoints after a seq, by `keyOf`. */
  async countBehind(sensor: SensorKey, seq: number): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    let points = await this.readAfter(seq);
    for (let last = points.at(-1); last !== undefined; last = points.at(-1)) {
      for (const point of points) {
        if (point.sensor === sensor) counts.set(keyOf(point), (counts.get(keyOf(point)) ?? 0) + 1);
      }
      points = await this.readAfter(last.seq);
    }
    return counts;
  }

  async #rowsFrom(from: number, count: number): Promise<ReadRow[]> {
    const found: ReadRow[] = [];
    const to = Math.min(this.#index.size, from + count);
    if (to <= from) return found;
    for await (const rows of readRows(this.#query, this.#index.slice(from, to))) found.push(...rows);
    return found;
  }

  #entriesOf({ content, firstSeq }: ReadRow): Iterable<LogEntry | RemovedEntry> {
    if (typeof content === 'string') return [];
    const piece = applyEdits({ firstSeq, rows: content.rows, texts: content.texts }, this.#edits.all);
    return logEntriesOf(piece, (seq) => skipsRules(content.rulesSkipped, seq - firstSeq));
  }
}
