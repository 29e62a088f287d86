// The tables that the log consists of. One is appended to; when it has grown, an empty one is next. A table is emptied when
// nobody needs its rows any more: truncated, because deleted rows would have to be vacuumed.
import { limits } from '../../../config/limits.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { ringSize } from './log-writer.ts';

interface Ring {
  bytes: number;
  rows: number;
  /** Its rows are among the first so many that this process has known. */
  upToRow: number;
  /** Writers that have rows in it. */
  readonly writers: Set<number>;
}

export class LogRings {
  readonly #database: PostgresDatabase;
  readonly #rings: readonly Ring[] = Array.from({ length: ringSize }, () => ({
    bytes: 0,
    rows: 0,
    upToRow: 0,
    writers: new Set<number>(),
  }));
  #current = 0;
  /** The table to which appends turn with the next one. */
  #next: number | undefined;
  /** Number of rows added. */
  #rows = 0;
  /** Called where a table could not be emptied; that is tried again after the next pass. */
  onFailure: (error: Error) => void = () => {};

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** The table to append to; call it before each append. */
  turn(): number {
    if (this.#next !== undefined) this.#current = this.#next;
    this.#next = undefined;
    return this.#current;
  }

  /** Bytes of all rows, about. */
  get bytes(): number {
    return this.#rings.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  has(writer: number): boolean {
    return this.#rings.some(({ writers }) => writers.has(writer));
  }

  /** Notes a row, whether this process needs it (`isKept`) or not, as at start. */
  add({ ring, writer, bytes, isKept = true }: { ring: number; writer: number; bytes: number; isKept?: boolean }): void {
    const one = this.#rings[ring] as Ring;
    one.bytes += bytes;
    one.rows += 1;
    one.writers.add(writer);
    if (!isKept) return;
    this.#rows += 1;
    one.upToRow = this.#rows;
  }

  /** Called at start, when all rows were added: appends go to an empty table, or the one that was added to last. */
  start(): number {
    const empty = this.#rings.findIndex(({ rows }) => rows === 0);
    const newest = this.#rings.reduce(
      (best, { upToRow }, n) => (upToRow > (this.#rings[best] as Ring).upToRow ? n : best),
      0,
    );
    this.#current = empty >= 0 ? empty : newest;
    return this.#current;
  }

  /** Empties tables whose rows are all among the first `dropped`. */
  async tend(dropped: number): Promise<void> {
    for (const [n, ring] of this.#rings.entries()) {
      if (n === this.#current || n === this.#next || ring.rows === 0 || ring.upToRow > dropped) continue;
      if (await this.#empty(n)) Object.assign(ring, { bytes: 0, rows: 0, upToRow: 0, writers: new Set() });
    }
    const isLarge = (this.#rings[this.#current] as Ring).bytes >= limits.logRingBytes;
    if (isLarge) this.#next ??= this.#empties()[0];
  }

  #empties(): number[] {
    return [...this.#rings.keys()].filter((n) => n !== this.#current && (this.#rings[n] as Ring).rows === 0);
  }

  /** Waits for no reader for long: appends and reads would queue behind it. */
  async #empty(ring: number): Promise<boolean> {
    try {
      await this.#database.transaction(async (connection) => {
        await connection.query(`SET LOCAL lock_timeout = ${limits.logRingLockMs}`);
        await connection.query(`TRUNCATE log_${ring}`);
      });
      return true;
    } catch (error) {
      this.onFailure(error as Error);
      return false;
    }
  }
}
