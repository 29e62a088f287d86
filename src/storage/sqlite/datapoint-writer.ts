// Datapoints on the writer's side: the append-only log, its settling into the clustered table, purging, and the
// memories that belong into a datapoint's own commit (push receipts, MQTT publish marks).
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';
import {
  countRows,
  type DatapointBatch,
  markNumbers,
  type PushReceipt,
  rowNumbers,
} from '../../domain/datapoints/datapoint-batch.ts';
import { KeptLog } from './kept-log.ts';
import { countOf, cutBatch, type LogPiece, LogWriter, readLog } from './log.ts';
import { Settling } from './settling.ts';

interface RememberedPublishes {
  readonly id: number;
  readonly count: number;
}

export class DatapointWriter {
  readonly #database: DatabaseSync;
  readonly #log: LogWriter;
  readonly #settling: Settling;
  readonly #kept: KeptLog;
  readonly #settled: StatementSync;
  readonly #insertReceipt: StatementSync;
  readonly #insertPublishes: StatementSync;
  /** What is in the log, oldest first, and what the open transaction adds. Bounded by `headRowsMax`. */
  #pieces: LogPiece[];
  #added: LogPiece[] = [];
  #nextSeq: number;
  #committedSeq: number;
  #firstSeq: number;
  #publishes: RememberedPublishes[];
  #publishCount: number;
  readonly #receiptsOf = new Map<string, number>();
  /** True while removed sensors may have datapoints left. */
  purgeDue: boolean;

