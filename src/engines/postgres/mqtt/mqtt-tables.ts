// What MQTT stores in PostgreSQL, for the sessions of one node. Changes go over one connection, one transaction at a time, which
// all that waits by then shares. A transaction notes its number in the node's row: so it is known after a broken connection
// whether the last one was committed, and a process that another has taken over from stores nothing any more.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { limits } from '../../../config/limits.ts';
import type { LoadedSessions, LoadingParts, MqttChange, MqttTables } from '../../shared/mqtt/mqtt-tables.ts';
import { storageRefusal, unknownOutcome } from '../../shared/write-failure.ts';
import { isConflict, isConnectionLost, isReadOnly, mayPass, writeRefusalOf } from '../database/database-error.ts';
import { WrittenFormats } from '../database/formats.ts';
import type { OwnConnection, PostgresDatabase, QueryRows } from '../database/postgres-database.ts';
import { PostgresMqttReads } from './mqtt-reads.ts';
import { loadSessions } from './mqtt-session-loading.ts';
import { type PlannedUnit, planUnit } from './mqtt-statements.ts';
import { type HandedOnLog, PostgresSessionHandover } from './session-handover.ts';

/** A commit whose answer has not come. */
interface Unsettled extends PromiseWithResolvers<boolean> {
  readonly number: number;
}

/** A node serves the sessions that belong to it. */
export interface MqttTablesOptions {
  readonly database: PostgresDatabase;
  readonly log?: Log | undefined;
  /** The row of this server in `node`: it takes the first node of sessions that no other server serves. Left out: node 0. */
  readonly holder?: string;
  /** The log of this server; left out where there is none beside. */
  readonly handedOn?: HandedOnLog;
  /** The forms in which this server writes; the oldest where it is not said. */
  readonly written?: WrittenFormats;
}

export class PostgresMqttTables implements MqttTables {
  readonly #database: PostgresDatabase;
  readonly #log: Log | undefined;
  readonly #holder: string | undefined;
  readonly #written: WrittenFormats;
  #node = 0;
  readonly reads: PostgresMqttReads;
  readonly handover: PostgresSessionHandover;
  #connection: OwnConnection | undefined;
  #epoch = 0;
  #keptRow: number | undefined;
  #ownRows: ReadonlyMap<number, number> = new Map();
  #unit = 0;
  #unsettled: Unsettled | undefined;
  #isClosed = false;
  /** Refusals of writes that may stand when they are made again. */
  readonly #passing = new WeakSet<object>();

