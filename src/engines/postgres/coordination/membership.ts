// This process as a node of the database: a row that it renews, with how far it has read the log and figures of it, and locks on a connection of its own:
// one that all servers share, which migrations and releases for one server take alone, and one of its number, by which others see
// that it is connected. Who finds its row gone was declared dead and must end.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { NodeFigures } from '../../../domain/ports/nodes.ts';
import { locks } from '../database/advisory-locks.ts';
import type { Distribution } from '../database/distributed-tables.ts';
import { formats, type StoredFormat, WrittenFormats } from '../database/formats.ts';
import { lastMigration } from '../database/migrate.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';
import { assertReadable } from '../database/readable.ts';
import { declaredDead } from '../registry/registry-writer.ts';
import { deathsSql, declareDead, isConnected, sureMs } from './death.ts';

/** How far a server has read the log. */
interface Followed {
  readonly row: number;
  readonly position: number;
}

interface Joined {
  readonly number: number;
  readonly now: number;
  readonly deaths: number;
  readonly stored: readonly StoredFormat[];
  readonly distribution: Distribution;
}

interface MembershipParts {
  readonly id: string;
  readonly database: PostgresDatabase;
  readonly log?: Log | undefined;
}

export class Membership {
  readonly id: string;
  readonly #database: PostgresDatabase;
  readonly #log: Log | undefined;
  #connection: OwnConnection;
  /** Since when the database answers, by the monotonic clock; and whether there was a time before in which it did not. */
  #answersSinceMs = performance.now();
  #wasCutOff = false;
  /** Over which connection the last sign of life was given. */
  #renewedOver: OwnConnection;
  /** Greater than those of all that joined before. */
  readonly number: number;
  #others = 0;
  /** When another server was there last, by the monotonic clock; one may have been until this one started. */
  #othersMs = performance.now();
  /** How many servers had died when this one looked last. */
  #deaths: number;
  /** When the last sign of life began that was given, by the monotonic clock. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** Whether the connection has the lock of its number; the session of a lost one may have it for a while. */
  #hasLock = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #burying: Promise<void> | undefined;
  /** The clock of the database less the monotonic clock of this process, in milliseconds, at the start. */
  readonly databaseNowMs: number;
  /** The forms in which this process writes. */
  readonly formats: WrittenFormats;
  /** Called when this process must end. */
  onLost: (error: Error) => void = () => {};
  /** How far this process has read the log; undefined before it has. */
  followed: () => Followed | undefined = () => undefined;
  /** What this process tells of itself (postgres-nodes.ts). */
  figures: () => NodeFigures | undefined = () => undefined;
  /** Called when another server was declared dead, after its last change was committed. */
  onDeath: () => void = () => {};
  /** Called after each sign of life. */
  onRenewed: () => void = () => {};

  private constructor(parts: MembershipParts & { readonly connection: OwnConnection } & Joined) {
    this.id = parts.id;
    this.#database = parts.database;
    this.#log = parts.log;
    this.#connection = parts.connection;
    this.#renewedOver = parts.connection;
    this.number = parts.number;
    this.#deaths = parts.deaths;
    this.databaseNowMs = parts.now;
    this.formats = new WrittenFormats(parts.stored);
    this.#watch();
  }

