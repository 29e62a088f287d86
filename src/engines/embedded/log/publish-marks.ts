// The memory of MQTT publishes, by which a repeat is told from a new message. A mark is written with its datapoint, in the
// same row of the log, because a table of its own would cost each commit another page; when that row goes, the marks that are
// still to be remembered go into a table, those of many rows in one. Bounded by `duplicateMemoryMax` and `duplicateWindowMs`.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { markNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { RememberedPublish } from '../../../domain/datapoints/datapoint-store.ts';

const markBytes = markNumbers * Float64Array.BYTES_PER_ELEMENT;
const timeBytes = Float64Array.BYTES_PER_ELEMENT;
/** Rows of the log whose marks were received no further apart share a row of the table, and with it the time of the first. */
const togetherMs = 600_000;

/** How the marks of a commit lie in its row of the log: the time when they were received, and then the marks. */
export function toLogColumn(marks: Float64Array, atMs: number): Uint8Array {
  const column = new Float64Array(1 + marks.length);
  column[0] = atMs;
  column.set(marks, 1);
  return new Uint8Array(column.buffer);
}

/** True where a column of the log has a time and whole marks. */
export function isLogColumn(column: unknown): boolean {
  return column instanceof Uint8Array && column.length > timeBytes && (column.length - timeBytes) % markBytes === 0;
}

interface MarksOfRow {
  readonly atMs: number;
  readonly marks: Float64Array;
}

/** The publishes to be remembered, oldest first: the newest, as many as there is room for in memory. */
export function listMarks(database: DatabaseSync): Iterable<RememberedPublish> {
  // All in one piece, because there may be as many rows as marks.
  const all = new Float64Array(limits.duplicateMemoryMax * listedNumbers);
  let from = all.length;
  // What leaves the log for the table meanwhile would be seen twice.
  database.exec('BEGIN');
  try {
    for (const { atMs, marks } of rowsBack(database)) {
      for (let i = marks.length - markNumbers; i >= 0 && from > 0; i -= markNumbers) {
        from -= listedNumbers;
        all[from] = marks[i] as number;
        all[from + 1] = marks[i + 1] as number;
        all[from + 2] = atMs;
      }
      if (from === 0) break;
    }
  } finally {
    database.exec('COMMIT');
  }
  return eachMark(all.subarray(from));
}

/** Slot, content, time. */
const listedNumbers = markNumbers + 1;

function* eachMark(listed: Float64Array): Generator<RememberedPublish> {
  for (let i = 0; i < listed.length; i += listedNumbers)
    yield { slot: listed[i] as number, content: listed[i + 1] as number, atMs: listed[i + 2] as number };
}

function* rowsBack(database: DatabaseSync): Generator<MarksOfRow> {
  const logged = database.prepare('SELECT publishes FROM log WHERE publishes IS NOT NULL ORDER BY first_seq DESC');
  for (const { publishes } of logged.iterate()) yield ofLogColumn(publishes as Uint8Array);
  const older = database.prepare('SELECT at, marks FROM mqtt_publish ORDER BY id DESC');
  for (const { at, marks } of older.iterate()) yield { atMs: Number(at), marks: toNumbers(marks as Uint8Array) };
}

function ofLogColumn(column: Uint8Array): MarksOfRow {
  const numbers = toNumbers(column);
  return { atMs: numbers[0] as number, marks: numbers.subarray(1) };
}

/** A copy, because a Float64Array needs its bytes aligned. */
function toNumbers(bytes: Uint8Array): Float64Array {
  return new Float64Array(bytes.slice().buffer);
}

/** The writer thread's side; every method inside a transaction. */
export class PublishMarks {
  readonly #upTo: StatementSync;
  readonly #logged: StatementSync;
  readonly #insert: StatementSync;
  readonly #tabled: StatementSync;
  readonly #tableBack: StatementSync;
  readonly #forgetOlder: StatementSync;
  readonly #forgetBelow: StatementSync;
  /** The pass whose rows go, by the seq where it ends, and the marks in the log behind what has gone so far. */
  #pass = { end: 0, marksBehind: 0 };

