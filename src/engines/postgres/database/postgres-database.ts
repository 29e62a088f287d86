// The connections to one PostgreSQL database: a pool for short reads, one for transactions, and connections of their own for
// parts that have their own (the log's writer, heartbeats). All are few, and named in pg_stat_activity. Parts of the engine
// take it in their constructors.
import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Log } from '../../../base/log.ts';
import { limits } from '../../../config/limits.ts';
import { stoppingRefusal } from '../../shared/write-failure.ts';
import { connectionSettings, sessionSettings } from './connection-settings.ts';
import { isBroken, isConflict, isUnanswered, readRefusalOf } from './database-error.ts';
import { SharedDistribution } from './distributed-tables.ts';

export interface QueryRows<Row> {
  readonly rows: Row[];
  /** Number of rows that the statement changed, or found. */
  readonly count: number;
}

export interface Connection {
  /** Whether each statement is to touch one shard (distributed-tables.ts): as it was when the transaction began. */
  readonly isByShard: boolean;
  /** Runs one statement; without parameters there may be several, separated by semicolons. Errors are those of PostgreSQL. */
  query<Row = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<QueryRows<Row>>;
}

/** A connection that one part has for itself. It is not made anew when it is lost: its owner asks for another. */
export interface OwnConnection extends Connection {
  readonly isLost: boolean;
  /** Resolves when the connection has ended, with the reason. */
  readonly lost: Promise<Error>;
  /** Called with each NOTIFY of a channel that was listened to. */
  onNotification: (channel: string, payload: string) => void;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Statements are sent without waiting for the answer to those before. */
  readonly isPipelined?: boolean;
}

export class PostgresDatabase {
  /** Short reads of the registry; an error of the connection becomes a Refusal `storage`. */
  readonly read: Kysely<never>;
  readonly #url: string;
  readonly #log: Log | undefined;
  readonly #reads: pg.Pool;
  readonly #transactions: pg.Pool;
  readonly #searches: pg.Pool;
  readonly #closing = new AbortController();
  /** Names of prepared statements by their text; bounded, because each connection keeps them. */
  readonly #prepared = new Map<string, string>();
  /** What statements go by; told by whoever hears of it (coordination/membership.ts). */
  readonly distribution: SharedDistribution;

