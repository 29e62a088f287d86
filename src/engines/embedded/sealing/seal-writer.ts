// Stores units of sealing, each in one transaction. Apart from this, only retention, purges, removals and corrections
// change the table `chunk`. A datapoint is read from one place only: while a pass is under way, the row of `sealing` says which sensors
// are read from chunks already; after the pass, the counter `sealed_seq` says so for all sensors.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SealedLatest } from '../../shared/sealing/sealed-sensor.ts';
import { toColumn } from '../database/value-column.ts';
import type { DatapointWriter } from '../log/datapoint-writer.ts';
import { forgetAllRepeatedBodies } from '../log/receipts.ts';
import { ChunkWriter } from './chunk-writer.ts';
import type { SealUnit } from './seal-protocol.ts';

export class SealWriter {
  readonly #database: DatabaseSync;
  readonly #datapoints: DatapointWriter;
  readonly #chunks: ChunkWriter;
  readonly #remove: StatementSync;
  readonly #setAside: StatementSync;
  readonly #setRowAside: StatementSync;
  readonly #forgetBodies: StatementSync;
  readonly #latest: StatementSync;
  readonly #begin: StatementSync;
  readonly #isBegun: StatementSync;
  readonly #advance: StatementSync;
  readonly #end: StatementSync;
  readonly #sealed: StatementSync;

  constructor(database: DatabaseSync, datapoints: DatapointWriter) {
    this.#database = database;
    this.#datapoints = datapoints;
    this.#chunks = new ChunkWriter(database);
    this.#remove = database.prepare('DELETE FROM chunk WHERE id = ?');
    this.#setAside = database.prepare(
      'INSERT INTO damaged_chunk (sensor, first, last, count, bytes) SELECT sensor, first, last, count, bytes FROM chunk WHERE id = ?',
    );
    this.#setRowAside = database.prepare(
      `INSERT OR IGNORE INTO damaged_log (first_seq, datapoints, rows, texts, checksum)
        SELECT first_seq, datapoints, rows, texts, checksum FROM log WHERE first_seq = ? AND length(rows) > 0`,
    );
    this.#forgetBodies = database.prepare(forgetAllRepeatedBodies.sql);
    this.#latest = database.prepare(
      'INSERT OR REPLACE INTO latest (sensor, at, seq, stamped, received, value) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#begin = database.prepare('INSERT INTO sealing (up_to, next_sensor) VALUES (?, ?)');
    this.#advance = database.prepare('UPDATE sealing SET next_sensor = ? WHERE up_to = ? AND next_sensor = ?');
    this.#isBegun = database.prepare('SELECT 1 FROM sealing');
    this.#end = database.prepare('DELETE FROM sealing');
    this.#sealed = database.prepare("INSERT OR REPLACE INTO counter (name, value) VALUES ('sealed_seq', ?)");
  }

  /**
   * Stores one unit of sealing in a transaction of its own.
   * @returns false where chunks that the unit replaces no longer exist, or the unit does not continue the pass: it has to
   *   be planned again.
   */
  take(unit: SealUnit): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const isTaken = this.#write(unit);
      if (isTaken) this.#database.exec('COMMIT');
      return isTaken;
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  }

  #write(unit: SealUnit): boolean {
    if (!this.#goOn(unit)) return false;
    const damagedRows = unit.damage?.firstSeqs ?? [];
    for (const firstSeq of damagedRows) this.#setRowAside.run(firstSeq);
    for (const id of unit.damaged) this.#setAside.run(id);
    if (damagedRows.length + unit.damaged.length > 0) this.#forgetBodies.run(...forgetAllRepeatedBodies.parameters);
    for (const id of unit.replaced) if (this.#remove.run(id).changes === 0) return false;
    for (const chunk of unit.chunks) this.#chunks.add(chunk);
    for (const latest of unit.latest) this.#setLatest(latest);
    return true;
  }

  /** Refuses a unit that was planned before another was stored: it would store datapoints twice. */
  #goOn({ upTo, fromSensor, nextSensor }: SealUnit): boolean {
    if (this.#advance.run(nextSensor, upTo, fromSensor).changes > 0) return true;
    if (fromSensor > 0 || this.#isBegun.get() !== undefined) return false;
    this.#begin.run(upTo, nextSensor);
    return true;
  }

  /**
   * Deletes some log rows of a pass whose units are all stored, in a transaction of its own; the last step ends the pass.
   * In steps, because a million rows in one transaction would hold up commits. The pass has ended when `sealedSeq` of the
   * log reaches `upTo`; after that, only rows for the watcher may remain to be deleted.
   * @returns true when nothing is left to delete.
   */
  clearSome(upTo: number): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const { seq, hasMore } = this.#datapoints.clearUpTo(upTo);
      this.#sealed.run(seq);
      if (seq >= upTo) this.#end.run();
      this.#database.exec('COMMIT');
      this.#datapoints.cleared(seq, { upTo });
      return seq >= upTo && !hasMore;
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  }

  #setLatest({ sensor, at, seq, stamped, received, value }: SealedLatest): void {
    this.#latest.run(sensor, at, seq, stamped, received, toColumn(value));
  }
}
