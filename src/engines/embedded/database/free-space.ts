// Gives pages that hold nothing any more back to the file system, some at a time: what the log leaves free it needs again
// soon where datapoints keep coming, but what was free for minutes, and all of it where nothing comes any more, only makes
// the file larger. Called by the writer thread between commits. Files made by earlier releases
// (without auto_vacuum) keep their size.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';

/** Steps after which what they gave back is cut off. */
const stepsUncutMax = 16;

export class FreeSpace {
  readonly #database: DatabaseSync;
  readonly #free: StatementSync;
  readonly #all: StatementSync;
  readonly #checkpoint: StatementSync;
  readonly #canShrink: boolean;
  /** The fewest free pages that were seen in this span of time and in the one before: so many nobody needed. */
  #fewest = Number.POSITIVE_INFINITY;
  #fewestBefore = 0;
  #spanEndMs: number;
  /** Steps of giving back that the file has not become smaller by yet. */
  #uncut = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#free = database.prepare('PRAGMA freelist_count');
    this.#all = database.prepare('PRAGMA page_count');
    this.#checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    this.#canShrink = database.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'] === 2;
    this.#spanEndMs = performance.now() + limits.freePagesSpanMs;
  }

  /** Does what is due now, in a short transaction of its own; `isAtRest` where nothing has been written for a while. */
  tend({ isAtRest }: { readonly isAtRest: boolean }): void {
    if (this.#surplus(isAtRest) > 0) this.#giveBack();
    else if (this.#uncut > 0) this.#cutOff();
  }

  /** Free pages that are not worth keeping. */
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

  #giveBack(): void {
    this.#database.exec(`PRAGMA incremental_vacuum(${limits.freePagesStep})`);
    this.#fewest -= limits.freePagesStep;
    this.#fewestBefore -= limits.freePagesStep;
    this.#uncut += 1;
    if (this.#uncut >= stepsUncutMax) this.#cutOff();
  }

  /**
   * The file becomes smaller when all of the write-ahead log has gone into it. Waits for nobody: where somebody reads what was
   * before, it is tried again; where the disk refuses, it comes with one of the checkpoints that commits bring.
   */
  #cutOff(): void {
    this.#uncut = 0;
    try {
      const { log, checkpointed } = this.#checkpoint.get() as { log: number; checkpointed: number };
      if (checkpointed < log) this.#uncut = 1;
    } catch {
      // Nothing is lost by it, and whoever writes next hears from the disk.
    }
  }
}
