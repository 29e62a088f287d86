// What MQTT stores in PostgreSQL, for the sessions of one node. Changes go over one connection, one transaction at a time, which
// all that waits by then shares. A transaction notes its number in the node's row: so it is known after a broken connection
// whether the last one was committed, and a process that another has taken over from stores nothing any more.
import type { Log } from '../../../base/log.ts';
import { limits } from '../../../config/limits.ts';
import type { LoadedSessions, LoadingParts, MqttChange, MqttReads, MqttTables } from '../../shared/mqtt/mqtt-tables.ts';
import { storageRefusal } from '../../shared/write-failure.ts';
import { isConflict, isConnectionLost, writeRefusalOf } from '../database/database-error.ts';
import type { OwnConnection, PostgresDatabase, QueryRows } from '../database/postgres-database.ts';
import { PostgresMqttReads } from './mqtt-reads.ts';
import { loadSessions } from './mqtt-session-loading.ts';
import { type PlannedUnit, planUnit } from './mqtt-statements.ts';

/** A commit whose connection broke before its answer came. */
class UnknownOutcome extends Error {}

/** A node serves the sessions that belong to it. */
export interface MqttTablesOptions {
  readonly database: PostgresDatabase;
  readonly log?: Log | undefined;
  /** From 0; no other living process serves it. */
  readonly node?: number;
}

export class PostgresMqttTables implements MqttTables {
  readonly #database: PostgresDatabase;
  readonly #log: Log | undefined;
  readonly #node: number;
  readonly reads: MqttReads;
  #connection: OwnConnection | undefined;
  #connecting: Promise<void> | undefined;
  #epoch = 0;
  #unit = 0;
  #isClosed = false;

  constructor({ database, log, node = 0 }: MqttTablesOptions) {
    this.#database = database;
    this.#log = log;
    this.#node = node;
    this.reads = new PostgresMqttReads(database, node);
  }

  /** One transaction at a time; without a connection any number, because they are refused at once. */
  get unitsAtOnce(): number {
    return this.#connection === undefined ? Number.POSITIVE_INFINITY : 1;
  }

  /** Takes the node's sessions over from the process that served them before. */
  async start(brokerId: string): Promise<void> {
    const connection = await this.#database.connect(connectionName, { isPipelined: true });
    try {
      await connection.query(planning);
      const { rows } = await connection.query<{ epoch: number }>(takeNode, [this.#node, brokerId]);
      this.#epoch = rows[0]?.epoch ?? 0;
      this.#unit = 0;
      await connection.query(forgetUsage, [this.#node]);
    } catch (error) {
      await connection.close();
      throw writeRefusalOf(error);
    }
    this.#use(connection);
  }

  load(parts: LoadingParts): Promise<LoadedSessions> {
    return loadSessions(this.#database, this.#node, parts);
  }

  async write(changes: readonly MqttChange[]): Promise<readonly number[]> {
    if (this.#connection === undefined) throw storageRefusal(new Error('There is no connection to the database.'));
    this.#unit += 1;
    const number = this.#unit;
    for (let attempt = 1; ; attempt++) {
      const unit = planUnit(changes, this.#node);
      try {
        await this.#commit(this.#connection, unit, number);
        return unit.counts;
      } catch (error) {
        if (error instanceof UnknownOutcome) {
          if (await this.#isCommitted(number)) return unit.counts;
          throw storageRefusal(error);
        }
        if (!isConflict(error) || attempt >= limits.postgresConflictsMax) throw writeRefusalOf(error);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  async #commit(connection: OwnConnection, unit: PlannedUnit, number: number): Promise<void> {
    // Sent without waiting for answers. The first that fails is the cause of the others' failures.
    const begun = connection.query('BEGIN');
    const fence = connection.query(noteUnit, [this.#node, this.#epoch, number]);
    const sent = unit.statements.map(({ sql, parameters }) => connection.query(sql, parameters));
    const answers = await Promise.allSettled([begun, fence, ...sent]);
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed !== undefined) {
      await rollBack(connection);
      throw failed.reason;
    }
    const [, noted, ...taken] = answers as PromiseFulfilledResult<QueryRows<Record<string, unknown>>>[];
    if (noted?.value.count !== 1) {
      await rollBack(connection);
      throw storageRefusal(new Error('Another process has taken the MQTT sessions of this one over.'));
    }
    for (const [i, { take }] of unit.statements.entries()) {
      const answer = taken[i]?.value;
      if (answer !== undefined) take?.(answer.rows, answer.count);
    }
    try {
      await connection.query('COMMIT');
    } catch (error) {
      throw isConnectionLost(error) || connection.isLost ? new UnknownOutcome('', { cause: error }) : error;
    }
  }

  /** Waits for a connection, and for a transaction that is still under way at the server. */
  async #isCommitted(number: number): Promise<boolean> {
    for (;;) {
      this.#connection = undefined;
      this.#connecting ??= this.#connect();
      await this.#connecting;
      if (this.#isClosed) throw storageRefusal(new Error('The service ended before the outcome was known.'));
      try {
        const { rows } = await this.#connected.query<{ unit: number }>(lastUnit, [this.#node, this.#epoch]);
        return (rows[0]?.unit ?? 0) >= number;
      } catch (error) {
        this.#log?.debug({ err: error }, 'the outcome of a commit is asked for again');
      }
    }
  }

  get #connected(): OwnConnection {
    if (this.#connection === undefined) throw new Error('There is no connection to the database.');
    return this.#connection;
  }

  #use(connection: OwnConnection): void {
    this.#connection = connection;
    void connection.lost.then((error) => {
      if (this.#connection === connection) this.#connection = undefined;
      if (this.#isClosed) return;
      this.#log?.warn({ err: error }, 'the connection that stores MQTT sessions was lost');
      this.#connecting ??= this.#connect();
    });
  }

  async #connect(): Promise<void> {
    try {
      while (!this.#isClosed) {
        const connection = await this.#database.connectAgain(connectionName, { isPipelined: true });
        const isReady = await connection.query(planning).then(
          () => true,
          () => false,
        );
        if (isReady && !this.#isClosed) return this.#use(connection);
        await connection.close().catch(() => {});
      }
    } catch {
      // The database was closed.
      this.#isClosed = true;
    } finally {
      this.#connecting = undefined;
    }
  }
}

const connectionName = 'mqtt';

async function rollBack(connection: OwnConnection): Promise<void> {
  await connection.query('ROLLBACK').catch(() => {});
}

/** All statements find rows by their keys; a plan made while a table was small must not read all of it later. */
const planning = 'SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off';

/** Waits for a commit of the process before. */
const takeNode = `INSERT INTO mqtt_node (node, epoch, broker_id, unit) VALUES ($1, 1, $2, 0)
  ON CONFLICT (node) DO UPDATE SET epoch = mqtt_node.epoch + 1, broker_id = excluded.broker_id, unit = 0
  RETURNING epoch`;

const noteUnit = 'UPDATE mqtt_node SET unit = $3 WHERE node = $1 AND epoch = $2';

const lastUnit = 'SELECT unit FROM mqtt_node WHERE node = $1 AND epoch = $2 FOR UPDATE';

/** Of users who have no sessions any more; that of others is counted at start. */
const forgetUsage = `DELETE FROM mqtt_usage WHERE node = $1 AND NOT EXISTS (
  SELECT 1 FROM mqtt_session WHERE mqtt_session.node = mqtt_usage.node AND mqtt_session."user" = mqtt_usage."user")`;
