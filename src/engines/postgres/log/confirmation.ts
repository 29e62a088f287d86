// Stores how far the watcher of rules has come, at most every second, under the fence of its lease. Rows of the log are let go only
// when that is stored: whoever evaluates rules next begins there.
import { limits } from '../../../config/limits.ts';
import type { LogPosition } from '../../../domain/ports/commit-log.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { LogState } from './log-state.ts';

interface Noted {
  readonly position: LogPosition | undefined;
  readonly fence: Fence;
}

export class Confirmation {
  readonly #database: PostgresDatabase;
  readonly #state: Pick<LogState, 'confirm' | 'followedSeq'>;
  #noted: Noted | undefined;
  #stored: LogPosition | undefined;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(parts: {
    readonly database: PostgresDatabase;
    readonly state: Pick<LogState, 'confirm' | 'followedSeq'>;
  }) {
    this.#database = parts.database;
    this.#state = parts.state;
  }

  /** Nobody follows the log where the position is undefined. */
  note(position: LogPosition | undefined, fence: Fence): void {
    const isFirst = this.#state.followedSeq === undefined;
    if (position === undefined && isFirst) this.#state.confirm(undefined);
    // From now on rows are kept.
    if (position !== undefined && isFirst) this.#state.confirm(position);
    this.#noted = { position, fence };
    if (isFirst) void this.flush().catch(() => {});
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), limits.confirmMs).unref();
  }

  /** Stores what was noted last. @throws Refusal `storage`: it is stored later. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const result = this.#storing.then(() => this.#store());
    this.#storing = result.catch(() => {});
    return result;
  }

  async #store(): Promise<void> {
    const noted = this.#noted;
    if (noted === undefined) return;
    const { position, fence } = noted;
    if (position === undefined) await this.#database.query(forgetSql, [fence.name, fence.epoch]);
    else if (position !== this.#stored) await this.#database.query(putSql, [fence.name, fence.epoch, position]);
    this.#stored = position;
    if (this.#noted === noted) this.#noted = undefined;
    // Nobody has begun to follow meanwhile.
    if (position !== undefined || this.#noted === undefined) this.#state.confirm(position);
  }
}

const held = 'SELECT 1 FROM lease WHERE name = $1 AND epoch = $2';
const putSql = `INSERT INTO counter (name, value) SELECT 'followed_seq', CAST($3 AS bigint) WHERE EXISTS (${held})
  ON CONFLICT (name) DO UPDATE SET value = greatest(counter.value, excluded.value)`;
const forgetSql = `DELETE FROM counter WHERE name = 'followed_seq' AND EXISTS (${held})`;
