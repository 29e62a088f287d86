// Appends to the log over one connection, one commit at a time, so that the numbers of this writer's rows have no gaps and
// their order is that of the commits. Where the connection breaks during a commit, nobody knows whether it was made: the same
// row is appended again until it is in, or found (I1); meanwhile nothing else is.
import { limits } from '../../../config/limits.ts';
import { isConflict, isConnectionLost, writeFailureOf } from '../database/database-error.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';
import type { RowPlace } from './log-row.ts';

/** Statements made part of an append, as parts of a WITH; their parameters come behind those of the append. */
export interface Beside {
  readonly sql: (firstParameter: number) => string;
  readonly parameters: readonly unknown[];
}

export interface AppendedRow {
  readonly seq: number;
  /** The seq of its first datapoint, as this process numbers them. */
  readonly position: number;
  readonly count: number;
  readonly bytes: Buffer;
  readonly beside?: Beside | undefined;
}

/** The fence of this writer is gone: another process has taken it for dead. Nothing can be appended any more. */
export class WriterFenced extends Error {
  constructor() {
    super('Another process has taken this one for dead, and appends in its place.');
  }
}

/** Tables that the log consists of; each is emptied as a whole. */
export const ringSize = 4;

const ownParameters = 5;

export class LogWriter {
  readonly #database: PostgresDatabase;
  #connection: OwnConnection | undefined;
  #writer = 0;
  #nextSeq = 1;
  #ring = 0;
  #refusesBecause: string | undefined;
  #reconnecting: Promise<void> | undefined;
  #isFenced = false;
  #isSettling = false;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();
  /** Called when the database cannot be reached. */
  onAway: () => void = () => {};
  /** Called where the outcome of a commit is not known in time; it is found out all the same, before anything else is appended. */
  onUnknown: () => void = () => {};
  #settled = 0;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Registers a new writer; those of earlier starts can append nothing any more from then on. */
  async start(): Promise<void> {
    this.#connection = await this.#database.connect('log');
    this.#watch(this.#connection);
    // Waits for an append that is under way.
    const { rows } = await this.#connection.query<{ writer: number }>(
      'WITH former AS (DELETE FROM log_writer) INSERT INTO log_writer DEFAULT VALUES RETURNING writer',
      [],
    );
    this.#writer = (rows[0] as { writer: number }).writer;
  }

  get writer(): number {
    return this.#writer;
  }

  /** The place of the next row. */
  get next(): RowPlace {
    return { writer: this.#writer, seq: this.#nextSeq };
  }

  /** The table that is appended to. */
  get ring(): number {
    return this.#ring;
  }

  /** Appends to another table from now on; call it while no append is under way. */
  turnTo(ring: number): void {
    this.#ring = ring;
  }

  /** Why nothing can be appended, for people; undefined while it can. */
  get refusesBecause(): string | undefined {
    return this.#refusesBecause;
  }

  /** True while the database cannot be reached, or the outcome of a commit is not known. */
  get isAway(): boolean {
    return this.#reconnecting !== undefined || this.#isSettling;
  }

  /** How many commits there were whose outcome had to be found out, and is known. */
  get settled(): number {
    return this.#settled;
  }

  /**
   * Appends the next row; resolves when it is on disk. Call one at a time.
   * @throws WriterFenced; errors of PostgreSQL where the row was not stored.
   */
  async append(row: AppendedRow): Promise<void> {
    if (this.#connection === undefined || this.#connection.isLost) {
      void this.#reconnect();
      throw new Error(`Connection terminated: ${this.#refusesBecause}`);
    }
    try {
      await this.#insert(row);
    } catch (error) {
      if (!isConnectionLost(error) && !this.#connection.isLost) {
        this.#noteRefusal(error);
        throw error;
      }
      this.#isSettling = true;
      const late = setTimeout(() => this.onUnknown(), limits.postgresOutcomeMs).unref();
      try {
        await this.#settle(row);
      } finally {
        clearTimeout(late);
        this.#isSettling = false;
        this.#settled += 1;
      }
    }
    this.#nextSeq += 1;
    this.#refusesBecause = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closed.resolve();
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined || connection.isLost) return;
    await connection.query('DELETE FROM log_writer WHERE writer = $1', [this.#writer]).catch(() => {});
    await connection.close().catch(() => {});
  }

  /** The outcome of a commit is unknown: makes it again until it is known. */
  async #settle(row: AppendedRow): Promise<void> {
    for (;;) {
      await Promise.race([this.#reconnect(), this.#closed.promise]);
      if (this.#isClosed) throw new Error('The service is stopping; whether the commit was made is not known.');
      try {
        await this.#insert(row);
        return;
      } catch (error) {
        // What the server refuses now, it may have stored before: until that is known, nothing is answered.
        if (error instanceof WriterFenced) throw error;
        await new Promise((resolve) => setTimeout(resolve, limits.postgresRetryMsMin).unref());
      }
    }
  }

  async #insert({ seq, position, count, bytes, beside }: AppendedRow): Promise<void> {
    const others = beside === undefined ? '' : `, ${beside.sql(ownParameters + 1)}`;
    // In one statement, which is a transaction of its own. The row is there already where its commit was made before.
    const sql = `WITH fence AS (SELECT writer FROM log_writer WHERE writer = $1 FOR KEY SHARE),
      added AS (INSERT INTO log_${this.#ring} (writer, seq, position, count, bytes)
        SELECT writer, CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS integer), CAST($5 AS bytea) FROM fence
        ON CONFLICT DO NOTHING RETURNING seq)${others}
      SELECT count(*) AS added FROM added`;
    const parameters = [this.#writer, seq, position, count, bytes, ...(beside?.parameters ?? [])];
    for (let attempt = 1; ; attempt++) {
      try {
        const { rows } = await this.#own.query<{ added: number }>(sql, parameters);
        if (rows[0]?.added === 1 || (await this.#isThere(seq, bytes))) return;
        this.#isFenced = true;
        this.#refusesBecause = 'another process has taken this one for dead';
        throw new WriterFenced();
      } catch (error) {
        if (!isConflict(error) || attempt === limits.postgresConflictsMax) throw error;
      }
    }
  }

  async #isThere(seq: number, bytes: Buffer): Promise<boolean> {
    const sql = `SELECT 1 FROM log_${this.#ring} WHERE writer = $1 AND seq = $2 AND bytes = $3`;
    return (await this.#own.query(sql, [this.#writer, seq, bytes])).count === 1;
  }

  get #own(): OwnConnection {
    if (this.#connection === undefined) throw new Error('Connection terminated');
    return this.#connection;
  }

  #watch(connection: OwnConnection): void {
    void connection.lost.then(() => {
      if (this.#isClosed || connection !== this.#connection) return;
      void this.#reconnect();
    });
  }

  #reconnect(): Promise<void> {
    if (this.#reconnecting !== undefined) return this.#reconnecting;
    this.#refusesBecause = 'the database cannot be reached';
    this.#reconnecting = this.#connect().finally(() => {
      this.#reconnecting = undefined;
    });
    this.onAway();
    return this.#reconnecting;
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const connection = await this.#database.connectAgain('log');
      const former = this.#connection;
      this.#connection = connection;
      this.#watch(connection);
      void former?.close().catch(() => {});
      if (!this.#isFenced) this.#refusesBecause = undefined;
    } catch {
      // The database is closed.
      this.#isClosed = true;
    }
  }

  #noteRefusal(error: unknown): void {
    const { kind, message } = writeFailureOf(error);
    if (kind === 'storage') this.#refusesBecause = `the database refuses to write: ${message}`;
  }
}
