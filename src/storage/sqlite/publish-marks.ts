// The memory of MQTT publishes, by which a repeat is told from a new message. A mark is written with its datapoint, in the
// same row of the log, because a table of its own would cost each commit another page; when that row goes, the marks that are
// still to be remembered go into a table, those of many rows in one. Bounded by `repeatMemoryMax`.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';
import { markNumbers } from '../../domain/datapoints/datapoint-batch.ts';
import type { RememberedPublish } from '../../domain/datapoints/datapoint-store.ts';

const markBytes = markNumbers * Float64Array.BYTES_PER_ELEMENT;
const timeBytes = Float64Array.BYTES_PER_ELEMENT;

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
  const newestFirst: MarksOfRow[] = [];
  let left: number = limits.repeatMemoryMax;
  for (const { atMs, marks } of rowsBack(database)) {
    if (left <= 0) break;
    newestFirst.push({ atMs, marks: marks.subarray(-left * markNumbers) });
    left -= marks.length / markNumbers;
  }
  return eachMark(newestFirst.reverse());
}

function* rowsBack(database: DatabaseSync): Generator<MarksOfRow> {
  const logged = database.prepare('SELECT publishes FROM log WHERE publishes IS NOT NULL ORDER BY first_seq DESC');
  for (const { publishes } of logged.iterate()) yield ofLogColumn(publishes as Uint8Array);
  const older = database.prepare('SELECT at, marks FROM mqtt_publish ORDER BY id DESC');
  for (const { at, marks } of older.iterate()) yield { atMs: Number(at), marks: toNumbers(marks as Uint8Array) };
}

function* eachMark(rows: readonly MarksOfRow[]): Generator<RememberedPublish> {
  for (const { atMs, marks } of rows) {
    for (let i = 0; i < marks.length; i += markNumbers)
      yield { slot: marks[i] as number, content: marks[i + 1] as number, atMs };
  }
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
  readonly #inLog: StatementSync;
  readonly #behind: StatementSync;
  readonly #insert: StatementSync;
  readonly #inTable: StatementSync;
  readonly #forget: StatementSync;

  constructor(database: DatabaseSync) {
    this.#inLog = database.prepare(
      'SELECT publishes FROM log WHERE first_seq <= ? AND publishes IS NOT NULL ORDER BY first_seq DESC',
    );
    // What is behind the rows of a step, up to what is remembered at all: SQLite knows the lengths without reading it.
    this.#behind = database.prepare(
      `SELECT total((octet_length(publishes) - ${timeBytes}) / ${markBytes}) AS marks FROM
        (SELECT publishes FROM log WHERE first_seq > ? AND publishes IS NOT NULL ORDER BY first_seq LIMIT ${limits.repeatMemoryMax})`,
    );
    this.#insert = database.prepare('INSERT INTO mqtt_publish (at, marks) VALUES (?, ?)');
    this.#inTable = database.prepare(
      `SELECT id, octet_length(marks) / ${markBytes} AS marks FROM mqtt_publish ORDER BY id DESC`,
    );
    this.#forget = database.prepare('DELETE FROM mqtt_publish WHERE id < ? OR at < ?');
  }

  /** Before the log up to a seq goes: keeps of its marks those that are still to be remembered, and forgets older ones. */
  keep(seq: number): void {
    const newestFirst = (this.#inLog.all(seq) as unknown as { publishes: Uint8Array }[]).map(({ publishes }) =>
      ofLogColumn(publishes),
    );
    const [newest] = newestFirst;
    if (newest === undefined) return;
    const inLog = Number(this.#behind.get(seq)?.['marks']);
    const kept: Float64Array[] = [];
    let room = limits.repeatMemoryMax - inLog;
    for (const { marks } of newestFirst) {
      if (room <= 0) break;
      kept.push(marks);
      room -= marks.length / markNumbers;
    }
    if (kept.length > 0) this.#insert.run(newest.atMs, joined(kept.reverse()));
    this.#forgetBeyond(limits.repeatMemoryMax - inLog, newest.atMs);
  }

  /** Leaves the newest of the table, so many of them or a row more. */
  #forgetBeyond(room: number, nowMs: number): void {
    let left = room;
    let oldest = Number.MAX_SAFE_INTEGER;
    for (const { id, marks } of this.#inTable.iterate() as Iterable<unknown> as Iterable<{
      id: number;
      marks: number;
    }>) {
      if (left <= 0) break;
      oldest = id;
      left -= marks;
    }
    this.#forget.run(oldest, nowMs - limits.repeatWindowMs);
  }
}

function joined(parts: readonly Float64Array[]): Uint8Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(all.buffer);
}
