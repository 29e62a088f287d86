// Moves datapoints of the log into the clustered table, and each sensor's last one beside it; called by the writer
// thread, inside a transaction. Sorted by sensor and time, because then neighbours land on the same pages.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { rowNumbers } from '../../domain/datapoints/datapoint-batch.ts';
import type { LogPiece } from './log.ts';
import { toColumn, type ValueColumn } from './value-column.ts';

/** A datapoint as a row: sensor, at, seq, stamped, received, value. */
type Row = readonly [sensor: number, at: number, seq: number, stamped: number, received: number, value: ValueColumn];

const columns = 6;
/** Rows of one INSERT: that many at once cost two thirds of one by one, and more gain little. */
const rowsTogether = 25;

export class Settling {
  readonly #insertMany: StatementSync;
  readonly #insertOne: StatementSync;
  readonly #insertLatest: StatementSync;

  constructor(database: DatabaseSync) {
    const insert = 'INSERT INTO datapoint (sensor, at, seq, stamped, received, value) VALUES';
    const one = `(${Array(columns).fill('?').join(', ')})`;
    this.#insertOne = database.prepare(`${insert} ${one}`);
    this.#insertMany = database.prepare(`${insert} ${Array(rowsTogether).fill(one).join(', ')}`);
    this.#insertLatest = database.prepare(
      'INSERT OR REPLACE INTO latest (sensor, at, seq, stamped, received, value) VALUES (?, ?, ?, ?, ?, ?)',
    );
  }

  move(pieces: readonly LogPiece[]): void {
    const together: ValueColumn[] = [];
    for (const series of seriesOf(pieces)) {
      const last = series.at(-1) as Row;
      this.#insertLatest.run(...last);
      for (const row of sortByTime(series)) {
        together.push(...row);
        if (together.length < rowsTogether * columns) continue;
        this.#insertMany.run(...together);
        together.length = 0;
      }
    }
    for (let at = 0; at < together.length; at += columns) this.#insertOne.run(...together.slice(at, at + columns));
  }
}

/** The rows of each sensor in order of arrival, by sensor. */
export function seriesOf(pieces: readonly LogPiece[]): Row[][] {
  const bySensor = new Map<number, Row[]>();
  for (const { rows, texts, firstSeq } of pieces) {
    let seq = firstSeq;
    let text = 0;
    for (let at = 0; at < rows.length; at += rowNumbers) {
      const sensor = rows[at] as number;
      const timestamp = rows[at + 1] as number;
      const received = rows[at + 2] as number;
      const number = rows[at + 3] as number;
      const value = Number.isNaN(number) ? (texts[text++] as string) : toColumn(number);
      const stamped = !Number.isNaN(timestamp);
      const row: Row = [sensor, stamped ? timestamp : received, seq++, stamped ? 1 : 0, received, value];
      const series = bySensor.get(sensor);
      if (series === undefined) bySensor.set(sensor, [row]);
      else series.push(row);
    }
  }
  return [...bySensor].sort(([a], [b]) => a - b).map(([, series]) => series);
}

/** Most sensors send in order of time: then there is nothing to sort. */
function sortByTime(series: readonly Row[]): readonly Row[] {
  const inOrder = series.every((row, i) => i === 0 || row[1] >= (series[i - 1] as Row)[1]);
  return inOrder ? series : series.toSorted((a, b) => a[1] - b[1] || a[2] - b[2]);
}
