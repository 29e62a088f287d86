// Sessions that pass from one node to another: one that its server has let go, because its client connects elsewhere, and those whose
// server is not there any more. A session keeps its key; its queue is numbered anew, behind what its new node has numbered.
import { limits } from '../../../config/limits.ts';
import {
  type MissedCommits,
  type OwnerlessSession,
  parseOptions,
  type SessionHandover,
  type TakenSession,
} from '../../shared/mqtt/mqtt-tables.ts';
import { messageCostSql } from '../../shared/mqtt/mqtt-usage.ts';
import { storageRefusal } from '../../shared/write-failure.ts';
import { writeRefusalOf } from '../database/database-error.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { assertSessionFormat } from './mqtt-session-loading.ts';

/** The node of a session that its server has let go. */
const nobody = -1;

/** The node that this server has, with its epoch; and up to which row messages were kept for its sessions before. */
export interface OwnNode {
  readonly node: number;
  readonly epoch: number;
  readonly keptRow: number | undefined;
  /** The same, by key, of sessions that had not caught up. */
  readonly ownRows: ReadonlyMap<number, number>;
}

/** The log, as far as it has been handed on. */
export interface HandedOnLog {
  /** The last row that was, or is being, handed on. */
  readonly lastRow: number;
  /** Resolves when this server has what others had appended at the call. */
  readonly caughtUp: () => Promise<void>;
  /** Runs work while nothing is handed on. */
  readonly atRest: <T>(work: (row: number) => Promise<T>) => Promise<T>;
  readonly read: (behind: number, upTo: number) => Promise<MissedCommits>;
}

export class PostgresSessionHandover implements SessionHandover {
  readonly #database: PostgresDatabase;
  readonly #own: () => OwnNode;
  readonly #handedOn: HandedOnLog;
  readonly follow: () => Promise<void>;

  constructor(parts: {
    readonly database: PostgresDatabase;
    readonly own: () => OwnNode;
    readonly handedOn: HandedOnLog;
  }) {
    this.#database = parts.database;
    this.#own = parts.own;
    this.#handedOn = parts.handedOn;
    this.follow = parts.handedOn.caughtUp;
  }

  get keptRow(): number | undefined {
    return this.#own().keptRow;
  }

  get ownRows(): ReadonlyMap<number, number> {
    return this.#own().ownRows;
  }

  get lastRow(): number {
    return this.#handedOn.lastRow;
  }

  atRest<T>(work: (row: number) => Promise<T>): Promise<T> {
    return this.#handedOn.atRest(work);
  }

  readMissed(behind: number, upTo: number): Promise<MissedCommits> {
    return this.#handedOn.read(behind, upTo);
  }

  async keptAsAll(keys: readonly number[]): Promise<void> {
    const sql =
      'UPDATE mqtt_session SET kept_row = NULL, kept_node = NULL WHERE key = ANY ($1::bigint[]) AND node = $2';
    await this.#database.query(sql, [keys, this.#own().node]);
  }

  async noteKept(row: number): Promise<void> {
    const { node, epoch } = this.#own();
    const sql = 'UPDATE mqtt_node SET kept_row = $3, kept_epoch = epoch WHERE node = $1 AND epoch = $2';
    await this.#database.query(sql, [node, epoch, row]);
  }

  async ownerless(): Promise<readonly OwnerlessSession[]> {
    const rows = await this.#database.query<{ id: string; isLetGo: number }>(ownerlessSql, [this.#own().node]);
    return rows.map(({ id, isLetGo }) => ({ clientId: id, isLetGo: isLetGo === 1 }));
  }

  async letGo(clientId: string, keptRow: number | undefined): Promise<void> {
    await this.#transact(async (connection) => {
      await this.#assertServed(connection);
      // Waits for a transaction of this server that took it, and of which it does not know the end.
      await connection.query('SELECT 1 FROM mqtt_session WHERE client_id = $1 FOR UPDATE', [clientId]);
      await connection.query(letGoSql, [clientId, this.#own().node, keptRow ?? null]);
    });
  }

