// Stores fingerprints of MQTT publishes, by which repeats are recognised after a restart. A fingerprint is stored in the
// log row of its datapoint, because a table of its own would cost each commit one more page. When the row is deleted,
// fingerprints that are still needed move to the table `mqtt_publish`, those of many log rows in one row. Bounded by
// `duplicateMemoryMax` and `duplicateWindowMs`.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { fingerprintNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { StoredFingerprint } from '../../../domain/ports/commit-log.ts';

const fingerprintBytes = fingerprintNumbers * Float64Array.BYTES_PER_ELEMENT;
const timeBytes = Float64Array.BYTES_PER_ELEMENT;
/** Fingerprints received within this time share one row of the table, with the time of the first. */
const togetherMs = 600_000;

/** The column `publishes` of a log row: the time of receiving, then the fingerprints. */
export function toLogColumn(fingerprints: Float64Array, atMs: number): Uint8Array {
  const column = new Float64Array(1 + fingerprints.length);
  column[0] = atMs;
  column.set(fingerprints, 1);
  return new Uint8Array(column.buffer);
}

/** True where a column has a time and a whole number of fingerprints. */
export function isLogColumn(column: unknown): boolean {
  return (
    column instanceof Uint8Array && column.length > timeBytes && (column.length - timeBytes) % fingerprintBytes === 0
  );
}

interface RowFingerprints {
  readonly atMs: number;
  readonly fingerprints: Float64Array;
}

/** The fingerprints to be remembered, oldest first; the newest ones where there are more than `duplicateMemoryMax`. */
export function listFingerprints(database: DatabaseSync): Iterable<StoredFingerprint> {
  // One array for all, because there may be as many rows as fingerprints.
  const all = new Float64Array(limits.duplicateMemoryMax * listedNumbers);
  let from = all.length;
  // In a transaction: a fingerprint that moves from the log to the table meanwhile would be listed twice.
  database.exec('BEGIN');
  try {
    for (const { atMs, fingerprints } of rowsBack(database)) {
      for (let i = fingerprints.length - fingerprintNumbers; i >= 0 && from > 0; i -= fingerprintNumbers) {
        from -= listedNumbers;
        all[from] = fingerprints[i] as number;
        all[from + 1] = fingerprints[i + 1] as number;
        all[from + 2] = atMs;
      }
      if (from === 0) break;
    }
  } finally {
    database.exec('COMMIT');
  }
  return eachFingerprint(all.subarray(from));
}

/** Slot, content, time. */
const listedNumbers = fingerprintNumbers + 1;

function* eachFingerprint(listed: Float64Array): Generator<StoredFingerprint> {
  for (let i = 0; i < listed.length; i += listedNumbers)
    yield { slot: listed[i] as number, content: listed[i + 1] as number, atMs: listed[i + 2] as number };
}

function* rowsBack(database: DatabaseSync): Generator<RowFingerprints> {
  const logged = database.prepare('SELECT publishes FROM log WHERE publishes IS NOT NULL ORDER BY first_seq DESC');
  for (const { publishes } of logged.iterate()) yield ofLogColumn(publishes as Uint8Array);
  const older = database.prepare('SELECT at, marks FROM mqtt_publish ORDER BY id DESC');
  for (const { at, marks } of older.iterate()) yield { atMs: Number(at), fingerprints: toNumbers(marks as Uint8Array) };
}

function ofLogColumn(column: Uint8Array): RowFingerprints {
  const numbers = toNumbers(column);
  return { atMs: numbers[0] as number, fingerprints: numbers.subarray(1) };
}

/** A copy, because a Float64Array needs an aligned offset. */
function toNumbers(bytes: Uint8Array): Float64Array {
  return new Float64Array(bytes.slice().buffer);
}

/** The writer thread's side. Call every method inside a transaction. */
export class PublishFingerprints {
  readonly #upTo: StatementSync;
  readonly #logged: StatementSync;
  readonly #insert: StatementSync;
  readonly #countInTable: StatementSync;
  readonly #tableDescending: StatementSync;
  readonly #forgetOlder: StatementSync;
  readonly #forgetBelow: StatementSync;
  /**
   * The present pass of sealing, by the seq where it ends, and how many fingerprints are in the log behind the rows
   * deleted so far.
   */
  #pass = { end: 0, fingerprintsBehind: 0 };

