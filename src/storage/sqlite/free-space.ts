// Gives pages that hold nothing any more back to the file system, some at a time, where they are many: what the log leaves
// free it soon needs again, what a removed sensor or an age limit leaves free stays. Called by the writer thread between
// commits. Folders made by earlier releases keep their size; a backup that is restored does not have the free pages.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';

export class FreeSpace {
  readonly #database: DatabaseSync;
  readonly #free: StatementSync;
  readonly #all: StatementSync;
  readonly #canShrink: boolean;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#free = database.prepare('PRAGMA freelist_count');
    this.#all = database.prepare('PRAGMA page_count');
    this.#canShrink = database.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'] === 2;
  }

  /** True when more is free than is worth keeping. */
  get isDue(): boolean {
    const free = Number(this.#free.get()?.['freelist_count']);
    const all = Number(this.#all.get()?.['page_count']);
    return this.#canShrink && free > Math.max(limits.freePagesKept, all / 5);
  }

  /** Gives some of it back, in a transaction of its own. */
  giveBack(): void {
    this.#database.exec(`PRAGMA incremental_vacuum(${limits.freePagesStep})`);
  }
}