  async take(clientId: string, reserve: (count: number) => number): Promise<TakenSession | undefined> {
    // What its client has published elsewhere, it may repeat here.
    await this.#handedOn.caughtUp();
    // Most clients that connect have none.
    const [found] = await this.#database.query<{ format: number }>(foundSql, [clientId]);
    if (found === undefined) return undefined;
    assertSessionFormat(clientId, found.format);
    return this.#transact(async (connection) => {
      const key = await this.#take(connection, clientId, reserve);
      // What cannot be read is not taken.
      return key === undefined ? undefined : this.#read(connection, key);
    });
  }

  /** @returns its key; undefined where there is none, or a server has it that lives. */
  async #take(
    connection: Connection,
    clientId: string,
    reserve: (count: number) => number,
  ): Promise<number | undefined> {
    const { node } = this.#own();
    // Its row is locked first: a transaction of this server that took it may not have ended.
    const { rows } = await connection.query<FoundSession>(`${foundSql} FOR UPDATE`, [clientId]);
    const [found] = rows;
    if (found === undefined) return undefined;
    await this.#assertServed(connection);
    // What is its own holds before what is said of all sessions of its node.
    let keptRow = found.node === nobody || found.keptNode === found.node ? found.keptRow : null;
    // Its server may be stopped, and go on later: with the epoch it can store nothing any more.
    if (found.node !== node && found.node !== nobody) {
      const { rows: freed } = await connection.query<{ keptRow: number | null }>(freeNodeSql, [found.node]);
      if (freed[0] === undefined) return undefined;
      keptRow ??= freed[0].keptRow;
    }
    const { rows: queue } = await connection.query<{ n: number }>(
      'SELECT count(*) AS n FROM mqtt_queue WHERE session = $1',
      [found.key],
    );
    const before = reserve(queue[0]?.n ?? 0);
    await connection.query(moveQueueSql, [found.key, node, before]);
    await connection.query(takeSql, [found.key, node, keptRow]);
    return found.key;
  }

  async #read(connection: Connection, key: number): Promise<TakenSession> {
    const query = async <Row>(sql: string) => (await connection.query<Row>(sql, [key])).rows;
    const [[session], filters, [queue], sent, incoming] = await Promise.all([
      query<SessionRow>(sessionSql),
      query<FilterRow>('SELECT filter, qos, options FROM mqtt_subscription WHERE session = $1'),
      query<{ rows: number; bytes: number | null }>(
        'SELECT count(*) AS rows, CAST(sum(bytes) AS bigint) AS bytes FROM mqtt_queue WHERE session = $1',
      ),
      query<SentRow>(
        'SELECT message, packet_id AS "packetId", released, bytes FROM mqtt_queue WHERE session = $1 AND packet_id IS NOT NULL',
      ),
      query<{ packetId: number; bytes: number }>(
        `SELECT packet_id AS "packetId", ${messageCostSql} AS bytes FROM mqtt_incoming WHERE session = $1`,
      ),
    ]);
    if (session === undefined) throw storageRefusal(new Error('The session has ended.'));
    const { clientId, user, away, expiry, keptRow } = session;
    return {
      ...{ key, clientId, user: user ?? undefined, awayMs: away ?? undefined, expiryS: expiry ?? undefined },
      keptRow: keptRow ?? undefined,
      ...{ queued: queue?.rows ?? 0, queuedBytes: queue?.bytes ?? 0, incoming },
      filters: filters.map(({ filter, qos, options }) => ({ filter, options: { ...parseOptions(options), qos } })),
      sent: sent.map(({ released, ...rest }) => ({ ...rest, isReleased: released === 1 })),
    };
  }

  /** @throws Refusal `storage` where another process has the node of this one. Until the transaction ends none takes it. */
  async #assertServed(connection: Connection): Promise<void> {
    const { node, epoch } = this.#own();
    const served = 'SELECT 1 FROM mqtt_node WHERE node = $1 AND epoch = $2 FOR SHARE';
    if ((await connection.query(served, [node, epoch])).count === 0)
      throw storageRefusal(new Error('Another process has taken the MQTT sessions of this one over.'));
  }

  async #transact<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.#database.transaction(work);
    } catch (error) {
      throw writeRefusalOf(error);
    }
  }
}

interface FoundSession {
  readonly key: number;
  readonly node: number;
  readonly keptRow: number | null;
  readonly keptNode: number | null;
}

interface SessionRow {
  readonly keptRow: number | null;
  readonly clientId: string;
  readonly user: number | null;
  readonly away: number | null;
  readonly expiry: number | null;
}

interface FilterRow {
  readonly filter: string;
  readonly qos: number;
  readonly options: string | null;
}

interface SentRow {
  readonly message: number;
  readonly packetId: number;
  readonly released: number;
  readonly bytes: number;
}

const foundSql = `SELECT key, node, format, kept_row AS "keptRow", kept_node AS "keptNode" FROM mqtt_session WHERE client_id = $1`;
const sessionSql = `SELECT client_id AS "clientId", "user", away, expiry, kept_row AS "keptRow" FROM mqtt_session WHERE key = $1`;

/** Until it has caught up, what it has missed is said by itself. */
const takeSql = `UPDATE mqtt_session SET node = $2::bigint, kept_row = $3::bigint, kept_node = CASE WHEN $3::bigint IS NOT NULL THEN $2::bigint END
  WHERE key = $1`;

const letGoSql = `UPDATE mqtt_session SET node = ${nobody}, kept_node = NULL,
    kept_row = coalesce($3::bigint, CASE WHEN kept_node = node THEN kept_row END)
  WHERE client_id = $1 AND node = $2`;

const isServed = 'EXISTS (SELECT 1 FROM node WHERE node.id = mqtt_node.holder)';

const ownerlessSql = `SELECT client_id AS id, CAST(node = ${nobody} AS integer) AS "isLetGo" FROM mqtt_session WHERE node <> $1 AND NOT EXISTS (
    SELECT 1 FROM mqtt_node WHERE mqtt_node.node = mqtt_session.node AND ${isServed})
  ORDER BY key LIMIT ${limits.sessionsTakenAtOnce}`;

/** Waits for a commit of its server that is under way. Called for each of the node's sessions. */
const freeNodeSql = `UPDATE mqtt_node SET epoch = epoch + 1, kept_epoch = CASE WHEN kept_epoch = epoch THEN epoch + 1 END, holder = NULL
  WHERE node = $1 AND NOT ${isServed}
  RETURNING CASE WHEN kept_epoch = epoch THEN kept_row END AS "keptRow"`;

/** Those of the old node go with their rows; messages for which others wait there stay. */
const moveQueueSql = `WITH moved AS (
    DELETE FROM mqtt_queue WHERE session = $1 RETURNING node, message, qos, packet_id, released, bytes),
  numbered AS (
    SELECT *, CAST($3 AS bigint) + row_number() OVER (ORDER BY message) AS id FROM moved),
  messages AS (
    INSERT INTO mqtt_message (node, id, topic, payload, rest)
      SELECT CAST($2 AS bigint), numbered.id, topic, payload, rest FROM numbered
      JOIN mqtt_message AS old ON old.node = numbered.node AND old.id = numbered.message)
  INSERT INTO mqtt_queue (session, message, node, qos, packet_id, released, bytes)
    SELECT CAST($1 AS bigint), id, CAST($2 AS bigint), qos, packet_id, released, bytes FROM numbered`;
