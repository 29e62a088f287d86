// Stores units of sealing inside a transaction; apart from deletions, nothing else changes the table `chunk`. A
// datapoint is read from one place only: until a pass ends, the row of `sealing` says for which sensors it is the
// chunk, and after that the counter `sealed_seq` says so for all.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { toColumn } from '../database/value-column.ts';
import type { LogWriter } from '../log/log.ts';
import type { PublishFingerprints } from '../log/publish-fingerprints.ts';
import type { ReplayBacklog } from '../log/replay-backlog.ts';
import type { SealedLatest, SealUnit } from '../threads/seal-protocol.ts';
import { ChunkWriter } from './chunk-writer.ts';

export class SealWriter {
  readonly #log: LogWriter;
  readonly #backlog: ReplayBacklog;
  readonly #fingerprints: PublishFingerprints;
  readonly #chunks: ChunkWriter;
  readonly #remove: StatementSync;
  readonly #setAside: StatementSync;
  readonly #setRowAside: StatementSync;
  readonly #latest: StatementSync;
  readonly #begin: StatementSync;
  readonly #isBegun: StatementSync;
  readonly #advance: StatementSync;
  readonly #end: StatementSync;
  readonly #sealed: StatementSync;

  constructor(
    database: DatabaseSync,
    {
      log,
      backlog,
      fingerprints,
    }: { readonly log: LogWriter; readonly backlog: ReplayBacklog; readonly fingerprints: PublishFingerprints },
  ) {
    this.#log = log;
    this.#backlog = backlog;
    this.#fingerprints = fingerprints;
    this.#chunks = new ChunkWriter(database);
    this.#remove = database.prepare('DELETE FROM chunk WHERE id = ?');
    this.#setAside = database.prepare(
      'INSERT INTO damaged_chunk (sensor, first, last, count, bytes) SELECT sensor, first, last, count, bytes FROM chunk WHERE id = ?',
    );
    this.#setRowAside = database.prepare(
      `INSERT OR IGNORE INTO damaged_log (first_seq, datapoints, rows, texts, checksum)
        SELECT first_seq, datapoints, rows, texts, checksum FROM log WHERE first_seq = ? AND length(rows) > 0`,
    );
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
   * False when a chunk to be replaced no longer exists, or the unit does not follow the last stored one: the
   * transaction must then be rolled back.
   */
  write(unit: SealUnit): boolean {
    if (!this.#goOn(unit)) return false;
    for (const firstSeq of unit.damage?.firstSeqs ?? []) this.#setRowAside.run(firstSeq);
    for (const id of unit.damaged) this.#setAside.run(id);
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
   * Deletes some log rows of a pass whose units are all stored; the last step ends the pass. In steps, because a
   * million rows in one transaction would hold up commits.
   * @returns the seq up to which the log has been deleted, and whether that is all.
   */
  clearSome(upTo: number): { readonly sealedSeq: number; readonly isDone: boolean } {
    const seq = this.#log.stepUpTo(upTo) ?? upTo;
    const hasMore = this.#backlog.keep(seq);
    this.#fingerprints.keep(seq, upTo);
    this.#log.removeUpTo(seq);
    this.#sealed.run(seq);
    if (seq >= upTo) this.#end.run();
    return { sealedSeq: seq, isDone: seq >= upTo && !hasMore };
  }

  #setLatest({ sensor, at, seq, stamped, received, value }: SealedLatest): void {
    this.#latest.run(sensor, at, seq, stamped, received, typeof value === 'number' ? toColumn(value) : value);
  }
}