  constructor(database: DatabaseSync, { followedSeq }: { readonly followedSeq: () => number }) {
    this.#database = database;
    this.#kept = new KeptLog(database, followedSeq);
    const one = (sql: string) => Number((database.prepare(sql).get() as { n: number | null } | undefined)?.n ?? 0);
    this.#pieces = readLog(database);
    const settled = one("SELECT value AS n FROM counter WHERE name = 'settled_seq'");
    const last = this.#pieces.at(-1);
    this.#nextSeq = last === undefined ? settled + 1 : last.firstSeq + countOf(last);
    this.#committedSeq = this.#nextSeq;
    this.#firstSeq = this.#pieces[0]?.firstSeq ?? this.#nextSeq;
    this.purgeDue = one('SELECT count(*) AS n FROM purge') > 0;
    this.#publishes = database
      .prepare('SELECT id, length(marks) / 16 AS count FROM mqtt_publish ORDER BY id')
      .all() as unknown as RememberedPublishes[];
    this.#publishCount = this.#publishes.reduce((sum, { count }) => sum + count, 0);
    this.#log = new LogWriter(database);
    this.#settling = new Settling(database);
    this.#insertReceipt = database.prepare(
      'INSERT OR REPLACE INTO receipt (id, caller, body_hash, at) VALUES (?, ?, ?, ?)',
    );
    this.#settled = database.prepare("INSERT OR REPLACE INTO counter (name, value) VALUES ('settled_seq', ?)");
    this.#insertPublishes = database.prepare('INSERT INTO mqtt_publish (at, marks) VALUES (?, ?)');
  }

  /** Rows of the log that wait to be settled. */
  get logRows(): number {
    return this.#committedSeq - this.#firstSeq;
  }

  /** Appends inside the open transaction; returns the seq of the first datapoint. */
  append(batch: DatapointBatch): number {
    const first = this.#nextSeq;
    for (const piece of cutBatch(batch, first)) {
      this.#log.append(piece);
      this.#added.push(piece);
    }
    this.#nextSeq = first + countRows(batch);
    if (batch.quiet.length > 0) this.#kept.addQuiet(batch.quiet, first);
    for (const receipt of batch.receipts) this.#remember(receipt);
    if (batch.publishes.length > 0) this.#rememberPublishes(batch.publishes, batch.rows.at(2 - rowNumbers) ?? 0);
    return first;
  }

  committed(): void {
    if (this.#added.length > 0) this.#pieces.push(...this.#added);
    this.#added = [];
    this.#committedSeq = this.#nextSeq;
  }

  /** After a rollback the seqs are given again. */
  rolledBack(): void {
    this.#added = [];
    this.#nextSeq = this.#committedSeq;
  }

  /**
   * Moves the oldest rows of the log into the clustered table, in one transaction.
   * @returns the seq up to which all has settled, or undefined when the log is empty.
   */
  settle(): number | undefined {
    if (this.#pieces.length === 0) return undefined;
    let count = 0;
    let datapoints = 0;
    while (count < this.#pieces.length && datapoints < limits.settleRowsMax) {
      datapoints += countOf(this.#pieces[count++] as LogPiece);
    }
    const upTo = this.#firstSeq + datapoints - 1;
    this.#database.exec('BEGIN IMMEDIATE');
    this.#settling.move(this.#pieces.slice(0, count));
    this.#kept.keep(upTo);
    this.#log.removeUpTo(upTo);
    this.#settled.run(upTo);
    this.#database.exec('COMMIT');
    this.#pieces.splice(0, count);
    this.#firstSeq = upTo + 1;
    return upTo;
  }

  /** Deletes one slice of a removed sensor's datapoints; true when there is more to do. */
  purge(): boolean {
    const due = this.#database.prepare('SELECT sensor FROM purge LIMIT 1').get() as { sensor: number } | undefined;
    if (due === undefined) return false;
    this.#database.exec('BEGIN IMMEDIATE');
    const { changes } = this.#database
      .prepare(
        `DELETE FROM datapoint WHERE (sensor, at, seq) IN (SELECT sensor, at, seq FROM datapoint WHERE sensor = ? LIMIT ${limits.purgeRowsMax})`,
      )
      .run(due.sensor);
    if (Number(changes) < limits.purgeRowsMax) {
      this.#database.prepare('DELETE FROM latest WHERE sensor = ?').run(due.sensor);
      this.#database.prepare('DELETE FROM purge WHERE sensor = ?').run(due.sensor);
    }
    this.#database.exec('COMMIT');
    return true;
  }

  #remember(receipt: PushReceipt): void {
    this.#insertReceipt.run(receipt.id, receipt.caller, receipt.bodyHash, receipt.atMs);
    const count = (this.#receiptsOf.get(receipt.caller) ?? 0) + 1;
    this.#receiptsOf.set(receipt.caller, count % receiptsBetweenCleanings);
    if (this.#receiptsOf.size > callersCountedMax) this.#receiptsOf.clear();
    if (count === receiptsBetweenCleanings) this.#forgetReceipts(receipt.caller, receipt.atMs);
  }

  #forgetReceipts(caller: string, nowMs: number): void {
    this.#database.prepare('DELETE FROM receipt WHERE at < ?').run(nowMs - limits.idempotencyHours * 3_600_000);
    this.#database
      .prepare(
        'DELETE FROM receipt WHERE id IN (SELECT id FROM receipt WHERE caller = ? ORDER BY at DESC LIMIT -1 OFFSET ?)',
      )
      .run(caller, limits.idempotencyKeysMax);
  }

  /** One row a commit, however many publishes it held. */
  #rememberPublishes(marks: Float64Array<ArrayBuffer>, atMs: number): void {
    const id = Number(this.#insertPublishes.run(atMs, new Uint8Array(marks.buffer)).lastInsertRowid);
    const count = marks.length / markNumbers;
    this.#publishes.push({ id, count });
    this.#publishCount += count;
    if (this.#publishCount > limits.repeatMemoryMax * 1.25) this.#forgetPublishes(atMs);
  }

  #forgetPublishes(nowMs: number): void {
    let gone = 0;
    while (this.#publishCount > limits.repeatMemoryMax) this.#publishCount -= this.#publishes[gone++]?.count ?? 0;
    const kept = this.#publishes.slice(gone);
    this.#publishes = kept;
    this.#database
      .prepare('DELETE FROM mqtt_publish WHERE id < ? OR at < ?')
      .run(kept[0]?.id ?? 0, nowMs - limits.repeatWindowMs);
  }
}

const receiptsBetweenCleanings = 1_000;
const callersCountedMax = 10_000;