  /** @param options `reads`: connections for short reads at most; `distribution`: that of the process, in another thread than its first. */
  constructor(
    url: string,
    {
      log,
      reads = limits.postgresReadConnections,
      distribution = new SharedDistribution(),
    }: {
      readonly log?: Log | undefined;
      readonly reads?: number;
      readonly distribution?: SharedDistribution;
    } = {},
  ) {
    this.#url = url;
    this.#log = log;
    this.distribution = distribution;
    this.#reads = this.#pool('reads', reads);
    this.#transactions = this.#pool('transactions', limits.postgresTransactionConnections, { isPipelined: true });
    this.#searches = this.#pool('searches', limits.postgresSearchConnections, { statementMs: limits.searchMsMax });
    this.read = new Kysely({ dialect: new PostgresDialect({ pool: this.#poolForKysely() }) });
  }

  /** Whether each statement is to touch one shard. */
  get isByShard(): boolean {
    return this.distribution.value > 0;
  }

  /** Runs a short read outside of a transaction. @throws Refusal `storage` where the database does not answer. */
  query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.#readFrom(this.#reads, this.#statement(sql, parameters.map(lookedFor)));
  }

  /**
   * Runs two short reads by shard, each of a state of its own, the second of one that is not older; they are sent together.
   * @throws Refusal `storage`
   */
  async queryBoth<First, Second>(
    [first, firstParameters]: readonly [string, readonly unknown[]],
    [second, secondParameters]: readonly [string, readonly unknown[]],
  ): Promise<[First[], Second[]]> {
    // Of connections that are made from now on. On one that was made before, the second waits for the answer to the first.
    this.#reads.options.pipeline = true;
    const client = await connectTo(this.#reads);
    const asked = await Promise.allSettled([
      client.query(this.#statement(first, firstParameters.map(lookedFor))),
      client.query(this.#statement(second, secondParameters.map(lookedFor))),
    ]);
    const failed = asked.find((result) => result.status === 'rejected');
    client.release(isBroken(failed?.reason));
    if (failed !== undefined) throw readRefusalOf(failed.reason);
    const [one, other] = asked.map((result) => (result as PromiseFulfilledResult<pg.QueryResult>).value.rows);
    return [one as First[], other as Second[]];
  }

  /** Like `query`, for reads whose time grows with the data; PostgreSQL ends them after `searchMsMax` (its code 57014). */
  search<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    // Planned each time, for what is asked: a plan for any filter would be bad for most.
    return this.#readFrom(this.#searches, { text: sql, values: parameters.map(withoutNul) });
  }

  async #readFrom<Row>(pool: pg.Pool, statement: pg.QueryConfig): Promise<Row[]> {
    const client = await connectTo(pool);
    try {
      const { rows } = await client.query(statement);
      client.release();
      return rows as Row[];
    } catch (error) {
      client.release(isBroken(error));
      throw readRefusalOf(error);
    }
  }

  /**
   * Runs `work` in a transaction of its own, and again where another transaction was in the way. Read committed, unless
   * `begin` says otherwise. Errors are those of PostgreSQL (database-error.ts); after an error of the connection the
   * outcome is unknown.
   */
  async transaction<T>(work: (connection: Connection) => Promise<T>, { begin = 'BEGIN' } = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#transact(work, begin);
      } catch (error) {
        if (!isConflict(error) || attempt >= limits.postgresConflictsMax) throw error;
      }
    }
  }

  async #transact<T>(work: (connection: Connection) => Promise<T>, begin: string): Promise<T> {
    const client = await this.#transactions.connect();
    try {
      const [, result] = await Promise.all([client.query(begin), work(this.#connectionOf(client))]);
      // Of a transaction in which a statement failed PostgreSQL makes a ROLLBACK without a word.
      if ((await client.query('COMMIT')).command !== 'COMMIT') throw new Error('The transaction was rolled back.');
      client.release();
      return result;
    } catch (error) {
      const rolledBack = isBroken(error)
        ? true
        : await client.query('ROLLBACK').then(
            () => false,
            () => true,
          );
      client.release(rolledBack);
      throw error;
    }
  }

  /** A connection for one part alone. @throws the error of PostgreSQL or of the network. */
  async connect(name: string, { isPipelined = false }: ConnectOptions = {}): Promise<OwnConnection> {
    if (this.#closing.signal.aborted) throw stoppingRefusal();
    const client = new pg.Client({ ...connectionSettings(this.#url, name), ...answered(), pipeline: isPipelined });
    const { promise: lost, resolve } = Promise.withResolvers<Error>();
    let isLost = false;
    const end = (error: Error) => {
      isLost = true;
      resolve(error);
    };
    client.on('error', end);
    client.on('end', () => end(new Error('Connection terminated')));
    try {
      await client.connect();
      await client.query(sessionSettings());
    } catch (error) {
      void endOf(client);
      throw error;
    }
    const own: OwnConnection = {
      ...this.#connectionOf(client),
      get isLost() {
        return isLost;
      },
      lost,
      onNotification: () => {},
      close: () => endOf(client),
    };
    client.on('notification', ({ channel, payload = '' }) => own.onNotification(channel, payload));
    return own;
  }

  /**
   * Like `connect`, but goes on trying, slower and slower, until there is a connection. @throws Refusal `busy` where the
   * database is closed meanwhile.
   */
  async connectAgain(name: string, options: ConnectOptions = {}): Promise<OwnConnection> {
    const { signal } = this.#closing;
    for (let waitMs: number = limits.postgresRetryMsMin; ; waitMs = Math.min(2 * waitMs, limits.postgresRetryMsMax)) {
      try {
        return await this.connect(name, options);
      } catch (error) {
        if (signal.aborted) throw stoppingRefusal();
        this.#log?.warn(
          { reason: reasonOf(error), connection: name },
          'the database cannot be reached; it is tried again',
        );
      }
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.read.destroy();
    await Promise.all([this.#reads.end(), this.#transactions.end(), this.#searches.end()]);
  }

  #pool(
    name: string,
    max: number,
    { isPipelined = false, statementMs }: ConnectOptions & { readonly statementMs?: number } = {},
  ): pg.Pool {
    const pool = new pg.Pool({
      ...connectionSettings(this.#url, name),
      ...answered(),
      max,
      idleTimeoutMillis: limits.postgresIdleMs,
      pipeline: isPipelined,
      // pg-pool waits for it; its type says void.
      onConnect: ((client: pg.ClientBase) => prepare(client, statementMs)) as unknown as (
        client: pg.ClientBase,
      ) => void,
    });
    // Of idle connections; those in use reject their queries.
    pool.on('error', (error) =>
      this.#log?.warn({ reason: reasonOf(error), connection: name }, 'a connection to the database was lost'),
    );
    return pool;
  }

  #poolForKysely(): PostgresPool {
    return {
      connect: async () => {
        const client = await connectTo(this.#reads);
        let error: unknown;
        const query = async (sql: string, parameters: readonly unknown[]) => {
          try {
            return await client.query(this.#statement(sql, parameters));
          } catch (thrown) {
            error = thrown;
            throw readRefusalOf(thrown);
          }
        };
        return { query, release: () => client.release(isBroken(error)) } as unknown as PostgresPoolClient;
      },
      // Kysely does not call it where nothing was read: `close` ends the pool.
      end: async () => {},
    } as PostgresPool;
  }

  #connectionOf(client: pg.ClientBase): Connection {
    return {
      isByShard: this.isByShard,
      query: (sql, parameters) => this.#ask(client, sql, parameters),
    };
  }

  async #ask<Row>(client: pg.ClientBase, sql: string, parameters?: readonly unknown[]): Promise<QueryRows<Row>> {
    try {
      const asked = parameters === undefined ? client.query(sql) : client.query(this.#statement(sql, parameters));
      const { rows, rowCount } = await asked;
      return { rows, count: rowCount ?? 0 };
    } catch (error) {
      if (isUnanswered(error)) destroy(client);
      throw error;
    }
  }

  /** Statements with parameters are prepared once for each connection, as long as there are few. */
  #statement(text: string, parameters: readonly unknown[]): pg.QueryConfig {
    const values = parameters.map(withoutNul);
    let name = this.#prepared.get(text);
    if (name === undefined && this.#prepared.size < limits.postgresStatementsPrepared) {
      name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
      this.#prepared.set(text, name);
    }
    return name === undefined ? { text, values } : { name, text, values };
  }
}

async function prepare(client: pg.ClientBase, statementMs: number | undefined): Promise<void> {
  // The pool listens only while nobody uses it; then its queries are told, but one may be lost between two of them.
  client.on('error', () => {});
  await client.query(sessionSettings(statementMs));
}

/** @throws Refusal `storage` */
async function connectTo(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw readRefusalOf(error);
  }
}

/** PostgreSQL refuses NUL in texts. None is stored (isStorableText), but one may be looked for, which is to find nothing. */
function withoutNul(parameter: unknown): unknown {
  return typeof parameter === 'string' && parameter.includes('\0') ? parameter.replaceAll('\0', '\uffff') : parameter;
}

/** The same for lists of texts, where they are looked for alone: in a list to be stored they are refused. */
function lookedFor(parameter: unknown): unknown {
  return Array.isArray(parameter) && typeof parameter[0] === 'string' ? parameter.map(withoutNul) : parameter;
}

/** How long pg waits for an answer. The server ends statements before. */
function answered(): pg.ClientConfig {
  return { query_timeout: limits.postgresAnswerMs };
}

/** Ends a connection: by a word to the server, or, where that does not end its side of it, by cutting it. */
async function endOf(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => destroy(client), limits.postgresEndMs);
  await client.end().catch(() => {});
  clearTimeout(cut);
}

function destroy(client: pg.ClientBase): void {
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream.destroy();
}

/** For the log: the errors of pools carry their whole connection. */
function reasonOf(error: unknown): string {
  return (error as Error).message;
}
