// Appends to the log over one connection, one commit at a time. Each row takes the next number and position of all writers from
// `log_end` in the statement that adds it: so their order is that of the commits, whoever makes them, without a gap. Where the
// connection breaks during a commit, nobody knows whether it was made: the same row is appended again until it is in, or found
// (I1); meanwhile nothing else is.
import { limits } from '../../../config/limits.ts';
import { isConflict, isConnectionLost, writeFailureOf } from '../database/database-error.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';
import type { RowPlace } from './log-row.ts';

/** Statements made part of an append, as parts of a WITH; their parameters come behind those of the append. */
export interface Beside {
  readonly sql: (firstParameter: number) => string;
  readonly parameters: readonly unknown[];
}

interface AppendedRow {
  readonly seq: number;
  readonly count: number;
  readonly bytes: Buffer;
  readonly beside?: Beside | undefined;
}

/** Where a row was put among those of all writers. */
interface GivenPlace {
  readonly number: number;
  /** The seq of its first datapoint. */
  readonly position: number;
}

/** The fence of this writer is gone: another process has taken it for dead. Nothing can be appended any more. */
export class WriterFenced extends Error {
  constructor() {
    super('Another process has taken this one for dead, and appends in its place.');
  }
}

/** Tables that the log consists of; each is emptied as a whole. */
export const ringSize = 4;

/** Of a row that has its bytes, and of one whose bytes lie apart. */
const ownParameters = 5;
const apartParameters = 6;
const none = Buffer.alloc(0);