  constructor(database: DatabaseSync) {
    this.#upTo = database.prepare(
      'SELECT publishes FROM log WHERE first_seq <= ? AND publishes IS NOT NULL ORDER BY first_seq DESC',
    );
    // SQLite knows the lengths without reading what is so long.
    this.#logged = database.prepare(
      `SELECT total((octet_length(publishes) - ${timeBytes}) / ${markBytes}) AS marks FROM log`,
    );
    this.#tabled = database.prepare(`SELECT total(octet_length(marks)) / ${markBytes} AS marks FROM mqtt_publish`);
    this.#insert = database.prepare('INSERT INTO mqtt_publish (at, marks) VALUES (?, ?)');
    this.#tableBack = database.prepare(
      `SELECT id, octet_length(marks) / ${markBytes} AS marks FROM mqtt_publish ORDER BY id DESC`,
    );
    this.#forgetOlder = database.prepare('DELETE FROM mqtt_publish WHERE at < ?');
    this.#forgetBelow = database.prepare('DELETE FROM mqtt_publish WHERE id < ?');
  }

  /** Remembers marks of a commit without a row in the log. */
  add(marks: Float64Array, atMs: number): void {
    this.#insert.run(atMs, new Uint8Array(marks.buffer, marks.byteOffset, marks.byteLength));
  }

  /**
   * Before the log up to a seq goes, as a step of a pass that ends at another: keeps of its marks those that are still to be
   * remembered, and with the last step forgets older ones.
   */
  keep(seq: number, end: number): void {
    if (this.#pass.end !== end) this.#pass = { end, marksBehind: Number(this.#logged.get()?.['marks']) };
    const newestFirst = (this.#upTo.all(seq) as unknown as { publishes: Uint8Array }[]).map(({ publishes }) =>
      ofLogColumn(publishes),
    );
    const [newest] = newestFirst;
    if (newest !== undefined) {
      this.#pass.marksBehind -= newestFirst.reduce((sum, { marks }) => sum + marks.length / markNumbers, 0);
      // What has come since the pass began to go is not counted: some more are kept than there will be room for.
      const kept = cut(
        newestFirst,
        newest.atMs - limits.duplicateWindowMs,
        limits.duplicateMemoryMax - this.#pass.marksBehind,
      );
      for (const { atMs, marks } of together(kept.reverse())) this.add(marks, atMs);
    }
    if (seq >= end) this.#forget(newest?.atMs);
  }

  /** Leaves what is young enough, and the newest of that where there are far more than there is room for. */
  #forget(nowMs: number | undefined): void {
    if (nowMs !== undefined) this.#forgetOlder.run(nowMs - limits.duplicateWindowMs);
    if (Number(this.#tabled.get()?.['marks']) <= limits.duplicateMemoryMax * 1.25) return;
    let left: number = limits.duplicateMemoryMax;
    let oldest = 0;
    for (const row of this.#tableBack.iterate()) {
      if (left <= 0) break;
      oldest = Number(row['id']);
      left -= Number(row['marks']);
    }
    this.#forgetBelow.run(oldest);
  }
}

/** The newest of them: those received since then, as many as there is room for, or a row more. */
function cut(newestFirst: readonly MarksOfRow[], sinceMs: number, marksMax: number): MarksOfRow[] {
  const kept: MarksOfRow[] = [];
  let room = marksMax;
  for (const row of newestFirst) {
    if (room <= 0) break;
    if (row.atMs >= sinceMs) kept.push(row);
    room -= row.marks.length / markNumbers;
  }
  return kept;
}

/** Joins what was received within some minutes; in doubt a mark is older than it was: a repeat is rather stored twice than lost. */
function* together(oldestFirst: readonly MarksOfRow[]): Generator<MarksOfRow> {
  let group: MarksOfRow[] = [];
  let firstMs = 0;
  for (const row of oldestFirst) {
    if (group.length > 0 && Math.abs(row.atMs - firstMs) > togetherMs) {
      yield joined(group);
      group = [];
    }
    if (group.length === 0) firstMs = row.atMs;
    group.push(row);
  }
  if (group.length > 0) yield joined(group);
}

function joined(rows: readonly MarksOfRow[]): MarksOfRow {
  const all = new Float64Array(rows.reduce((sum, { marks }) => sum + marks.length, 0));
  let at = 0;
  for (const { marks } of rows) {
    all.set(marks, at);
    at += marks.length;
  }
  return { atMs: rows.reduce((first, { atMs }) => Math.min(first, atMs), Number.POSITIVE_INFINITY), marks: all };
}
