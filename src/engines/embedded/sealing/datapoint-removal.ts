// One removal of datapoints: first from the log, then from chunks, in steps of one transaction each. What does not fit
// into one step is noted in the table `deletion`, in the commit of its first step, and completed at the next start where
// it was cut off (decision 37). Run by datapoint-edits.ts in the writer thread.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { EditResult, RemovalOrder } from '../database/database-writer.ts';
import { fromColumn, toColumn, type ValueColumn } from '../database/value-column.ts';
import { LogEdits, type SeqSpan } from '../log/log-edits.ts';
import { forgetRepeatedBodies } from '../log/receipts.ts';
import { ChunkReader } from '../reads/chunk-reader.ts';
import { ChunkEdits, type ChunkPlace } from './chunk-edits.ts';
import { creditSql } from './retention.ts';

/** The statements that removals and corrections share. */
export class EditStatements {
  readonly database: DatabaseSync;
  readonly log: LogEdits;
  readonly chunks: ChunkEdits;
  readonly #reader: ChunkReader;
  readonly #credit: StatementSync;
  readonly #forgetBodies: StatementSync;
  readonly note: StatementSync;
  readonly forget: StatementSync;

  /** @param isSealing whether a pass of sealing is under way. */
  constructor(database: DatabaseSync, isSealing: () => boolean) {
    this.database = database;
    this.log = new LogEdits(database);
    this.chunks = new ChunkEdits(database, isSealing);
    this.#reader = new ChunkReader(database, { decodedBytesMax: 0 });
    this.#credit = database.prepare(creditSql);
    this.#forgetBodies = database.prepare(forgetRepeatedBodies(0 as SensorKey).sql);
    this.note = database.prepare(
      'INSERT INTO deletion (sensor, first, last, value, log_first, log_last) VALUES (?, ?, ?, ?, ?, ?) RETURNING id',
    );
    this.forget = database.prepare('DELETE FROM deletion WHERE id = ?');
  }

  /** Datapoints of the sensor up to this seq are read from chunks. */
  sealedSeq(sensor: SensorKey): number {
    return this.#reader.sealedSeq(sensor);
  }

  /** What every commit that changes datapoints of a sensor includes; `removed`: how many are no longer there. */
  changed(sensor: SensorKey, removed: number): void {
    if (removed > 0) this.#credit.run(removed, sensor);
    this.#forgetBodies.run(...forgetRepeatedBodies(sensor).parameters);
  }

  inTransaction<T>(work: () => T): T {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.database.exec('COMMIT');
      return result;
    } finally {
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
    }
  }
}

/** How far a removal has come; replaced with each commit. */
interface Progress {
  /** Id in the table `deletion`; undefined before the first step, or where one step is enough. */
  readonly id: number | undefined;
  /** The log is done before this seq. */
  readonly nextSeq: number;
  /** Chunks are done up to this one; undefined: none of those that end at or after `fromMs`. */
  readonly after: ChunkPlace | undefined;
  readonly fromMs: number;
  readonly removed: number;
  readonly unreadable: number;
}

export class DatapointRemoval {
  readonly #order: RemovalOrder;
  readonly #statements: EditStatements;
  #progress: Progress;

  constructor(order: RemovalOrder, statements: EditStatements, id?: number) {
    this.#order = order;
    this.#statements = statements;
    const { firstSeq: nextSeq, fromMs } = order;
    this.#progress = { id, nextSeq, after: undefined, fromMs, removed: 0, unreadable: 0 };
  }

  /** True once a part of it is on disk: then it must be completed. */
  get hasBegun(): boolean {
    return this.#progress.id !== undefined;
  }

  /** True where the next step changes the log: no pass of sealing may be under way. */
  get isInLog(): boolean {
    const { sensor, lastSeq } = this.#order;
    return this.#progress.nextSeq <= lastSeq && lastSeq > this.#statements.sealedSeq(sensor);
  }

