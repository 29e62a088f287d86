// This process as a node of the database: a row that it renews, and the lock by which there is one server on these data. A
// connection of its own holds the lock; where it is lost, it is taken again on another one, and where somebody else has it
// by then, or the row is gone, this process must end, because it is taken for dead.
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { locks } from '../database/advisory-locks.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';

/** Rows of nodes that ended without a word, and what they held. Whoever has the lock is alone. */
const forgetOthers = 'DELETE FROM node WHERE id <> $1';
/** What was announced is stored, and is read by whoever comes now. */
const forgetAnnouncements = 'DELETE FROM announcement';
const joinSql = `INSERT INTO node (id, followed)
  SELECT $1, CASE WHEN is_called THEN last_value ELSE 0 END FROM announcement_seq_seq
  RETURNING CAST(extract(epoch FROM clock_timestamp()) * 1000 AS double precision) AS now`;
const forgetWriters = 'DELETE FROM registry_writer WHERE writer <> $1';

export class Membership {
  readonly id: string;
  readonly #database: PostgresDatabase;
  #connection: OwnConnection;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  /** The clock of the database less the monotonic clock of this process, in milliseconds, at the start. */
  readonly databaseNowMs: number;
  /** Called when this process must end. */
  onLost: (error: Error) => void = () => {};

  private constructor(parts: {
    readonly id: string;
    readonly database: PostgresDatabase;
    readonly connection: OwnConnection;
    readonly databaseNowMs: number;
  }) {
    this.id = parts.id;
    this.#database = parts.database;
    this.#connection = parts.connection;
    this.databaseNowMs = parts.databaseNowMs;
    this.#watch();
    this.#renewLater();
  }

  /** @throws Refusal `conflict` where another server uses the database, `storage`. */
  static async join(database: PostgresDatabase, id: string): Promise<Membership> {
    const connection = await database.connect('node');
    if (!(await takeLock(connection))) {
      await connection.close();
      throw new Refusal('conflict', 'Another server uses the database. Several on one database are not supported yet.');
    }
    await connection.query(forgetOthers, [id]);
    await connection.query(forgetWriters, [id]);
    await connection.query(forgetAnnouncements);
    const { rows } = await connection.query<{ now: number }>(joinSql, [id]);
    return new Membership({ id, database, connection, databaseNowMs: rows[0]?.now ?? 0 });
  }

  /** Why everything is refused, for people; undefined while the database can be reached. */
  get refusesBecause(): string | undefined {
    return this.#connection.isLost && !this.#isClosed ? 'the database cannot be reached' : undefined;
  }

  /** Gives up the row and the lock. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#connection.isLost) return;
    await this.#connection.query('DELETE FROM node WHERE id = $1', [this.id]).catch(() => {});
    await this.#connection.close().catch(() => {});
  }

  #watch(): void {
    void this.#connection.lost.then(() => this.#rejoin()).catch((error) => this.#end(error as Error));
  }

  async #rejoin(): Promise<void> {
    if (this.#isClosed) return;
    const connection = await this.#database.connectAgain('node');
    if (this.#isClosed) return connection.close();
    this.#connection = connection;
    this.#watch();
    if (connection.isLost) return;
    // The server may still have the session of the connection that was lost.
    const isOurs = await takeLock(connection).catch(() => undefined);
    if (isOurs === false) this.#end(new Error('Another server has taken over the database.'));
  }

  #renewLater(): void {
    this.#timer = setTimeout(() => void this.#renew(), limits.nodeRenewMs).unref();
  }

  async #renew(): Promise<void> {
    if (!this.#connection.isLost) {
      const renewed = await this.#connection
        .query('UPDATE node SET renewed = clock_timestamp() WHERE id = $1', [this.id])
        .catch(() => undefined);
      if (renewed?.count === 0 && !this.#isClosed) this.#end(new Error('This server was declared dead.'));
    }
    if (!this.#isClosed) this.#renewLater();
  }

  #end(error: Error): void {
    if (!this.#isClosed) this.onLost(error);
  }
}

/** Tries for some seconds, because the server may not know yet that a process before this one has ended. */
async function takeLock(connection: OwnConnection): Promise<boolean> {
  const untilMs = performance.now() + limits.databaseBusyMs;
  for (;;) {
    const { rows } = await connection.query<{ taken: number }>(`SELECT pg_try_advisory_lock(${locks.node}) AS taken`);
    if (rows[0]?.taken === 1) return true;
    if (performance.now() > untilMs) return false;
    await delay(limits.postgresRetryMsMin);
  }
}
