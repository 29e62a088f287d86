// Room on the disk for the writer thread: has the reserve given up when a write finds the disk full, so that removals,
// sealing and checkpoints go on, and taken again when there is room; meanwhile no datapoints are taken. Keeps the
// write-ahead log short.
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import { writeFailureOf } from '../database/database-error.ts';
import { DiskReserve } from '../database/disk-reserve.ts';
import { WalBounds } from '../database/wal-bounds.ts';
import type { ReserveState } from './writer-protocol.ts';

export class DiskRoom {
  readonly #reserve: DiskReserve;
  readonly #wal: WalBounds;
  readonly #onChange: (state: ReserveState) => void;
  #state: ReserveState | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync, path: string, onChange: (state: ReserveState) => void) {
    this.#reserve = new DiskReserve(dirname(path));
    this.#wal = new WalBounds(database, path);
    this.#onChange = onChange;
    // A start, or the service before it, has given up some of it.
    if (this.#reserve.missingBytes > 0) this.#setState('in use');
    this.#look();
  }

  /** True from when some of the reserve was given up until the disk has room for it again. */
  get isInUse(): boolean {
    return this.#state === 'in use';
  }

  /**
   * Makes room after a write has failed because the disk is full.
   * @returns whether it may succeed now.
   */
  make(failure: WriteFailure): boolean {
    if (failure.isFull !== true) return false;
    const isGiven = this.#reserve.giveUp();
    if (isGiven) this.#setState('in use');
    // What the log holds may fit into the database file now, and then its own room is free too.
    return this.#shorten() || isGiven;
  }

  /** Called after each commit. */
  committed(): void {
    try {
      this.#wal.committed();
    } catch (error) {
      // A checkpoint that fails loses nothing, and is made again; room for it is made now.
      this.make(writeFailureOf(error));
    }
  }

  /** Empties the log, so that the next start needs as little room as possible. */
  close(): void {
    clearTimeout(this.#timer);
    try {
      while (!this.#tryToEmpty());
    } finally {
      this.#reserve.close();
    }
  }

  /** @returns false where the write-ahead log could not be emptied yet; the caller tries again. */
  #tryToEmpty(): boolean {
    try {
      this.#wal.shorten(limits.walLongWaitMs);
      return true;
    } catch (error) {
      if (writeFailureOf(error).isFull === true && this.#reserve.giveUp()) return false;
      throw error;
    }
  }

  #look(): void {
    let isTaking = false;
    try {
      const { freeBytes, bytes, missingBytes } = this.#reserve;
      this.#wal.setTight(freeBytes + bytes < limits.diskTightBytes);
      if (this.isInUse && freeBytes >= missingBytes + limits.walBytesTight) this.#setState('taking');
      if (this.isInUse) this.#shorten();
      else isTaking = this.#take();
    } catch {
      // A file system that does not answer: commits say so.
    }
    this.#timer = setTimeout(() => this.#look(), isTaking ? limits.reserveStepMs : limits.reserveLookMs);
  }

  /** Takes a step of the reserve; true while more is to be taken. */
  #take(): boolean {
    let isTaking = false;
    try {
      isTaking = this.#reserve.take();
    } catch {
      // Refused by the file system: tried again with the next look.
    }
    if (!isTaking) this.#setState(this.#reserve.bytes < limits.reserveFileBytes ? 'partial' : 'whole');
    return isTaking;
  }

  /** @returns whether the log's file gave any room back. */
  #shorten(): boolean {
    const before = this.#wal.bytes;
    if (before === 0) return false;
    try {
      this.#wal.shorten(limits.walWaitMs);
    } catch {
      // The disk is too full for a whole checkpoint. The part that was copied before the error counts.
    }
    return this.#wal.bytes < before;
  }

  #setState(state: ReserveState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#onChange(state);
  }
}