  constructor(database: DatabaseSync) {
    this.#upTo = database.prepare(
      'SELECT publishes FROM log WHERE first_seq <= ? AND publishes IS NOT NULL ORDER BY first_seq DESC',
    );
    // SQLite knows the length of a blob without reading it.
    this.#logged = database.prepare(
      `SELECT total((octet_length(publishes) - ${timeBytes}) / ${fingerprintBytes}) AS marks FROM log`,
    );
    this.#countInTable = database.prepare(
      `SELECT total(octet_length(marks)) / ${fingerprintBytes} AS marks FROM mqtt_publish`,
    );
    this.#insert = database.prepare('INSERT INTO mqtt_publish (at, marks) VALUES (?, ?)');
    this.#tableDescending = database.prepare(
      `SELECT id, octet_length(marks) / ${fingerprintBytes} AS marks FROM mqtt_publish ORDER BY id DESC`,
    );
    this.#forgetOlder = database.prepare('DELETE FROM mqtt_publish WHERE at < ?');
    this.#forgetBelow = database.prepare('DELETE FROM mqtt_publish WHERE id < ?');
  }

  /** Stores fingerprints of a commit that has no log row. */
  add(fingerprints: Float64Array, atMs: number): void {
    this.#insert.run(atMs, new Uint8Array(fingerprints.buffer, fingerprints.byteOffset, fingerprints.byteLength));
  }

  /**
   * Called before the log is deleted up to `seq`, as one step of a pass that ends at `end`: moves the fingerprints that
   * still count to the table; with the last step, deletes the table's oldest.
   */
  keep(seq: number, end: number): void {
    if (this.#pass.end !== end) this.#pass = { end, fingerprintsBehind: Number(this.#logged.get()?.['marks']) };
    const newestFirst = (this.#upTo.all(seq) as unknown as { publishes: Uint8Array }[]).map(({ publishes }) =>
      ofLogColumn(publishes),
    );
    const [newest] = newestFirst;
    if (newest !== undefined) {
      this.#pass.fingerprintsBehind -= newestFirst.reduce(
        (sum, { fingerprints }) => sum + fingerprints.length / fingerprintNumbers,
        0,
      );
      // Fingerprints logged since the pass began are not counted, so that slightly too many are kept.
      const kept = cut(
        newestFirst,
        newest.atMs - limits.duplicateWindowMs,
        limits.duplicateMemoryMax - this.#pass.fingerprintsBehind,
      );
      for (const { atMs, fingerprints } of together(kept.reverse())) this.add(fingerprints, atMs);
    }
    if (seq >= end) this.#forget(newest?.atMs);
  }

  /**
   * Deletes fingerprints that are too old, and the oldest where there are more than 1.25 times as many as can be
   * remembered.
   */
  #forget(nowMs: number | undefined): void {
    if (nowMs !== undefined) this.#forgetOlder.run(nowMs - limits.duplicateWindowMs);
    if (Number(this.#countInTable.get()?.['marks']) <= limits.duplicateMemoryMax * 1.25) return;
    let left: number = limits.duplicateMemoryMax;
    let oldest = 0;
    for (const row of this.#tableDescending.iterate()) {
      if (left <= 0) break;
      oldest = Number(row['id']);
      left -= Number(row['marks']);
    }
    this.#forgetBelow.run(oldest);
  }
}

/** The rows received since `sinceMs`, newest first, until they hold `fingerprintsMax` or slightly more. */
function cut(newestFirst: readonly RowFingerprints[], sinceMs: number, fingerprintsMax: number): RowFingerprints[] {
  const kept: RowFingerprints[] = [];
  let room = fingerprintsMax;
  for (const row of newestFirst) {
    if (room <= 0) break;
    if (row.atMs >= sinceMs) kept.push(row);
    room -= row.fingerprints.length / fingerprintNumbers;
  }
  return kept;
}

/**
 * Joins rows received within `togetherMs` into one, with the earliest of their times. A fingerprint may thus expire
 * early: a repeat is stored twice rather than lost.
 */
function* together(oldestFirst: readonly RowFingerprints[]): Generator<RowFingerprints> {
  let group: RowFingerprints[] = [];
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

function joined(rows: readonly RowFingerprints[]): RowFingerprints {
  const all = new Float64Array(rows.reduce((sum, { fingerprints }) => sum + fingerprints.length, 0));
  let at = 0;
  for (const { fingerprints } of rows) {
    all.set(fingerprints, at);
    at += fingerprints.length;
  }
  return { atMs: rows.reduce((first, { atMs }) => Math.min(first, atMs), Number.POSITIVE_INFINITY), fingerprints: all };
}
