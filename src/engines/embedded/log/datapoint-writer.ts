// Datapoints on the writer's side: the append-only log, what sealing has made of it, purging, and the memories that
// belong into a datapoint's own commit (push receipts, fingerprints of MQTT publishes).
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { countRows, type DatapointBatch, type PushReceipt } from '../../../domain/datapoints/datapoint-batch.ts';
import { SealWriter } from '../sealing/seal-writer.ts';
import type { SealUnit } from '../threads/seal-protocol.ts';
import { cutBatch, LogWriter, lastLoggedSeq } from './log.ts';
import { LogTexts } from './log-texts.ts';
import { PublishFingerprints, toLogColumn } from './publish-fingerprints.ts';
import { ReplayBacklog } from './replay-backlog.ts';

export class DatapointWriter {
  readonly #database: DatabaseSync;
  readonly #log: LogWriter;
  readonly #sealing: SealWriter;
  readonly #backlog: ReplayBacklog;
  readonly #fingerprints: PublishFingerprints;
  readonly #texts: LogTexts;
  readonly #insertReceipt: StatementSync;
  #nextSeq: number;
  #committedSeq: number;
  /** Up to here the log has been sealed. */
  #sealedSeq: number;
  #receipts = 0;
  readonly #receiptsOf = new Map<string, number>();
  /** True while removed sensors may have chunks left. */
  purgeDue: boolean;
  /** Up to here the log may hold datapoints of removed sensors; what is sealed of it is without them. */
  #purgeSeq = 0;
  /** Sensors are removed with the open transaction. */
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
    this.#sealing = new SealWriter(database, {
      log: this.#log,
      backlog: this.#backlog,
      fingerprints: this.#fingerprints,
    });
    this.#insertReceipt = database.prepare(
      'INSERT OR REPLACE INTO receipt (id, caller, body_hash, answer, at) VALUES (?, ?, ?, ?, ?)',
    );
  }

  /** Datapoints of the log that wait to be sealed. */
  get logRows(): number {
    return this.#committedSeq - 1 - this.#sealedSeq;
  }

  /** Seq of the newest datapoint on disk. */
  get lastSeq(): number {
    return this.#committedSeq - 1;
  }

  get sealedSeq(): number {
    return this.#sealedSeq;
  }

  /** True when no more of the log may be held in memory (I4). */
  get isHeadFull(): boolean {
    return this.logRows > limits.headRowsMax || this.#texts.chars > limits.headTextCharsMax;
  }

  /** Characters of texts in what came since the last pass of sealing began, about. */
  get freshTextChars(): number {
    return this.#texts.freshChars;
  }

  /** A pass of sealing begins; over what is in the log up to the seq that is returned, so many datapoints or a row more. */
  beginPass(rows: number): number {
    // Texts behind that seq are counted until they have been sealed too: sooner too many of them than too few.
    this.#texts.passBegins(this.lastSeq);
    return this.logRows <= rows ? this.lastSeq : Math.min(this.#endOfRows(this.#sealedSeq + rows), this.lastSeq);
  }

  /** Where rows end that begin up to a seq: a damaged one may say that it reaches over others, which then belong to it. */
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
    let publishes = batch.publishes.length === 0 ? undefined : toLogColumn(batch.publishes, batch.publishedMs);
    for (const piece of cutBatch(batch, first)) {
      this.#log.append(piece, publishes);
      publishes = undefined;
    }
    // Of messages that brought no datapoint.
    if (publishes !== undefined) this.#fingerprints.add(batch.publishes, batch.publishedMs);
    this.#nextSeq = first + countRows(batch);
    if (batch.texts.length > 0) this.#texts.add(batch.texts);
    if (batch.quiet.length > 0) this.#backlog.addQuiet(batch.quiet, first);
    for (const receipt of batch.receipts) this.#remember(receipt);
    return first;
  }

  /** The open transaction removes sensors: nothing comes of them after it, and their chunks are to go. */
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

  /** After a rollback the seqs are given again. */
  rolledBack(): void {
    this.#nextSeq = this.#committedSeq;
    this.#isRemoving = false;
    this.#texts.rolledBack();
  }

  /**
   * Takes a unit of sealing in, in a transaction of its own.
   * @returns false when chunks that it replaces are gone: it is to be planned anew.
   */
  seal(unit: SealUnit): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const isTaken = this.#sealing.write(unit);
      if (isTaken) this.#database.exec('COMMIT');
      return isTaken;
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  }

  /**
   * When the last unit of a pass has been taken in: takes some of the log away, in a transaction of its own. The pass has
   * come to its end when `sealedSeq` says so; then there may be more to forget of what goes with the log.
   * @returns true when nothing is left to be done.
   */
  clearSome(upTo: number): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const { sealedSeq, isDone } = this.#sealing.clearSome(upTo);
      this.#database.exec('COMMIT');
      this.#sealedSeq = sealedSeq;
      if (sealedSeq >= upTo) this.#passEnded(upTo);
      return isDone;
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  }

  #passEnded(upTo: number): void {
    this.#texts.sealed(upTo);
    // Rows of removed sensors that waited for this are to be looked at again.
    if (upTo >= this.#purgeSeq && this.#purgeSeq > 0) this.purgeDue = true;
  }

  /** Deletes some chunks of removed sensors; true when there is more to do at once. */
  purge(): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    const isDone = purgeSql.every((sql) => Number(this.#database.prepare(sql).run().changes) < limits.purgeChunksMax);
    // What the log still holds of them is left out when it is sealed, for which the rows of purge are kept.
    if (isDone && this.#sealedSeq >= this.#purgeSeq) this.#database.exec('DELETE FROM purge');
    this.#database.exec('COMMIT');
    return !isDone;
  }

  #remember(receipt: PushReceipt): void {
    this.#insertReceipt.run(receipt.id, receipt.caller, receipt.bodyHash, receipt.answer, receipt.atMs);
    const count = (this.#receiptsOf.get(receipt.caller) ?? 0) + 1;
    this.#receiptsOf.set(receipt.caller, count % receiptsBetweenCleanings);
    if (this.#receiptsOf.size > callersCountedMax) this.#receiptsOf.clear();
    if (count === receiptsBetweenCleanings) this.#forgetReceiptsOf(receipt.caller);
    this.#receipts = (this.#receipts + 1) % receiptsBetweenCleanings;
    if (this.#receipts === 0) this.#forgetOldReceipts(receipt.atMs);
  }

  #forgetOldReceipts(nowMs: number): void {
    this.#database.prepare('DELETE FROM receipt WHERE at < ?').run(nowMs - limits.idempotencyHours * 3_600_000);
  }

  #forgetReceiptsOf(caller: string): void {
    this.#database
      .prepare(
        'DELETE FROM receipt WHERE id IN (SELECT id FROM receipt WHERE caller = ? ORDER BY at DESC LIMIT -1 OFFSET ?)',
      )
      .run(caller, limits.idempotencyKeysMax);
  }
}

/** What there is of removed sensors beside the log, some of it. */
const purgeSql = [
  ['chunk', 'id'],
  ['damaged_chunk', 'rowid'],
  ['latest', 'sensor'],
].map(
  ([table, key]) =>
    `DELETE FROM ${table} WHERE ${key} IN (SELECT ${table}.${key} FROM purge JOIN ${table} USING (sensor) LIMIT ${limits.purgeChunksMax})`,
);
const receiptsBetweenCleanings = 1_000;
const callersCountedMax = 10_000;
