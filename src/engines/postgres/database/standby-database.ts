// The connections to a hot standby of the database, for reads that the primary can answer as well: they are few, read only, and give
// up soon. Whatever stands against an answer of the standby is told as a reason, and then it is left alone for some seconds.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { limits } from '../../../config/limits.ts';
import type { StandbyReason } from '../../../domain/ports/engine.ts';
import { connectionSettings, sessionSettings } from './connection-settings.ts';
import { isBroken, isConflict, isConnectionLost, isTimeUp } from './database-error.ts';
import { type DatabaseIdentity, identityOf, isSameDatabase } from './database-identity.ts';

/** Why the standby cannot answer: the primary is to be asked. */
export class StandbyUnfit extends Error {
  readonly reason: StandbyReason;

  constructor(reason: StandbyReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Where the standby is, and of which database it must be one. Goes to threads as it is. */
export interface StandbyPlace {
  readonly url: string;
  readonly identity: DatabaseIdentity;
}

export class StandbyDatabase {
  readonly #pool: pg.Pool;
  readonly #identity: DatabaseIdentity;
  /** Names of prepared statements by their text: those of this code, which are few. */
  readonly #names = new Map<string, string>();
  #unfit: StandbyUnfit | undefined;
  /** Until when it is left alone, by the monotonic clock. */
  #restUntilMs = 0;

  /** @param options `connections`: at most. */
  constructor({ url, identity }: StandbyPlace, { connections }: { readonly connections: number }) {
    this.#identity = identity;
    this.#pool = new pg.Pool({
      ...connectionSettings(url, 'history'),
      max: connections,
      connectionTimeoutMillis: limits.standbyConnectMs,
      idleTimeoutMillis: limits.postgresIdleMs,
      // The server ends a statement before, where it can be reached.
      query_timeout: limits.standbyAnswerMs + limits.standbyConnectMs,
      // pg-pool waits for it; its type says void.
      onConnect: ((client: pg.ClientBase) => this.#prepare(client)) as unknown as (client: pg.ClientBase) => void,
    });
    // Of idle connections: the next read finds out.
    this.#pool.on('error', () => {});
  }

  /** Runs a statement that reads. @throws StandbyUnfit */
  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    if (this.#unfit !== undefined && performance.now() < this.#restUntilMs) throw this.#unfit;
    try {
      const rows = await this.#ask<Row>(sql, parameters);
      this.#unfit = undefined;
      return rows;
    } catch (error) {
      const unfit = unfitOf(error);
      // That was this statement's misfortune: the next one may be answered.
      throw unfit.reason === 'conflict' ? unfit : this.leave(unfit);
    }
  }

  /** Asks nothing of it for some seconds. @returns its argument. */
  leave(unfit: StandbyUnfit): StandbyUnfit {
    this.#unfit = unfit;
    this.#restUntilMs = performance.now() + limits.standbyRetryMs;
    return unfit;
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #ask<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const client = await this.#pool.connect();
    try {
      const { rows } = await client.query({ name: this.#nameOf(sql), text: sql, values: [...parameters] });
      client.release();
      return rows as Row[];
    } catch (error) {
      client.release(isBroken(error));
      throw error;
    }
  }

  #nameOf(sql: string): string {
    const name = this.#names.get(sql) ?? createHash('sha256').update(sql).digest('base64url').slice(0, 32);
    this.#names.set(sql, name);
    return name;
  }

  async #prepare(client: pg.ClientBase): Promise<void> {
    client.on('error', () => {});
    await client.query(`${sessionSettings(limits.standbyAnswerMs)}; SET default_transaction_read_only = on`);
    const identity = await identityOf(async (sql) => (await client.query(sql)).rows);
    if (!isSameDatabase(identity, this.#identity))
      throw new StandbyUnfit('other', 'It is no standby of this database, but another one.');
  }
}

function unfitOf(error: unknown): StandbyUnfit {
  if (error instanceof StandbyUnfit) return error;
  return new StandbyUnfit(reasonOf(error), (error as Error).message);
}

function reasonOf(error: unknown): StandbyReason {
  if (isConflict(error)) return 'conflict';
  if (isTimeUp(error)) return 'slow';
  return isConnectionLost(error) ? 'unreachable' : 'failed';
}
