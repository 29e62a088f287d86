// What one server has at a time, apart from the leases of the domain: the work of sealing, and the turn in which somebody seals or edits
// datapoints. A row of `lease` that belongs to the server and not to a connection: it is free when it is given back, or when its holder is
// not there any more. A holder that was declared dead can write nothing, because its fence is gone before its row is.
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../../config/limits.ts';
import { stoppingRefusal } from '../../shared/write-failure.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

const takeSql = `INSERT INTO lease (name, holder, epoch) VALUES ($1, $2, 1)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = lease.epoch + 1
  WHERE lease.holder IS NULL OR lease.holder = excluded.holder
    OR NOT EXISTS (SELECT 1 FROM node WHERE node.id = lease.holder)
  RETURNING epoch`;
const giveSql = 'UPDATE lease SET holder = NULL WHERE name = $1 AND holder = $2';
const isFreeSql = `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM lease JOIN node ON node.id = lease.holder
  WHERE lease.name = $1 AND lease.holder <> $2)`;

interface LeaseParts {
  readonly database: PostgresDatabase;
  /** The row of this process in `node`. */
  readonly node: string;
}

/** The work of sealing, which a server keeps as long as it is there. */
export class SealingDuty {
  readonly #parts: LeaseParts;
  #isOurs = false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  get isOurs(): boolean {
    return this.#isOurs;
  }

  /** Takes it where it is free. @returns true where it was taken now. */
  async take(): Promise<boolean> {
    const { database, node } = this.#parts;
    if (this.#isOurs || (await database.query(isFreeSql, ['sealing', node])).length === 0) return false;
    this.#isOurs = (await database.query(takeSql, ['sealing', node])).length > 0;
    return this.#isOurs;
  }

  async give(): Promise<void> {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    // Where that fails, it is free with the row of this server.
    await this.#parts.database.query(giveSql, ['sealing', this.#parts.node]).catch(() => {});
  }
}

/** The turn among servers to seal, or to edit datapoints. */
export class EditTurn {
  readonly #parts: LeaseParts & { readonly catchUp: () => Promise<void> };
  #isClosed = false;
  #giving: Promise<void> = Promise.resolve();

  /** @param parts.catchUp reads what others have done in their turns. */
  constructor(parts: LeaseParts & { readonly catchUp: () => Promise<void> }) {
    this.#parts = parts;
  }

  /** Runs `work` in a turn, one at a time in this process. @throws Refusal `storage`, `busy` */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const { database, node, catchUp } = this.#parts;
    await this.#giving;
    while ((await database.query(takeSql, ['edits', node])).length === 0) {
      if (this.#isClosed) throw stoppingRefusal();
      await delay(limits.postgresRetryMsMin);
    }
    try {
      await catchUp();
      return await work();
    } finally {
      this.#giving = this.#give();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#giving;
  }

  async #give(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#parts.database.query(giveSql, ['edits', this.#parts.node]);
        return;
      } catch {
        await delay(limits.postgresRetryMsMin, undefined, { ref: false });
      }
    }
    await this.#parts.database.query(giveSql, ['edits', this.#parts.node]).catch(() => {});
  }
}
