// What this process knows of the log: the head, which rows hold which datapoints, how far all is sealed and followed. Read from the
// database at start, kept with each commit and each pass of sealing, also those of other servers.
import { limits } from '../../../config/limits.ts';
import type { DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import type { Head } from '../../shared/head/head.ts';
import { type LogEdit, LogEdits } from './log-edits.ts';
import { type IndexedRow, LogIndex } from './log-index.ts';
import type { LogRowContent, NumberedPlace, RowPlace } from './log-row.ts';
import type { PassOrder } from './store-protocol.ts';

/** A pass of sealing as the table `seal_pass` has it. */
export interface StoredPass {
  readonly number: number;
  /** Seq of the last datapoint, and number of the last row, that are sealed with it. */
  readonly upTo: number;
  readonly upToRow: number;
}

export class LogState {
  readonly head: Head;
  readonly index = new LogIndex();
  readonly edits = new LogEdits();
  readonly #beforeSealed: () => void;
  readonly #writer: () => number;
  /** How many of the rows of the index are sealed. */
  #sealedRows = 0;
  #sealedSeq = 0;
  #pass: StoredPass = { number: 0, upTo: 0, upToRow: 0 };
  /** A pass that is under way, or was interrupted. */
  #begun: StoredPass | undefined;
  #without = { rows: 0, bytes: 0 };
  #isCutOff = false;
  #isWatching = false;
  #hasLearned = false;
  /** The position that the watcher of rules has confirmed; undefined where nobody follows. */
  #followedSeq: number | undefined;
  /** Number of the last row that is known. */
  #lastRow = 0;

  /** @param parts.beforeSealed called before the head forgets what is sealed. */
  constructor(parts: {
    readonly head: Head;
    readonly beforeSealed: () => void;
    readonly writer: () => number;
  }) {
    this.#writer = parts.writer;
    this.#beforeSealed = parts.beforeSealed;
    this.head = parts.head;
  }

  /** The number of this process's writer. */
  get writer(): number {
    return this.#writer();
  }

  get rows(): number {
    return this.head.rows;
  }

  get textChars(): number {
    return this.head.textChars;
  }

  get lastSeq(): number {
    return this.index.nextSeq - 1;
  }

  /** Number of the last row of the log that this process has read or appended. */
  get lastRow(): number {
    return this.#lastRow;
  }

  /** Number of the first row that this process needs: it is not sealed, or the watcher of rules has not confirmed it. */
  get neededRow(): number {
    return this.index.size === 0 ? this.#lastRow + 1 : this.index.at(0).number;
  }

  get sealedSeq(): number {
    return this.#sealedSeq;
  }

  /** The last whole pass of sealing, whichever server made it. */
  get passNumber(): number {
    return this.#pass.number;
  }

  /** Whether a pass has broken off, here or at another server: some datapoints are in the log and in chunks. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** Rows without datapoints, and their bytes, since all was sealed last: they have to go some time, too. */
  get without(): { readonly rows: number; readonly bytes: number } {
    return this.#without;
  }

  /** A row without datapoints was added. */
  noteWithout(bytes: number): void {
    this.#without = { rows: this.#without.rows + 1, bytes: this.#without.bytes + bytes };
  }

  get hasRows(): boolean {
    return this.#sealedRows < this.index.size;
  }

  get isHeadFull(): boolean {
    return this.head.rows > limits.headRowsMax || this.head.textChars > limits.headTextCharsMax;
  }

  get followedSeq(): number | undefined {
    return this.#followedSeq;
  }

  /** The watcher of rules is in this process. */
  confirm(seq: number | undefined): void {
    this.#followedSeq = seq;
    this.#isWatching = seq !== undefined;
  }

  /** Called at start, before rows are added. */
  startBehind(stored: {
    readonly pass: StoredPass;
    readonly begun: StoredPass | undefined;
    readonly followedSeq: number | undefined;
  }): void {
    this.#pass = stored.pass;
    this.#begun = stored.begun;
    this.#isCutOff = stored.begun !== undefined;
    this.#followedSeq = stored.followedSeq;
    this.#sealedSeq = stored.pass.upTo;
    this.#lastRow = stored.pass.upToRow;
    this.#sealedRows = 0;
    this.head.startBehind(stored.pass.upTo);
    this.index.startBehind(stored.pass.upTo);
  }

  /** Called at start, when all rows were added: where the log ends. */
  startAt({ number, position }: { readonly number: number; readonly position: number }): void {
    this.#lastRow = Math.max(this.#lastRow, number);
    this.index.skipTo(position);
  }

  /** A row that is sealed already; kept for the watcher. */
  addSealed(place: NumberedPlace, count: number, position: number): void {
    if (this.index.size === 0) this.index.startBehind(position - 1);
    this.index.add(place, count, position);
    this.#sealedRows = this.index.size;
  }

  /** Called when all sealed rows were added. */
  sealedAdded(): void {
    // Where rows of the sealed part are gone, those behind it keep their seqs all the same.
    this.index.skipTo(this.#sealedSeq + 1);
  }

  /** Adds the next row. @param position the seq of its first datapoint, which is returned. */
  add(place: NumberedPlace, count: number, position: number): number {
    this.#lastRow = place.number;
    return this.index.add(place, count, position);
  }

  /** The datapoints of a row that was added. */
  addDatapoints(content: Pick<DatapointBatch, 'rows' | 'texts'>, firstSeq: number): void {
    this.head.add(content, firstSeq);
  }

  /** Applies an edit that a row has, to what came before it. */
  applyEntry({ removal, correction }: Pick<LogRowContent, 'removal' | 'correction'>, firstSeq: number): void {
    const upToSeq = firstSeq - 1;
    if (removal !== undefined) this.edit({ upToSeq, removal });
    if (correction === undefined) return;
    const row = this.index.find(correction);
    if (row === undefined) return;
    const { sensor, atMs, value } = correction;
    this.edit({ upToSeq, correction: { sensor, atMs, seq: row.firstSeq + correction.index, value } });
  }

  edit(edit: LogEdit): void {
    this.edits.add(edit);
    if ('removal' in edit) this.head.remove(edit.removal, edit.upToSeq);
    else this.head.correct(edit.correction.seq, edit.correction.value);
  }

  /** Where the datapoint of a seq lies; undefined where it is not in the index. */
  placeOf(seq: number): (RowPlace & { readonly index: number }) | undefined {
    const at = this.index.firstBehind(seq - 1);
    if (at === this.index.size) return undefined;
    const { writer, seq: row, firstSeq } = this.index.at(at);
    return { writer, seq: row, index: seq - firstSeq };
  }

  /** The rows that are not sealed, `rowFields` numbers each. */
  get unsealedRows(): Float64Array {
    return this.index.slice(this.#sealedRows, this.index.size);
  }

  nextPass(rows: number): PassOrder | undefined {
    if (this.#sealedRows === this.index.size) return undefined;
    const to =
      this.#begun === undefined ? this.#endOfPass(rows) : this.index.endOfRow(this.#begun.upToRow, this.#sealedRows);
    // Where it is interrupted, some of its units are stored, or all: whoever goes on must do so up to the same row.
    const last = this.index.at(to - 1);
    this.#begun ??= { number: this.#pass.number + 1, upTo: lastOf(last), upToRow: last.number };
    return {
      ...this.#begun,
      writer: this.writer,
      rows: this.index.slice(this.#sealedRows, to),
      edits: [...this.edits.all],
    };
  }

  /** What the database says of passes and of the watcher's position. */
  learn({
    whole,
    begun,
    confirmed,
  }: {
    readonly whole: StoredPass | undefined;
    readonly begun: StoredPass | undefined;
    readonly confirmed: number | undefined;
  }): void {
    if (!this.#isWatching && (confirmed !== undefined || this.#hasLearned)) this.#followedSeq = confirmed;
    this.#hasLearned = confirmed !== undefined;
    if (whole !== undefined) this.sealed(whole);
    if (begun !== undefined && begun.number > this.#pass.number) this.#begun = begun;
    this.#isCutOff = begun !== undefined;
  }

  /** Rows were added that another server has sealed already. */
  sealedAhead(): void {
    if (this.#sealedRows === this.index.size || this.index.at(this.#sealedRows).number > this.#pass.upToRow) return;
    this.#forgetSealed();
  }

  /** All units of a pass are stored. */
  sealed({ number, upTo, upToRow }: StoredPass): void {
    if (number <= this.#pass.number) return;
    if ((this.#begun?.number ?? 0) <= number) this.#begun = undefined;
    this.#pass = { number, upTo, upToRow };
    this.#sealedSeq = upTo;
    this.#without = { rows: 0, bytes: 0 };
    this.#forgetSealed();
  }

  #forgetSealed(): void {
    const { upTo, upToRow } = this.#pass;
    this.#sealedRows = this.index.endOfRow(upToRow, this.#sealedRows);
    this.#beforeSealed();
    this.head.sealed(upTo);
    this.#drop();
  }

  /** Sealed rows that the watcher has read are not needed any more; nor are those beyond what is kept for it. */
  #drop(): void {
    const keptFrom = Math.max(
      this.#followedSeq ?? this.#sealedSeq,
      this.#sealedSeq - limits.replayBacklogDatapointsMax,
    );
    const count = Math.min(this.#sealedRows, this.index.endUpTo(keptFrom));
    this.index.drop(count);
    this.#sealedRows -= count;
    this.edits.drop(Math.min(this.#sealedSeq, keptFrom));
  }

  /** The oldest rows with so many datapoints, and one more where the last does not end there. */
  #endOfPass(rows: number): number {
    if (this.head.rows <= rows) return this.index.size;
    const to = this.index.firstBehind(this.#sealedSeq + rows - 1) + 1;
    return Math.max(this.#sealedRows + 1, this.index.endUpTo(lastOf(this.index.at(to - 1))));
  }
}

function lastOf({ firstSeq, count }: IndexedRow): number {
  return firstSeq + count - 1;
}