  constructor({ database, log, holder, handedOn = noLog, written = new WrittenFormats() }: MqttTablesOptions) {
    this.#written = written;
    this.#database = database;
    this.#log = log;
    this.#holder = holder;
    this.reads = new PostgresMqttReads(database, this.#node);
    this.handover = new PostgresSessionHandover({
      ...{ database, handedOn },
      own: () => ({ node: this.#node, epoch: this.#epoch, keptRow: this.#keptRow, ownRows: this.#ownRows }),
    });
  }

  readonly countsRecipients = true;

  /** One transaction at a time; without a connection any number, because they are refused at once. */
  get unitsAtOnce(): number {
    return this.#connection === undefined ? Number.POSITIVE_INFINITY : 1;
  }

  /** Takes the node's sessions over from the process that served them before. */
  async start(brokerId: string): Promise<void> {
    const connection = await this.#database.connect(connectionName, { isPipelined: true });
    try {
      await connection.query(planning);
      const { node, epoch, keptRow } = await takeNode(connection, brokerId, this.#holder);
      this.#node = node;
      this.#keptRow = keptRow ?? undefined;
      this.reads.serve(node);
      this.#epoch = epoch;
      this.#unit = 0;
      const { rows } = await connection.query<{ key: number; row: number }>(ownRowsSql, [node]);
      this.#ownRows = new Map(rows.map(({ key, row }) => [key, row]));
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

  async write(
    changes: readonly MqttChange[],
    { isPatient = false }: { readonly isPatient?: boolean } = {},
  ): Promise<readonly number[]> {
    for (let attempt = 1; ; attempt++) {
      const connection = this.#connection;
      if (connection === undefined)
        throw this.#pass(storageRefusal(new Error('There is no connection to the database.')));
      const unit = planUnit(changes, this.#node, this.#written.of('session'));
      try {
        await this.#store(connection, unit, isPatient);
        return unit.counts;
      } catch (error) {
        if (isConflict(error) && attempt < limits.postgresConflictsMax) continue;
        // The primary may be another server by now.
        if (isReadOnly(error)) this.#lose(connection, error as Error);
        throw mayPass(error) ? this.#pass(writeRefusalOf(error)) : writeRefusalOf(error);
      }
    }
  }

  giveUp(): void {
    this.#giveUp();
  }

  mayPass(error: unknown): boolean {
    return this.#passing.has(error as object);
  }

  #pass(refusal: Error): Error {
    this.#passing.add(refusal);
    return refusal;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#giveUp();
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  /** Statements are sent without waiting for answers; the commit waits for them. */
  async #store(connection: OwnConnection, unit: PlannedUnit, isPatient: boolean): Promise<void> {
    this.#unit += 1;
    const number = this.#unit;
    const begun = connection.query('BEGIN');
    const fence = connection.query(noteUnit, [this.#node, this.#epoch, number]);
    const sent = unit.statements.map(({ sql, parameters }) => connection.query(sql, parameters));
    const answers = await Promise.allSettled([begun, fence, ...sent]);
    // The first that failed is the cause of the others' failures.
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
    await this.#commit(connection, number, isPatient);
  }

  /** Where the connection breaks, the next one finds out what became of the commit, before anything else is stored. */
  async #commit(connection: OwnConnection, number: number, isPatient: boolean): Promise<void> {
    const unsettled = { number, ...Promise.withResolvers<boolean>() };
    // Nobody waits for it while the answer may still come.
    unsettled.promise.catch(() => {});
    let late: NodeJS.Timeout | undefined;
    this.#unsettled = unsettled;
    try {
      await connection.query('COMMIT');
      this.#unsettled = undefined;
    } catch (error) {
      if (!isConnectionLost(error) && !connection.isLost) {
        this.#unsettled = undefined;
        throw error;
      }
      this.#lose(connection, error as Error);
      const msMax = isPatient ? limits.mqttWriteKeptMsMax : limits.postgresOutcomeMs;
      late = setTimeout(() => unsettled.reject(unknownOutcome(error)), msMax).unref();
      if (!(await unsettled.promise)) throw error;
    } finally {
      clearTimeout(late);
    }
  }

  #use(connection: OwnConnection): void {
    this.#connection = connection;
    void connection.lost.then((error) => this.#lose(connection, error));
  }

  #lose(connection: OwnConnection, error: Error): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    connection.close().catch(() => {});
    this.#log?.warn({ err: error }, 'the connection that stores MQTT sessions was lost');
    void this.#connectAgain();
  }

  async #connectAgain(): Promise<void> {
    while (!this.#isClosed) {
      let connection: OwnConnection | undefined;
      try {
        connection = await this.#database.connectAgain(connectionName, { isPipelined: true });
        await connection.query(planning);
        await this.#settle(connection);
        if (this.#isClosed) break;
        return this.#use(connection);
      } catch (error) {
        await connection?.close().catch(() => {});
        // The database was closed.
        if (connection === undefined) break;
        this.#log?.debug({ err: error }, 'a new connection that stores MQTT sessions was lost as well');
        await delay(limits.postgresRetryMsMin, undefined, { ref: false });
      }
    }
    this.#giveUp();
  }

  /** Waits for the transaction, where it is still under way at the server. */
  async #settle(connection: OwnConnection): Promise<void> {
    if (this.#unsettled === undefined) return;
    const { rows } = await connection.query<{ unit: number }>(lastUnit, [this.#node, this.#epoch]);
    this.#unsettled.resolve((rows[0]?.unit ?? 0) >= this.#unsettled.number);
    this.#unsettled = undefined;
  }

  /** The outcome will not be known in this run. Whoever waits for it is refused, which is not to say that nothing was stored. */
  #giveUp(): void {
    this.#unsettled?.reject(storageRefusal(new Error('The service ended before the outcome of a commit was known.')));
    this.#unsettled = undefined;
  }
}

const connectionName = 'mqtt';

const noLog: HandedOnLog = {
  lastRow: 0,
  caughtUp: async () => {},
  atRest: (work) => work(0),
  read: async (_, upTo) => ({ commits: [], upTo, gone: 0 }),
};

async function rollBack(connection: OwnConnection): Promise<void> {
  await connection.query('ROLLBACK').catch(() => {});
}

/** All statements find rows by their keys; a plan made while a table was small must not read all of it later. */
const planning = 'SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off';

interface TakenNode {
  readonly node: number;
  readonly epoch: number;
  readonly keptRow: number | null;
}

/** The first node of sessions that no other server serves. */
async function takeNode(connection: OwnConnection, brokerId: string, holder: string | undefined): Promise<TakenNode> {
  for (;;) {
    const { rows } = await connection.query<TakenNode>(takeNodeSql, [brokerId, holder ?? null]);
    if (rows[0] !== undefined) return rows[0];
    // Another server was there first.
    await delay(limits.postgresRetryMsMin);
  }
}

/** Servers that are there, or all where nobody says whose the node is. */
const isServed = (table: string) =>
  `EXISTS (SELECT 1 FROM node WHERE node.id = ${table}.holder AND node.id <> $2::text)`;
/** Waits for a commit of the process before. */
const takeNodeSql = `INSERT INTO mqtt_node (node, epoch, broker_id, unit, holder)
  SELECT number, 1, $1::text, 0, $2::text FROM generate_series(0, ${limits.serversMax - 1}) AS number WHERE NOT EXISTS (
    SELECT 1 FROM mqtt_node AS taken WHERE taken.node = number AND ${isServed('taken')}) ORDER BY number LIMIT 1
  ON CONFLICT (node) DO UPDATE SET epoch = mqtt_node.epoch + 1,
      kept_epoch = CASE WHEN mqtt_node.kept_epoch = mqtt_node.epoch THEN mqtt_node.epoch + 1 END, broker_id = excluded.broker_id, unit = 0, holder = excluded.holder
    WHERE NOT ${isServed('mqtt_node')}
  RETURNING mqtt_node.node, epoch, CASE WHEN kept_epoch = epoch THEN kept_row END AS "keptRow"`;

const noteUnit = 'UPDATE mqtt_node SET unit = $3 WHERE node = $1 AND epoch = $2';

const lastUnit = 'SELECT unit FROM mqtt_node WHERE node = $1 AND epoch = $2 FOR UPDATE';

const ownRowsSql = `SELECT key, kept_row AS "row" FROM mqtt_session WHERE node = $1 AND kept_node = $1 AND kept_row IS NOT NULL`;

/** Of users who have no sessions any more; that of others is counted at start. */
const forgetUsage = `DELETE FROM mqtt_usage WHERE node = $1 AND NOT EXISTS (
  SELECT 1 FROM mqtt_session WHERE mqtt_session.node = mqtt_usage.node AND mqtt_session."user" = mqtt_usage."user")`;
