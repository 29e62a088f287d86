// Keeps the write-ahead log short. Commits checkpoint it without waiting for readers (`walPagesMax`). While reads follow one
// another without a gap no such checkpoint completes, and the file grows: then a checkpoint is made that waits for readers, and
// writes wait for it. Used by the writer thread.
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';

export class WalBounds {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #truncate: StatementSync;
  #isTight = false;
  #lookMs = 0;
  #retryMs = 0;
  #longRetryMs = 0;

  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = `${path}-wal`;
    this.#truncate = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Keeps the log shorter from now on, because the disk has little room; or no longer. */
  setTight(isTight: boolean): void {
    if (isTight === this.#isTight) return;
    this.#isTight = isTight;
    const pages = isTight ? limits.walPagesTight : limits.walPagesMax;
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${this.#bytesKept}`);
  }

  /**
   * Called after each commit; looks at the file now and then.
   * @throws Error of SQLite where the database file cannot take what the log holds.
   */
  committed(): void {
    const nowMs = performance.now();
    if (nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + limits.walLookMs;
    const { bytes } = this;
    if (bytes <= this.#bytesKept || nowMs < this.#retryMs) return;
    const isLong = bytes > limits.walBytesLong && nowMs >= this.#longRetryMs;
    const isEmpty = this.shorten(isLong ? limits.walLongWaitMs : limits.walWaitMs);
    const endMs = performance.now();
    if (isLong && !isEmpty) this.#longRetryMs = endMs + limits.walLongRetryMs;
    this.#retryMs = isEmpty ? 0 : endMs + limits.walRetryMs;
  }

  /**
   * Moves all of the log into the database and makes its file empty, after it has waited for readers of an earlier state.
   * @returns false where one of them took longer.
   * @throws Error of SQLite where the database file cannot take it.
   */
  shorten(waitMs: number): boolean {
    this.#database.exec(`PRAGMA busy_timeout = ${waitMs}`);
    try {
      return this.#truncate.get()?.['busy'] === 0;
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${limits.databaseBusyMs}`);
    }
  }

  /** Bytes of the file, whatever of it is in use. */
  get bytes(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  get #bytesKept(): number {
    return this.#isTight ? limits.walBytesTight : limits.walBytesKept;
  }
}
