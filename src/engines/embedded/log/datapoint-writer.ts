// The writer thread's side of datapoints: appends to the log, stores what the sealer made, deletes chunks of removed
// sensors, and stores receipts and fingerprints of MQTT publishes in the same commit as their datapoints.
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { countRows, type DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import { toBytes } from '../../shared/log/fingerprint-records.ts';
import { cutBatch } from '../../shared/log/log-piece.ts';
import { LogWriter, lastLoggedSeq } from './log.ts';
import { LogTexts } from './log-texts.ts';
import { PublishFingerprints } from './publish-fingerprints.ts';
import { Receipts } from './receipts.ts';
import { ReplayBacklog } from './replay-backlog.ts';

export class DatapointWriter {
  readonly #database: DatabaseSync;
  readonly #log: LogWriter;
  readonly #backlog: ReplayBacklog;
  readonly #fingerprints: PublishFingerprints;
  readonly #texts: LogTexts;
  readonly #receipts: Receipts;
  #nextSeq: number;
  #committedSeq: number;
  /** Datapoints up to this seq have been sealed. */
  #sealedSeq: number;
  /** True while chunks of removed sensors may be left. */
  purgeDue: boolean;
  /** The log may hold datapoints of removed sensors up to this seq; sealing leaves them out. */
  #purgeSeq = 0;
  /** True while the open transaction removes sensors. */
  #isRemoving = false;

  constructor(database: DatabaseSync, { followedSeq }: { readonly followedSeq: () => number }) {
    this.#database = database;
    this.#backlog = new ReplayBacklog(database, followedSeq);
    const one = (sql: string) => Number((database.prepare(sql).get() as { n: number | null } | undefined)?.n ?? 0);
    this.#sealedSeq = one("SELECT value AS n FROM counter WHERE name = 'sealed_seq'");
    this.#nextSeq = Math.max(this.#sealedSeq, lastLoggedSeq(database)) + 1;
    this.#committedSeq = this.#nextSeq;
    this.#purgeSeq = this.#nextSeq - 1;
    this.purgeDue = one('SELECT count(*) AS n FROM purge') > 0;
    this.#log = new LogWriter(database);
    this.#texts = new LogTexts(database);
    this.#fingerprints = new PublishFingerprints(database);
    this.#receipts = new Receipts(database);
  }

  /** Number of datapoints in the log that wait to be sealed. */
  get logRows(): number {
    return this.#committedSeq - 1 - this.#sealedSeq;
  }

  /** Seq of the last committed datapoint. */
  get lastSeq(): number {
    return this.#committedSeq - 1;
  }

  get sealedSeq(): number {
    return this.#sealedSeq;
  }

  /** True when the head holds as much of the log as it may (I4). */
  get isHeadFull(): boolean {
    return this.logRows > limits.headRowsMax || this.#texts.chars > limits.headTextCharsMax;
  }

  /** Characters of texts in the log, estimated. */
  get textChars(): number {
    return this.#texts.chars;
  }

  /** Characters of texts that were logged since the last pass of sealing began, estimated. */
  get freshTextChars(): number {
    return this.#texts.freshChars;
  }

  /**
   * Begins a pass of sealing over the oldest `rows` datapoints of the log, rounded up to whole log rows.
   * @returns the seq where the pass ends.
   */
  beginPass(rows: number): number {
    // Counts all texts in the log as part of this pass, also those after its end: too many is safe, too few is not.
    this.#texts.passBegins(this.lastSeq);
    return this.logRows <= rows ? this.lastSeq : Math.min(this.#endOfRows(this.#sealedSeq + rows), this.lastSeq);
  }

  /**
   * End of the log row that holds a seq. A damaged row may claim datapoints that belong to the rows after it; those
   * rows are then included.
   */
  #endOfRows(seq: number): number {
    let end = this.#log.endOfRowWith(seq);
    for (let next = end; ; end = next) {
      next = this.#log.endOfRowWith(end);
      if (next <= end) return next;
    }
  }

  /** Appends inside the open transaction; returns the seq of the first datapoint. */
  append(batch: DatapointBatch): number {
    const first = this.#nextSeq;
    let fingerprints = batch.publishes.length === 0 ? undefined : toBytes(batch.publishes);
    for (const piece of cutBatch(batch, first)) {
      this.#log.append(piece, fingerprints);
      fingerprints = undefined;
    }
    // Publishes without a datapoint have no log row to go into.
    if (fingerprints !== undefined) this.#fingerprints.add(fingerprints);
    this.#nextSeq = first + countRows(batch);
    if (batch.texts.length > 0) this.#texts.add(batch.texts);
    if (batch.rulesSkipped.length > 0) this.#backlog.addRulesSkipped(batch.rulesSkipped, first);
    for (const receipt of batch.receipts) this.#receipts.remember(receipt);
    return first;
  }

  /**
   * Called when the open transaction removes sensors: later batches cannot contain them, and their chunks have to be
   * deleted.
   */
  sensorsRemoved(): void {
    this.#isRemoving = true;
  }

  committed(): void {
    this.#committedSeq = this.#nextSeq;
    this.#texts.committed();
    if (!this.#isRemoving) return;
    this.#isRemoving = false;
    this.purgeDue = true;
    this.#purgeSeq = this.lastSeq;
  }

  /** The seqs of the transaction are given again to later datapoints. */
  rolledBack(): void {
    this.#nextSeq = this.#committedSeq;
    this.#isRemoving = false;
    this.#texts.rolledBack();
  }

  /**
   * Deletes some rows of the log that are in chunks, inside the open transaction; rows that the watcher of rules has
   * not read are copied to the replay backlog. Called by sealing, which calls `cleared` after the commit.
   * @returns the seq up to which the log has been deleted, and whether rows that the watcher has read remain to be
   * deleted from the backlog.
   */
  clearUpTo(upTo: number): { readonly seq: number; readonly hasMore: boolean } {
    const seq = this.#log.stepUpTo(upTo) ?? upTo;
    const hasMore = this.#backlog.keep(seq);
    this.#fingerprints.keep(seq);
    this.#log.removeUpTo(seq);
    return { seq, hasMore };
  }

  /** The log has been deleted up to `seq`, on disk; the pass of sealing ends at `upTo`. */
  cleared(seq: number, { upTo }: { readonly upTo: number }): void {
    this.#sealedSeq = seq;
    if (seq >= upTo) this.#passEnded(upTo);
  }

  #passEnded(upTo: number): void {
    this.#texts.sealed(upTo);
    // Removed sensors had datapoints in this part of the log: `purge` has to run once more.
    if (upTo >= this.#purgeSeq && this.#purgeSeq > 0) this.purgeDue = true;
  }

  /** Deletes some chunks of removed sensors; true when more are left. */
  purge(): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    const isDone = purgeSql.every((sql) => Number(this.#database.prepare(sql).run().changes) < limits.purgeChunksMax);
    // The rows of `purge` stay until the log has been sealed up to the removal, because sealing uses them to leave
    // datapoints out.
    if (isDone && this.#sealedSeq >= this.#purgeSeq) this.#database.exec('DELETE FROM purge');
    this.#database.exec('COMMIT');
    return !isDone;
  }
}

/** Deletes some rows of removed sensors, in each table other than the log. */
const purgeSql = [
  ['chunk', 'id'],
  ['damaged_chunk', 'rowid'],
  ['latest', 'sensor'],
].map(
  ([table, key]) =>
    `DELETE FROM ${table} WHERE ${key} IN (SELECT ${table}.${key} FROM purge JOIN ${table} USING (sensor) LIMIT ${limits.purgeChunksMax})`,
);
