// Gives pages that hold nothing any more back to the file system, some at a time: what the log leaves free it needs again
// soon where datapoints keep coming, but what was free for minutes, and all of it where nothing comes any more, only makes
// the file larger. Called by the writer thread between commits. Folders made by earlier releases keep their size; a backup
// that is restored does not have the free pages.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';

export class FreeSpace {
  readonly #database: DatabaseSync;
  readonly #free: StatementSync;
  readonly #all: StatementSync;
  readonly #canShrink: boolean;
  /** The fewest free pages that were seen in this span of time and in the one before: so many nobody needed. */
  #fewest = Number.POSITIVE_INFINITY;
  #fewestBefore = 0;
  #spanEndMs: number;
  #isTidy = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#free = database.prepare('PRAGMA freelist_count');
    this.#all = database.prepare('PRAGMA page_count');
    this.#canShrink = database.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'] === 2;
    this.#spanEndMs = performance.now() + limits.freePagesSpanMs;
  }

  /** Does what is due now, in a short transaction of its own; `isAtRest` where nothing has been written for a while. */
  tend({ isAtRest }: { readonly isAtRest: boolean }): void {
    if (!isAtRest) this.#isTidy = false;
    if (this.#surplus(isAtRest) > 0) this.#giveBack();
    else if (isAtRest && !this.#isTidy) this.#tidy();
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
    this.#isTidy = false;
  }

  /** The file becomes smaller when the write-ahead log has gone into it; where somebody reads, that is tried again. */
  #tidy(): void {
    const { timeout } = this.#database.prepare('PRAGMA busy_timeout').get() as { timeout: number };
    this.#database.exec('PRAGMA busy_timeout = 0');
    try {
      const { busy } = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
      this.#isTidy = busy === 0;
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${timeout}`);
    }
  }
}