  /**
   * Joins the servers of the database. All others know of it when this resolves, or are dead.
   * @throws Refusal `conflict` where a server of a release that knows no others uses the database, or a newer one has written what this
   * one does not read; `storage`.
   */
  static async join(database: PostgresDatabase, id: string, log?: Log): Promise<Membership> {
    const connection = await database.connect('node');
    try {
      if (!(await takeLock(connection)))
        throw new Refusal(
          'conflict',
          'A server of another release uses the database, or brings it up to date. Stop it first.',
        );
      const joined = await addNode(connection, id);
      database.distribution.learn(joined.distribution);
      await connection.query(signsAreHints);
      const membership = new Membership({ id, database, log, connection, ...joined });
      await membership.#meet();
      return membership;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Whether no other server is there. Who joins waits until this process knows of it. */
  get isAlone(): boolean {
    return this.#others === 0;
  }

  /** Whether what is committed has to say what other servers need: while one is there, and until its stored sessions are taken over. */
  get isForOthers(): boolean {
    return this.#others > 0 || performance.now() < this.#othersMs + limits.saidForOthersMs;
  }

  /** Whether nobody can have declared this process dead by now. */
  get isSure(): boolean {
    return performance.now() < this.#renewedMs + sureMs();
  }

  /** Gives a sign of life where that is not so. @throws Error where that fails */
  async makeSure(): Promise<void> {
    if (!this.isSure) await this.#renew();
    if (!this.isSure) throw new Error('The database does not answer, or has this server no more.');
  }

  /** Gives a sign of life that counts for so many milliseconds more: this process is about to be busy for as long, at most. */
  foreseeSilence(ms: number): Promise<void> {
    return this.#renew(ms);
  }

  /** How many other servers there are. */
  get others(): number {
    return this.#others;
  }

  /** Why everything is refused, for people; undefined while the database can be reached. */
  get refusesBecause(): string | undefined {
    return this.#connection.isLost && !this.#isClosed ? 'the database cannot be reached' : undefined;
  }

  /** Gives up the row and the locks. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    await this.#burying;
    if (this.#connection.isLost) return;
    await this.#connection.query('DELETE FROM node WHERE id = $1', [this.id]).catch(() => {});
    await this.#connection.close().catch(() => {});
  }

  /** Waits until every other server has seen this one, or is declared dead. */
  async #meet(): Promise<void> {
    for (;;) {
      await this.#renew();
      if (this.#isClosed) return;
      const { count } = await this.#connection.query(unmetSql(), [this.id, this.number]);
      if (count === 0) return;
      await delay(limits.postgresRetryMsMin);
    }
  }

  #watch(): void {
    void this.#connection.lost.then(() => this.#rejoin()).catch((error) => this.#end(error as Error));
  }

  async #rejoin(): Promise<void> {
    if (this.#isClosed) return;
    const connection = await this.#database.connectAgain('node');
    if (this.#isClosed) return connection.close();
    this.#connection = connection;
    this.#hasLock = false;
    this.#watch();
    // First of all, so that nobody takes it for dead.
    await this.#renew();
    if (connection.isLost) return;
    await connection.query(signsAreHints).catch(() => {});
    // The server may still have the session of the connection that was lost.
    const isOurs = await takeLock(connection).catch(() => undefined);
    if (isOurs === false) this.#end(new Error('A server of another release has taken over the database.'));
  }

  /** Declares those dead that give no sign of life, out of turn. */
  async lookAtOthers(): Promise<void> {
    await this.#renew();
    await this.#burying;
  }

  #renewLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#renew(), limits.nodeRenewMs).unref();
  }

  #renew(aheadMs = 0): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#renewNow(aheadMs));
    return this.#renewing;
  }

  async #renewNow(aheadMs: number): Promise<void> {
    if (!this.#connection.isLost && !this.#isClosed) {
      const { row, position } = this.followed() ?? { row: 0, position: 0 };
      const told = this.figures();
      const connection = this.#connection;
      const startMs = performance.now();
      const renewed = await connection
        .query<{ others: number; deaths: number; distribution: Distribution }>(renewSql, [
          ...[this.id, row, position, ...columnsOf(told), this.#database.distribution.value, aheadMs / 1000],
        ])
        .catch(() => undefined);
      if (renewed?.count === 0 && !this.#isClosed) {
        this.#renewedMs = Number.NEGATIVE_INFINITY;
        this.#end(declaredDead());
      }
      if (!this.#hasLock && !connection.isLost) await this.#takeOwnLock(connection).catch(() => {});
      if (renewed?.rows[0] !== undefined) {
        this.#noteAnswer(connection, startMs);
        this.#others = renewed.rows[0].others;
        if (this.#others > 0) this.#othersMs = performance.now();
        this.#database.distribution.learn(renewed.rows[0].distribution);
        this.#noteDeaths(renewed.rows[0].deaths);
        // May wait for commits that are under way: signs of life must not.
        this.#burying ??= this.#bury().finally(() => {
          this.#burying = undefined;
        });
      }
    }
    this.#renewLater();
  }

  /** Before it joined this process had nothing in memory. */
  #noteDeaths(deaths: number): void {
    if (deaths === this.#deaths) return;
    this.#deaths = deaths;
    this.onDeath();
  }

  #noteAnswer(connection: OwnConnection, startMs: number): void {
    const nowMs = performance.now();
    const isFirst = this.#renewedMs === Number.NEGATIVE_INFINITY;
    // Others that gave their last sign of life just before this one are silent for too long by now.
    const isLate = nowMs > this.#renewedMs + limits.nodeDeadMs - limits.nodeRenewMs;
    if (!isFirst && (isLate || connection !== this.#renewedOver)) {
      this.#answersSinceMs = nowMs;
      this.#wasCutOff = true;
    }
    this.#renewedOver = connection;
    this.#renewedMs = startMs;
  }

