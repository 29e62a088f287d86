// One removal of datapoints: first from the log, then from chunks, in steps of one transaction each. What does not fit
// into one step is noted in the table `deletion`, in the commit of its first step, and completed at the next start where
// it was cut off (decision 37). Run by datapoint-edits.ts in the writer thread.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { SeqSpan } from '../../shared/log/piece-edits.ts';
import type { EditResult, RemovalOrder } from '../../shared/sealing/edit-order.ts';
import { writeFailureOf } from '../database/database-error.ts';
import { fromColumn, toColumn, type ValueColumn } from '../database/value-column.ts';
import { LogEdits } from '../log/log-edits.ts';
import { forgetRepeatedBodies } from '../log/receipts.ts';
import { ChunkReader } from '../reads/chunk-reader.ts';
import { ChunkEdits, type ChunkPlace, DamagedPage } from './chunk-edits.ts';
import { creditSql } from './retention.ts';

/** The statements that removals and corrections share. */
export class EditStatements {
  readonly database: DatabaseSync;
  readonly log: LogEdits;
  readonly chunks: ChunkEdits;
  readonly #reader: ChunkReader;
  readonly #credit: StatementSync;
  readonly #forgetBodies: StatementSync;
  readonly #ids: StatementSync;
  readonly note: StatementSync;
  readonly forget: StatementSync;
  readonly forgetTwins: StatementSync;

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
    this.forgetTwins = database.prepare(
      'DELETE FROM deletion WHERE sensor = ? AND first = ? AND last = ? AND value IS ?',
    );
    this.#ids = database.prepare(
      'SELECT device.id AS device, sensor.id AS sensor FROM sensor JOIN device ON device.key = sensor.device WHERE sensor.key = ?',
    );
  }

  /** Datapoints of the sensor up to this seq are read from chunks. */
  sealedSeq(sensor: SensorKey): number {
    return this.#reader.sealedSeq(sensor);
  }

  /** A sensor as people know it. Never throws, because it is asked while damage is told. */
  sensorName(sensor: SensorKey): string {
    try {
      const ids = this.#ids.get(sensor) as { device: string; sensor: string } | undefined;
      return ids === undefined ? 'a sensor that is no longer there' : `sensor ${ids.sensor} of device ${ids.device}`;
    } catch {
      return `the sensor with the key ${sensor}`;
    }
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
  /** The last chunk that is done, in order; undefined: of the chunks that end at or after `fromMs` none is done yet. */
  readonly after: ChunkPlace | undefined;
  readonly fromMs: number;
  readonly removed: number;
  readonly unreadable: number;
}

export class DatapointRemoval {
  readonly #order: RemovalOrder;
  readonly #statements: EditStatements;
  #progress: Progress;
  /** Chunks that were passed over, because their pages are damaged. */
  readonly #unreadable = new Map<number, number>();

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

  /** What it is, as the beginning of a sentence. */
  describe(): string {
    const { sensor, fromMs, toMs } = this.#order;
    const span = `between ${textOf(fromMs)} and ${textOf(toMs)}`;
    return `A removal of datapoints of ${this.#statements.sensorName(sensor)} ${span}`;
  }

  /** What the caller is told where a page of the database is damaged. */
  get damageDetail(): string {
    if (!this.hasBegun)
      return 'Nothing was removed: the database is damaged where these datapoints lie. dundun check tells more.';
    return `${this.#progress.removed} datapoints were removed. Where the others lie the database is damaged: they stay until that is put right and the service was started again. dundun check tells more.`;
  }

  /**
   * One step, in a transaction of its own.
   * @returns true when all is done.
   */
  step(): boolean {
    try {
      return this.#step();
    } catch (error) {
      if (!(error instanceof DamagedPage)) throw error;
      if (this.#unreadable.size === limits.editDamagedChunksMax) throw error.cause;
      // The next step passes over that chunk.
      this.#unreadable.set(error.chunk, error.count);
      return false;
    }
  }

  #step(): boolean {
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
      const chunk = chunks.removeFromNext(this.#order, { ...progress, unreadable: this.#unreadable });
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
    chunks.followLatest(this.#order, this.#unreadable);
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
    const { note, forget, forgetTwins } = this.#statements;
    if (isDone) {
      if (id !== undefined) forget.run(id);
      return id;
    }
    if (id !== undefined) return id;
    const { sensor, fromMs, toMs, firstSeq, lastSeq } = this.#order;
    const value = this.#order.value === undefined ? null : toColumn(this.#order.value);
    // Damage may have ended the same removal before: this one does what that has left, so one note is enough.
    forgetTwins.run(sensor, fromMs, toMs, value);
    return note.get(sensor, fromMs, toMs, value, firstSeq, lastSeq)?.['id'] as number;
  }
}

/**
 * Completes the removals that a stop has cut off. Called at start, before anything else uses the database. One that cannot be
 * completed stays noted.
 * @param makeRoom called where the disk is full; true where the removal may be tried again.
 * @returns a sentence about each removal that stays.
 */
export function completeRemovals(database: DatabaseSync, makeRoom: () => boolean): string[] {
  const left: string[] = [];
  let noted: readonly NotedRemoval[] = [];
  try {
    noted = listNoted(database);
  } catch (error) {
    return [`The removals of datapoints that a stop has cut off cannot be read: ${messageOf(error)} ${advice}`];
  }
  if (noted.length === 0) return left;
  const statements = new EditStatements(database, () => false);
  for (const { id, value, ...order } of noted) {
    const wanted = value === null ? {} : { value: fromColumn(value) };
    const removal = new DatapointRemoval({ ...order, ...wanted }, statements, id);
    const fault = complete(removal, makeRoom);
    if (fault !== undefined)
      left.push(`${removal.describe()}, which a stop has cut off, cannot be completed: ${fault} ${advice}`);
  }
  return left;
}

type NotedRemoval = RemovalOrder & { readonly id: number; readonly value: ValueColumn | null };

const advice =
  'The service runs without that, and tries again at each start. Free room on the disk where it is full; else "dundun check" tells what is damaged.';

function listNoted(database: DatabaseSync): readonly NotedRemoval[] {
  const columns = 'id, sensor, first AS fromMs, last AS toMs, value, log_first AS firstSeq, log_last AS lastSeq';
  return database.prepare(`SELECT ${columns} FROM deletion ORDER BY id`).all() as unknown as NotedRemoval[];
}

/** Why it could not be completed; undefined where it was. */
function complete(removal: DatapointRemoval, makeRoom: () => boolean): string | undefined {
  for (;;) {
    try {
      while (!removal.step());
      return undefined;
    } catch (error) {
      if (writeFailureOf(error).isFull !== true || !makeRoom()) return messageOf(error);
    }
  }
}

function messageOf(error: unknown): string {
  return `${writeFailureOf(error).message}.`;
}

function textOf(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : 'any time';
}
