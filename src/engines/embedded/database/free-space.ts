// Returns free pages of the database file to the file system, in small steps. While datapoints keep coming, free pages
// are needed again soon, so only those that stayed free for some minutes are returned; when nothing comes, nearly all.
// Called by the writer thread between commits. Files made by earlier releases (without auto_vacuum) keep their size.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';

/** Steps of vacuuming after which a checkpoint truncates the file. */
const stepsUncutMax = 16;

export class FreeSpace {
  readonly #database: DatabaseSync;
  readonly #free: StatementSync;
  readonly #all: StatementSync;
  readonly #checkpoint: StatementSync;
  readonly #canShrink: boolean;
  /**
   * The lowest number of free pages seen in the present time span and in the previous one: so many pages were not needed.
   */
  #fewest = Number.POSITIVE_INFINITY;
  #fewestBefore = 0;
  #spanEndMs: number;
  /** Steps of vacuuming since the last checkpoint that truncated the file. */
  #uncut = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#free = database.prepare('PRAGMA freelist_count');
    this.#all = database.prepare('PRAGMA page_count');
    this.#checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    this.#canShrink = database.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'] === 2;
    this.#spanEndMs = performance.now() + limits.freePagesSpanMs;
  }

  /**
   * Does one step if one is due, in a short transaction of its own. `isAtRest`: nothing has been written for a while.
   */
  tend({ isAtRest }: { readonly isAtRest: boolean }): void {
    if (this.#surplus(isAtRest) > 0) this.#vacuumStep();
    else if (this.#uncut > 0) this.#cutOff();
  }

  /** Number of free pages to return. */
  #surplus(isAtRest: boolean): number {
    if (!this.#canShrink) return 0;
    const free = Number(this.#free.get()?.['freelist_count']);
    const nowMs = performance.now();
    if (nowMs >= this.#spanEndMs) {
      this.#fewestBefore = this.#fewest;
      this.#fewest = free;
      this.#spanEndMs = nowMs + limits.freePagesSpanMs;
    }
    this.#fewest = Math.min(this.#fewest, free);
    const unneeded = isAtRest ? free : Math.min(this.#fewest, this.#fewestBefore);
    const all = Number(this.#all.get()?.['page_count']);
    return Math.min(unneeded, free) - Math.max(limits.freePagesKept, all * limits.freePagesShareKept);
  }

  #vacuumStep(): void {
    this.#database.exec(`PRAGMA incremental_vacuum(${limits.freePagesStep})`);
    this.#fewest -= limits.freePagesStep;
    this.#fewestBefore -= limits.freePagesStep;
    this.#uncut += 1;
    if (this.#uncut >= stepsUncutMax) this.#cutOff();
  }

  /**
   * Checkpoints the write-ahead log, which truncates the file. PASSIVE waits for no reader; where one holds an older
   * snapshot, the next call tries again.
   */
  #cutOff(): void {
    this.#uncut = 0;
    try {
      const { log, checkpointed } = this.#checkpoint.get() as { log: number; checkpointed: number };
      if (checkpointed < log) this.#uncut = 1;
    } catch {
      // A disk that refuses the checkpoint loses nothing: the next write reports it, and commits checkpoint by
      // themselves.
    }
  }
}