  async #takeOwnLock(connection: OwnConnection): Promise<void> {
    const sql = `SELECT pg_try_advisory_lock(${locks.nodeNumbers}, ${this.number}) AS taken`;
    const { rows } = await connection.query<{ taken: number }>(sql);
    if (connection === this.#connection) this.#hasLock = rows[0]?.taken === 1;
  }

  async #bury(): Promise<void> {
    const isNew = performance.now() - this.#answersSinceMs < limits.nodeDeadMs;
    // Others may have been cut off together with this one, and come back later.
    if (this.#others > 0 && !(isNew && this.#wasCutOff)) {
      try {
        const dead = await declareDead(this.#database, { node: this.id, isNew });
        for (const node of dead) this.#log?.warn({ node }, 'another server gave no sign of life and was declared dead');
      } catch (error) {
        this.#log?.debug({ err: error }, 'a server that gives no sign of life could not be declared dead yet');
      }
    }
    if (!this.#isClosed) this.onRenewed();
  }

  #end(error: Error): void {
    if (!this.#isClosed) this.onLost(error);
  }
}

/**
 * What was announced is stored, and is read by whoever comes now; who is alone forgets what others have left. Behind the lock others do
 * nothing that this release does not know (upgrade.ts).
 */
async function addNode(connection: OwnConnection, id: string): Promise<Joined> {
  await connection.query(`BEGIN; SELECT pg_advisory_xact_lock(${locks.joining})`);
  const stored = await assertReadable(async <Row>(sql: string) => (await connection.query<Row>(sql)).rows);
  const { rows } = await connection.query<Joined>(joinSql, [id, lastMigration(), JSON.stringify(formats)]);
  await connection.query(forgetWriters, [id]);
  await connection.query('INSERT INTO registry_writer (writer, seq) VALUES ($1, 0)', [id]);
  await connection.query(forgetAnnouncements, [id]);
  await connection.query(forgetQuestions);
  await connection.query('COMMIT');
  return { ...(rows[0] as Joined), stored };
}

/** Not waited for on the disk: after a crash of the database nobody is declared dead for as long as they count. */
const signsAreHints = 'SET synchronous_commit = off';

const joinSql = `INSERT INTO node (id, knows, reads, followed, distribution)
  SELECT $1, $2, $3, CASE WHEN is_called THEN last_value ELSE 0 END, (SELECT distribution FROM log_end) FROM announcement_seq_seq
  RETURNING number, distribution, ${deathsSql} AS deaths, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS double precision) AS now`;
const isAlone = 'NOT EXISTS (SELECT 1 FROM node WHERE id <> $1)';
const forgetWriters = `DELETE FROM registry_writer WHERE ${isAlone}`;
const forgetAnnouncements = `DELETE FROM announcement WHERE ${isAlone}`;
/** Of servers that ended while they asked. */
const forgetQuestions = 'DELETE FROM question WHERE NOT EXISTS (SELECT 1 FROM node WHERE id = asker)';
/** seen: who joins has a greater number, one after the other, and waits for that. */
const renewSql = `UPDATE node SET renewed = clock_timestamp() + make_interval(secs => CAST($10 AS double precision)), seen = (SELECT max(number) FROM node), followed_row = $2,
    followed_position = $3, host = $4, release = $5, http_connections = $6, mqtt_connections = $7, datapoints_per_second = $8,
    distribution = $9
  WHERE id = $1
  RETURNING (SELECT count(*) FROM node AS other WHERE other.id <> $1) AS others, ${deathsSql} AS deaths,
    (SELECT distribution FROM log_end) AS distribution`;

function columnsOf(told: NodeFigures | undefined): readonly unknown[] {
  if (told === undefined) return [null, null, null, null, null];
  return [told.host, told.release, told.connections.http, told.connections.mqtt, told.datapointsPerSecond];
}

/** Those that have not seen this server; or whose connection is gone, so that they are soon declared dead, or back. */
const unmetSql = () => `SELECT 1 FROM node WHERE id <> $1 AND (seen < $2
  OR renewed < clock_timestamp() - make_interval(secs => ${sureMs() / 1000}) OR NOT ${isConnected}) LIMIT 1`;

/** Tries for some seconds, because the server may not know yet that a process before this one has ended. */
async function takeLock(connection: OwnConnection): Promise<boolean> {
  const untilMs = performance.now() + limits.databaseBusyMs;
  for (;;) {
    const sql = `SELECT pg_try_advisory_lock_shared(${locks.servers}) AS taken`;
    const { rows } = await connection.query<{ taken: number }>(sql);
    if (rows[0]?.taken === 1) return true;
    if (performance.now() > untilMs) return false;
    await delay(limits.postgresRetryMsMin);
  }
}
