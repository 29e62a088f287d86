// What this process knows of the log: the head, which rows hold which datapoints, how far all is sealed and followed, and the
// tables of the ring. Read from the database at start, kept with each commit and each pass of sealing.
import { limits } from '../../../config/limits.ts';
import type { DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import type { Head } from '../../shared/head/head.ts';
import { type LogEdit, LogEdits } from './log-edits.ts';
import { type IndexedRow, LogIndex } from './log-index.ts';
import type { LogRings } from './log-rings.ts';
import type { LogRowContent, RowPlace } from './log-row.ts';
import type { PassOrder } from './store-protocol.ts';

/** The last row of each writer that is sealed, or before a place. */
export type Positions = readonly (readonly [writer: number, seq: number])[];

/** A pass of sealing as the table `seal_pass` has it. */
export interface StoredPass {
  readonly number: number;
  readonly upTo: number;
  readonly positions: Positions;
}

export class LogState {
  readonly head: Head;
  readonly index = new LogIndex();
  readonly edits = new LogEdits();
  readonly rings: LogRings;
  readonly #beforeSealed: () => void;
  readonly #writer: () => number;
  /** How many of the rows of the index are sealed. */
  #sealedRows = 0;
  #sealedSeq = 0;
  #pass: StoredPass = { number: 0, upTo: 0, positions: [] };
  /** A pass that is under way, or was interrupted. */
  #begun: StoredPass | undefined;
  /** The position that the watcher of rules has confirmed; undefined where nobody follows. */
  #followedSeq: number | undefined;
  /** How many rows of the index were dropped. */
  #dropped = 0;

  /** @param parts.beforeSealed called before the head forgets what is sealed. */
  constructor(parts: {
    readonly head: Head;
    readonly rings: LogRings;
    readonly beforeSealed: () => void;
    readonly writer: () => number;
  }) {
    this.#writer = parts.writer;
    this.#beforeSealed = parts.beforeSealed;
    this.head = parts.head;
    this.rings = parts.rings;
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

  get sealedSeq(): number {
    return this.#sealedSeq;
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

  confirm(seq: number | undefined): void {
    this.#followedSeq = seq;
  }

  /** Called at start, before rows are added. */
  startBehind(stored: {
    readonly pass: StoredPass;
    readonly begun: StoredPass | undefined;
    readonly followedSeq: number | undefined;
  }): void {
    this.#pass = stored.pass;
    this.#begun = stored.begun;
    this.#followedSeq = stored.followedSeq;
    this.#sealedSeq = stored.pass.upTo;
    this.head.startBehind(stored.pass.upTo);
    this.index.startBehind(stored.pass.upTo);
  }

  /** A row that is sealed already; kept for the watcher. */
  addSealed(place: RowPlace, count: number, position: number): void {
    if (this.index.size === 0) this.index.startBehind(position - 1);
    this.index.add(place, count, position);
    this.#sealedRows = this.index.size;
  }

  /** Called when all sealed rows were added. */
  sealedAdded(): void {
    // Where rows of the sealed part are gone, those behind it keep their seqs all the same.
    this.index.skipTo(this.#sealedSeq + 1);
  }

  /** @param position the number that its own process gave its first datapoint. @returns the seq of that, here. */
  add(place: RowPlace, count: number, position = 0): number {
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

  /** The last row of each writer whose rows are in the index. */
  get positions(): Positions {
    return this.#positionsTo(this.index.size);
  }

  nextPass(rows: number): PassOrder | undefined {
    if (this.#sealedRows === this.index.size) return undefined;
    const to = this.#begun === undefined ? this.#endOfPass(rows) : this.#endOf(this.#begun);
    // Where it is interrupted, some of its units are stored, or all: whoever goes on must do so up to the same row.
    this.#begun ??= {
      number: this.#pass.number + 1,
      upTo: lastOf(this.index.at(to - 1)),
      positions: this.#positionsTo(to),
    };
    return {
      ...this.#begun,
      writer: this.#writer(),
      rows: this.index.slice(this.#sealedRows, to),
      edits: [...this.edits.all],
      followedSeq: this.#followedSeq,
    };
  }

  /** All units of a pass are stored. */
  async sealed({ number, upTo, positions, rows }: PassOrder): Promise<void> {
    this.#pass = { number, upTo, positions };
    this.#begun = undefined;
    this.#sealedSeq = upTo;
    this.#sealedRows += rows.length / this.index.fields;
    this.#beforeSealed();
    this.head.sealed(upTo);
    this.#drop();
    await this.rings.tend(this.#dropped);
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
    this.#dropped += count;
    this.edits.drop(Math.min(this.#sealedSeq, keptFrom));
  }

  /** The oldest rows with so many datapoints, and one more where the last does not end there. */
  #endOfPass(rows: number): number {
    if (this.head.rows <= rows) return this.index.size;
    const to = this.index.firstBehind(this.#sealedSeq + rows - 1) + 1;
    return Math.max(this.#sealedRows + 1, this.index.endUpTo(lastOf(this.index.at(to - 1))));
  }

  #endOf({ positions }: StoredPass): number {
    const seqs = new Map(positions);
    let to = this.#sealedRows;
    for (; to < this.index.size; to++) {
      const { writer, seq } = this.index.at(to);
      if (seq > (seqs.get(writer) ?? 0)) break;
    }
    return to;
  }

  /** The last row of each writer up to an index, on from those of the last pass that are in the ring still. */
  #positionsTo(to: number): Positions {
    const seqs = new Map(this.#pass.positions);
    for (let at = this.#sealedRows; at < to; at++) {
      const { writer, seq } = this.index.at(at);
      seqs.set(writer, seq);
    }
    return [...seqs].filter(([writer]) => this.rings.has(writer));
  }
}

function lastOf({ firstSeq, count }: IndexedRow): number {
  return firstSeq + count - 1;
}