export class LogWriter {
  readonly #database: PostgresDatabase;
  #connection: OwnConnection | undefined;
  #writer = 0;
  #nextSeq = 1;
  /** The table that the log ends in, and which time it does so. */
  #end = { ring: 0, turn: 0 };
  #refusesBecause: string | undefined;
  #reconnecting: Promise<void> | undefined;
  #isFenced = false;
  #isSettling = false;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();
  /** Called when the database cannot be reached, or does not answer for long. */
  onAway: () => void = () => {};
  /** Called where the outcome of a commit is not known in time; it is found out all the same, before anything else is appended. */
  onUnknown: () => void = () => {};
  #settled = 0;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Registers a new writer. Those of servers that are not there any more can append nothing from then on. @param node this server. */
  async start(node: string): Promise<void> {
    this.#connection = await this.#database.connect('log');
    this.#watch(this.#connection);
    // Waits for an append that is under way.
    const { rows } = await this.#connection.query<{ writer: number }>(
      `WITH former AS (DELETE FROM log_writer WHERE node IS NULL OR NOT EXISTS (SELECT 1 FROM node WHERE id = log_writer.node))
        INSERT INTO log_writer (node) VALUES ($1) RETURNING writer`,
      [node],
    );
    this.#writer = (rows[0] as { writer: number }).writer;
    await this.#readEnd();
  }

  get writer(): number {
    return this.#writer;
  }

  /** The place of the next row. */
  get next(): RowPlace {
    return { writer: this.#writer, seq: this.#nextSeq };
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
  async append(row: AppendedRow): Promise<GivenPlace> {
    if (this.#connection === undefined || this.#connection.isLost) {
      void this.#reconnect();
      throw new Error(`Connection terminated: ${this.#refusesBecause}`);
    }
    const late = setTimeout(() => this.#doubt(), limits.postgresOutcomeMs).unref();
    let place: GivenPlace;
    try {
      place = await this.#insert(row);
    } catch (error) {
      if (!isConnectionLost(error) && !this.#connection.isLost) {
        // Bytes that lie apart may arrive late, where a worker was away: their place is given to no others.
        if (this.#database.isByShard) this.#nextSeq += 1;
        this.#noteRefusal(error);
        throw error;
      }
      this.#isSettling = true;
      place = await this.#settle(row);
    } finally {
      clearTimeout(late);
      if (this.#isSettling) this.#settled += 1;
      this.#isSettling = false;
    }
    this.#nextSeq += 1;
    this.#refusesBecause = undefined;
    return place;
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

  /** A commit takes very long: the connection broke meanwhile, or the server waits for a standby that is away. */
  #doubt(): void {
    this.#isSettling = true;
    this.#refusesBecause ??= 'the database does not answer';
    this.onAway();
    this.onUnknown();
  }

  /** The outcome of a commit is unknown: makes it again until it is known. */
  async #settle(row: AppendedRow): Promise<GivenPlace> {
    for (;;) {
      await Promise.race([this.#reconnect(), this.#closed.promise]);
      if (this.#isClosed) throw new Error('The service is stopping; whether the commit was made is not known.');
      try {
        return await this.#insert(row);
      } catch (error) {
        // What the server refuses now, it may have stored before: until that is known, nothing is answered.
        if (error instanceof WriterFenced) throw error;
        await new Promise((resolve) => setTimeout(resolve, limits.postgresRetryMsMin).unref());
      }
    }
  }

  async #insert(row: AppendedRow): Promise<GivenPlace> {
    for (let attempt = 1; ; attempt++) {
      try {
        const place = this.#database.isByShard ? await this.#addApart(row) : await this.#add(row);
        if (place !== undefined) return place;
      } catch (error) {
        const isThere = writeFailureOf(error).kind === 'exists';
        if ((!isThere && !isConflict(error)) || attempt === limits.postgresConflictsMax) throw error;
      }
      // It is there already where its commit was made before, or the end of the log is in another table by now.
      const found = await this.#find(row);
      if (found !== undefined) return found;
      if (await this.#readEnd()) continue;
      this.#isFenced = true;
      this.#refusesBecause = 'another process has taken this one for dead';
      throw new WriterFenced();
    }
  }

  async #add({ seq, count, bytes, beside }: AppendedRow): Promise<GivenPlace | undefined> {
    const { ring, turn } = this.#end;
    const others = beside === undefined ? '' : `, ${beside.sql(ownParameters + 1)}`;
    const parameters = [this.#writer, seq, count, bytes, turn, ...(beside?.parameters ?? [])];
    return (await this.#own.query<GivenPlace>(appendSql(ring, others), parameters)).rows[0];
  }

  /** The bytes with a commit of their own, before the row: who finds the row finds its bytes, and bytes without a row are nothing. */
  async #addApart({ seq, count, bytes, beside }: AppendedRow): Promise<GivenPlace | undefined> {
    const { ring, turn } = this.#end;
    const others = beside === undefined ? '' : `, ${beside.sql(apartParameters + 1)}`;
    const place = [this.#writer, seq];
    await this.#own.query(putBytesSql(ring), [...place, bytes]);
    const parameters = [...place, count, none, turn, bytes.length, ...(beside?.parameters ?? [])];
    return (await this.#own.query<GivenPlace>(appendApartSql(ring, others), parameters)).rows[0];
  }

  async #find({ seq, bytes }: AppendedRow): Promise<GivenPlace | undefined> {
    return (await this.#own.query<GivenPlace>(findSql, [this.#writer, seq, bytes])).rows[0];
  }

  /** Which table the log ends in. @returns false where this writer has no fence any more. */
  async #readEnd(): Promise<boolean> {
    const { rows } = await this.#own.query<{ ring: number; turn: number }>(
      'SELECT ring, turn FROM log_end WHERE EXISTS (SELECT 1 FROM log_writer WHERE writer = $1)',
      [this.#writer],
    );
    this.#end = rows[0] ?? this.#end;
    return rows.length > 0;
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

/** What is there already is the same, from an earlier try: no place is given to two rows. */
const putBytesSql = (ring: number) => `INSERT INTO log_bytes_${ring} (writer, seq, bytes) VALUES ($1, $2, $3)
  ON CONFLICT (writer, seq) DO NOTHING`;

/**
 * A row whose bytes lie apart is known by its place alone: those are put there before it, and no place is given to two
 * rows. Writes, too, so that its commit waits for the synchronous standby: a server that was stopped while a commit waited for one
 * shows the row though the standby lacks it.
 */
const findSql = `WITH found AS (SELECT number, position FROM log WHERE writer = $1 AND seq = $2 AND (bytes = '' OR bytes = $3)),
  waited AS (UPDATE log_end SET ring = ring WHERE EXISTS (SELECT 1 FROM found))
  SELECT number, position FROM found`;

/**
 * One statement, which is a transaction of its own: whoever appends next waits for the row of `log_end` as long as the server needs to
 * commit, and never for this process. What belongs beside it depends on `added`, so nothing is stored where the fence is gone or
 * the log ends in another table; where the row is there already, the statement fails and takes no number. A table is the end of the log
 * again when it was emptied, also of this row: a statement that comes so late, over a connection that was given up, finds another turn.
 */
const appendSql = (ring: number, others: string) => addSql({ ring, others, set: '' });

/** The same of a row whose bytes lie apart: they are still there, because the table of those is emptied with a turn. */
const appendApartSql = (ring: number, others: string) =>
  addSql({ ring, others, set: ', bytes = bytes + CAST($6 AS integer)' });

const addSql = ({
  ring,
  others,
  set,
}: {
  readonly ring: number;
  readonly others: string;
  readonly set: string;
}) => `WITH fence AS (SELECT writer FROM log_writer WHERE writer = $1 FOR KEY SHARE),
  place AS (UPDATE log_end SET number = number + 1, position = position + CAST($3 AS integer)${set}
    WHERE ring = ${ring} AND turn = $5 AND EXISTS (SELECT 1 FROM fence) RETURNING number, position - CAST($3 AS integer) AS position),
  added AS (INSERT INTO log_${ring} (writer, seq, number, position, count, bytes)
    SELECT CAST($1 AS bigint), CAST($2 AS bigint), number, position, CAST($3 AS integer), CAST($4 AS bytea) FROM place
    RETURNING writer, number, position)${others}
  SELECT number, position FROM added`;
