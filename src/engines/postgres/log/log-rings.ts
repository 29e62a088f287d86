// The tables that the log consists of. One is appended to, that which `log_end` names; when it has grown, an empty one is next. A
// table is emptied when nobody needs its rows any more: truncated, because deleted rows would have to be vacuumed. Done by the
// server that seals, after each pass.
import { limits } from '../../../config/limits.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { ringSize } from './log-writer.ts';

interface Ring {
  readonly ring: number;
  /** The number of its last row; null where it is empty. */
  readonly last: number | null;
  readonly bytes: number;
  readonly isCurrent: number;
  /** How often the log had turned to another table. */
  readonly turn: number;
}

export class LogRings {
  readonly #database: PostgresDatabase;
  readonly #node: string;
  /** Called where a table could not be emptied; that is tried again after the next pass. */
  onFailure: (error: Error) => void = () => {};

  /** @param parts.node the row of this server in `node`. */
  constructor(parts: { readonly database: PostgresDatabase; readonly node: string }) {
    this.#database = parts.database;
    this.#node = parts.node;
  }

  /**
   * Empties tables, and turns to the next where that is due.
   * @param neededRow the first row that this server needs. What others have not read is kept for them, too. This process may stand still
   *   between two statements until another seals in its place: each looks for itself, behind its lock, whether all is as it was.
   */
  async tend(neededRow: number): Promise<void> {
    try {
      const rings = await this.#database.query<Ring>(ringsSql, []);
      const empty: number[] = [];
      for (const { ring, last, isCurrent } of rings) {
        if (isCurrent === 1) continue;
        if (last === null || (last < neededRow && (await this.#empty(ring, neededRow)))) empty.push(ring);
      }
      const current = rings.find(({ isCurrent }) => isCurrent === 1);
      if (current === undefined || current.last === null || current.bytes < limits.logRingBytes) return;
      if (empty[0] !== undefined) await this.#turn(empty[0], current);
    } catch (error) {
      this.onFailure(error as Error);
    }
  }

  async #turn(next: number, { ring, turn }: Ring): Promise<void> {
    const parameters = [next, ring, turn];
    if (!this.#database.isByShard) {
      await this.#database.query(turnSql, parameters);
      return;
    }
    // The bytes of the next table not with its rows: that waits for all workers, and rows are read meanwhile. Nobody puts bytes there
    // before this is committed, and nobody else turns meanwhile.
    await this.#database.transaction(async (connection) => {
      await connection.query(`SET LOCAL lock_timeout = ${limits.logRingLockMs}`);
      const { count } = await connection.query(turnSql, parameters);
      if (count > 0) await connection.query(`TRUNCATE log_bytes_${next}`);
    });
  }

  /**
   * Waits for no reader for long: appends and reads would queue behind it. Who joins has its row in `node` before it reads the log,
   * so once nobody reads it, those who need it are known.
   */
  async #empty(ring: number, neededRow: number): Promise<boolean> {
    try {
      return await this.#database.transaction(async (connection) => {
        await connection.query(`SET LOCAL lock_timeout = ${limits.logRingLockMs}; LOCK TABLE log_${ring}`);
        const { rows } = await connection.query(neededSql(ring), [this.#node, neededRow]);
        if (rows.length > 0) return false;
        await connection.query(`TRUNCATE log_${ring}`);
        return true;
      });
    } catch (error) {
      this.onFailure(error as Error);
      return false;
    }
  }
}

const ringsSql = Array.from(
  { length: ringSize },
  (_, n) => `SELECT ${n} AS ring, (SELECT max(number) FROM log_${n}) AS last,
    pg_table_size('log_${n}') + (SELECT CASE WHEN ring = ${n} THEN bytes ELSE 0 END FROM log_end) AS bytes,
    (SELECT ring FROM log_end) = ${n} AS "isCurrent", (SELECT turn FROM log_end) AS turn`,
).join(' UNION ALL ');
/** A row where this server or another needs the table, or the log ends in it. */
const neededSql = (ring: number) => `WITH held AS (SELECT max(number) AS last FROM log_${ring})
  SELECT 1 FROM held WHERE last >= $2 OR (SELECT ring FROM log_end) = ${ring}
    OR EXISTS (SELECT 1 FROM node WHERE id <> $1 AND followed_row < last)`;
const turnSql = 'UPDATE log_end SET ring = $1, turn = turn + 1, bytes = 0 WHERE ring = $2 AND turn = $3';