  /** How many were removed, and how many could not be read. */
  get result(): EditResult {
    return [this.#progress.removed, this.#progress.unreadable];
  }

  /**
   * One step, in a transaction of its own.
   * @returns true when all is done.
   */
  step(): boolean {
    const { sensor } = this.#order;
    const { progress, isDone } = this.#statements.inTransaction(() => {
      const before = this.#progress;
      const after = this.#work(before);
      this.#statements.changed(sensor, after.progress.removed - before.removed);
      const id = this.#note(before.id, after.isDone);
      return { ...after, progress: { ...after.progress, id } };
    });
    this.#progress = progress;
    return isDone;
  }

  /** Sealing has replaced chunks: those at the place that was reached are looked at once more. */
  chunksReplaced(): void {
    const { after, fromMs } = this.#progress;
    if (after !== undefined)
      this.#progress = { ...this.#progress, after: undefined, fromMs: Math.max(fromMs, after.last) };
  }

  #work(before: Progress): { readonly progress: Progress; readonly isDone: boolean } {
    const { log, chunks } = this.#statements;
    const endMs = performance.now() + limits.editStepMs;
    let progress = before;
    for (let pieces = 0; pieces < limits.editStepPieces && performance.now() < endMs; pieces++) {
      const isInLog = progress.nextSeq <= this.#order.lastSeq;
      if (isInLog) {
        const row = log.removeFromRow(this.#order, this.#unsealed(progress.nextSeq));
        const nextSeq = row?.nextSeq ?? this.#order.lastSeq + 1;
        progress = { ...progress, nextSeq, removed: progress.removed + (row?.removed ?? 0) };
        continue;
      }
      const chunk = chunks.removeFromNext(this.#order, progress);
      if (chunk === undefined) return { progress: this.#finish(progress), isDone: true };
      progress = {
        ...progress,
        after: chunk.place,
        removed: progress.removed + chunk.removed,
        unreadable: progress.unreadable + chunk.unreadable,
      };
    }
    return { progress, isDone: false };
  }

  #finish(progress: Progress): Progress {
    const { chunks } = this.#statements;
    const aside = chunks.removeAside(this.#order);
    chunks.followLatest(this.#order);
    return {
      ...progress,
      removed: progress.removed + aside.removed,
      unreadable: progress.unreadable + aside.unreadable,
    };
  }

  /** The part of the log that is left to look at; what is sealed is found in chunks. */
  #unsealed(nextSeq: number): SeqSpan {
    const { sensor, lastSeq } = this.#order;
    return { firstSeq: Math.max(nextSeq, this.#statements.sealedSeq(sensor) + 1), lastSeq };
  }

  #note(id: number | undefined, isDone: boolean): number | undefined {
    const { note, forget } = this.#statements;
    if (isDone) {
      if (id !== undefined) forget.run(id);
      return id;
    }
    if (id !== undefined) return id;
    const { sensor, fromMs, toMs, value, firstSeq, lastSeq } = this.#order;
    const row = note.get(sensor, fromMs, toMs, value === undefined ? null : toColumn(value), firstSeq, lastSeq);
    return row?.['id'] as number;
  }
}

/**
 * Completes the removals that a stop has cut off. Called at start, before anything else uses the database.
 * @returns how many there were.
 */
export function completeRemovals(database: DatabaseSync): number {
  const rows = database
    .prepare(
      'SELECT id, sensor, first AS fromMs, last AS toMs, value, log_first AS firstSeq, log_last AS lastSeq FROM deletion ORDER BY id',
    )
    .all() as unknown as (RemovalOrder & { readonly id: number; readonly value: ValueColumn | null })[];
  if (rows.length === 0) return 0;
  const statements = new EditStatements(database, () => false);
  for (const { id, value, ...order } of rows) {
    const wanted = value === null ? {} : { value: fromColumn(value) };
    const removal = new DatapointRemoval({ ...order, ...wanted }, statements, id);
    while (!removal.step());
  }
  return rows.length;
}
