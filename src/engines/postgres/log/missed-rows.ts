// Rows of the log behind one, read again for MQTT sessions that have come from another process, or from a run before: what was
// committed while nobody kept messages for them (engines/shared/mqtt/sessions/session-catch-up.ts). A batch is in memory at a time (I4).
import type { MissedCommit } from '../../../domain/ports/mqtt-sessions.ts';
import type { MissedCommits } from '../../shared/mqtt/mqtt-tables.ts';
import { decodeFollowed, type FollowedRow, followedRowBytes } from './log-following.ts';
import { type Query, StepSize, withBytes } from './log-reader.ts';

export class MissedRows {
  readonly #query: Query;
  readonly #step = new StepSize(followedRowBytes);

  constructor(query: Query) {
    this.#query = query;
  }

  /** What the next rows behind one have for MQTT, up to another that was committed. @throws Refusal `storage`, UnreadableRow */
  async read(behind: number, upTo: number): Promise<MissedCommits> {
    const rows = await this.#query<FollowedRow>(missedSql, [behind, upTo, this.#step.rows]);
    const last = rows.at(-1);
    // Of rows that are sealed, the table may have been emptied.
    if (last === undefined) return { commits: [], upTo, gone: upTo - behind };
    const commits: MissedCommit[] = [];
    let bytes = 0;
    for (const row of await withBytes(this.#query, rows)) {
      bytes += row.bytes.length;
      // What is wrong with one was said when it was followed.
      const { pushes, messages } = decodeFollowed(row);
      if (pushes.length > 0 || messages.length > 0) commits.push({ place: row.number, pushes, messages });
    }
    this.#step.came(rows.length, bytes);
    return { commits, upTo: last.number, gone: last.number - behind - rows.length };
  }
}

const missedSql = `SELECT ring, number, writer, seq, position, count, bytes FROM log WHERE number > $1 AND number <= $2
  ORDER BY number LIMIT $3`;
