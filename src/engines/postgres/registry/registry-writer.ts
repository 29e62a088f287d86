// The writer of the registry: every change of this process passes here, and all that waits when a transaction begins goes
// into it, each unit behind a savepoint. An advisory lock of the database has one such transaction run at a time, whichever process
// makes it, so a condition in a statement still holds at the commit. Bounded (I4); resolves after the commit (I1).
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import { assertQueueHasRoom, bytesOf } from '../../shared/registry/statement-queue.ts';
import { refusalOf, stoppingRefusal, storageRefusal, unknownOutcome } from '../../shared/write-failure.ts';
import { locks } from '../database/advisory-locks.ts';
import { isConflict, isConnectionLost, writeRefusalOf } from '../database/database-error.ts';
import type { Connection, OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';

export interface RegistryStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

interface Unit {
  readonly work: (connection: Connection) => Promise<unknown>;
  readonly statements: number;
  readonly bytes: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly result: unknown } | { readonly error: unknown };

const begin = `BEGIN; SELECT pg_advisory_xact_lock(${locks.registryWrites})`;
const mark = `INSERT INTO registry_writer (writer, seq) VALUES ($1, $2)
  ON CONFLICT (writer) DO UPDATE SET seq = excluded.seq`;
/** The transaction fails where the row is gone. */
const markFenced = `WITH marked AS (UPDATE registry_writer SET seq = $2 WHERE writer = $1 RETURNING seq)
  SELECT 1 / count(*) FROM marked`;
/** Writes, too, so that its commit waits for the synchronous standby, which may lack what a server shows that was stopped meanwhile. */
const lastMark = 'UPDATE registry_writer SET seq = seq WHERE writer = $1 RETURNING seq';
const divisionByZero = '22012';

/** What a server that was declared dead says of it. */
export function declaredDead(): Error {
  return new Error(
    'Another server has declared this one dead, because it gave no sign of life for some seconds. It can store nothing any more, and ends.',
  );
}

export class RegistryWriter {
  readonly #database: PostgresDatabase;
  /** This process's name in the table registry_writer; new at every start. */
  readonly #writer: string;
  #waiting: Unit[] = [];
  #statements = 0;
  #bytes = 0;
  #seq = 0;
  #connection: OwnConnection | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;
  /** Called with the duration of each commit, for the metrics. */
  onCommit: (durationMs: number) => void = () => {};
  refused = 0;

  /** Its row of registry_writer is its fence: without that it was declared dead. Commands, which nobody declares dead, make theirs. */
  readonly #isMember: boolean;

  constructor(parts: { readonly database: PostgresDatabase; readonly writer: string; readonly isMember?: boolean }) {
    this.#database = parts.database;
    this.#writer = parts.writer;
    this.#isMember = parts.isMember === true;
  }

  /**
   * Runs the statements as one unit: all of them or none.
   * @returns how many rows each changed.
   * @throws Refusal, LeaseLost
   */
  write(
    statements: readonly RegistryStatement[],
    { isWeighed = true, fence }: { readonly isWeighed?: boolean | undefined; readonly fence?: Fence | undefined } = {},
  ): Promise<readonly number[]> {
    const weight = { statements: statements.length, bytes: isWeighed ? bytesOf(statements) : 0 };
    return this.#add(weight, async (connection) => {
      // All at once: behind one that fails the others fail, too.
      const checked = fence && assertNewest(connection, fence);
      const changed = statements.map(({ sql, parameters }) => connection.query(sql, parameters));
      const results = await firstFailure([checked, ...changed]);
      return results.slice(1).map((result) => (result as { readonly count: number }).count);
    });
  }

  /** Runs `work` as one unit, in the same order. Within it errors of PostgreSQL must not be caught. */
  run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#add({ statements: 1, bytes: 0 }, work);
  }

  /** Finishes what waits; later work is refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    const connection = this.#connection;
    if (connection === undefined || connection.isLost) return;
    await connection.query('DELETE FROM registry_writer WHERE writer = $1', [this.#writer]).catch(() => {});
    await connection.close();
  }

  #add<T>(weight: { readonly statements: number; readonly bytes: number }, work: (c: Connection) => Promise<T>) {
    if (this.#isClosed) return Promise.reject(stoppingRefusal());
    return new Promise<T>((resolve, reject) => {
      assertQueueHasRoom({ statements: this.#statements, bytes: this.#bytes }, weight);
      this.#statements += weight.statements;
      this.#bytes += weight.bytes;
      this.#waiting.push({ ...weight, work, resolve: resolve as Unit['resolve'], reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // In the next turn, so that what comes in this one goes into the same transaction.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const units = this.#waiting.splice(0, limits.postgresUnitsPerCommit);
      const outcomes = await this.#commit(units);
      for (const [at, unit] of units.entries()) this.#answer(unit, outcomes[at] as Outcome);
    }
    this.#running = undefined;
  }

  #answer(unit: Unit, outcome: Outcome): void {
    this.#statements -= unit.statements;
    this.#bytes -= unit.bytes;
    if ('result' in outcome) {
      unit.resolve(outcome.result);
      return;
    }
    const error = writeRefusalOf(outcome.error);
    if ((error as { code?: string }).code === 'storage') this.refused += 1;
    unit.reject(error);
  }

  /** One transaction with all units; those that fail are left out. */
  async #commit(units: readonly Unit[]): Promise<Outcome[]> {
    const startMs = performance.now();
    let outcomes: Outcome[];
    let connection: OwnConnection;
    try {
      connection = await this.#connect();
      outcomes = await this.#runUnits(connection, units);
      // Others lock rows in another order (counters of usage): then all is run again.
      for (let attempt = 1; outcomes.some(isInTheWay) && attempt < limits.postgresConflictsMax; attempt++) {
        await connection.query('ROLLBACK');
        outcomes = await this.#runUnits(connection, units);
      }
    } catch (error) {
      await this.#drop();
      return units.map(() => ({ error }));
    }
    if (!outcomes.some((outcome) => 'result' in outcome)) {
      await connection.query('ROLLBACK').catch(() => this.#drop());
      return outcomes;
    }
    this.#seq += 1;
    try {
      const noted = connection.query(this.#isMember ? markFenced : mark, [this.#writer, this.#seq]);
      await firstFailure([noted, connection.query('COMMIT')]);
    } catch (error) {
      await this.#drop();
      if (!isConnectionLost(error)) {
        const isFenced = (error as { code?: string }).code === divisionByZero;
        return units.map(() => ({ error: isFenced ? storageRefusal(declaredDead()) : error }));
      }
      const outcome = await outcomeOf(this.#isCommitted(this.#seq));
      if ('error' in outcome) return units.map(() => outcome);
      if (outcome.result !== true) return units.map(() => ({ error }));
    }
    this.onCommit(performance.now() - startMs);
    return outcomes;
  }

  async #runUnits(connection: Connection, units: readonly Unit[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const begun = connection.query(begin);
    begun.catch(() => {});
    const [only] = units;
    if (only !== undefined && units.length === 1) {
      const outcome = await outcomeOf(only.work(connection));
      await begun;
      if ('error' in outcome && isConnectionLost(outcome.error)) throw outcome.error;
      return [outcome];
    }
    await begun;
    for (const unit of units) {
      const saved = connection.query('SAVEPOINT unit');
      const outcome = await outcomeOf(unit.work(connection));
      await saved;
      if ('error' in outcome && isConnectionLost(outcome.error)) throw outcome.error;
      await connection.query('error' in outcome ? 'ROLLBACK TO SAVEPOINT unit' : 'RELEASE SAVEPOINT unit');
      outcomes.push(outcome);
    }
    return outcomes;
  }

  /**
   * Whether a transaction whose COMMIT was not answered is committed. Waits for the database, and by the lock for the end of that
   * transaction. @throws Refusal `storage` where it is not known in time: the answer says so.
   */
  async #isCommitted(seq: number): Promise<boolean> {
    const endMs = performance.now() + limits.postgresOutcomeMs;
    for (let waitMs: number = limits.postgresRetryMsMin; ; waitMs = Math.min(2 * waitMs, limits.postgresRetryMsMax)) {
      try {
        const connection = await this.#connect();
        await connection.query(begin);
        const { rows } = await connection.query<{ seq: number }>(lastMark, [this.#writer]);
        await connection.query('COMMIT');
        // Declared dead since: nobody can say any more what became of it.
        if (this.#isMember && rows.length === 0) throw unknownOutcome(declaredDead());
        return rows[0]?.seq === seq;
      } catch (error) {
        await this.#drop();
        if (error instanceof Refusal) throw error;
        if (this.#isClosed || performance.now() > endMs) throw unknownOutcome(error);
      }
      await delay(waitMs);
    }
  }

  async #connect(): Promise<OwnConnection> {
    if (this.#connection === undefined || this.#connection.isLost) {
      this.#connection = await this.#database.connect('registry', { isPipelined: true });
    }
    return this.#connection;
  }

  /** The next transaction begins on another connection. */
  async #drop(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close().catch(() => {});
  }
}

/** @throws LeaseLost where the lease was taken with a greater epoch. */
async function assertNewest(connection: Connection, { name, epoch }: Fence): Promise<void> {
  const { rows } = await connection.query<{ epoch: number }>('SELECT epoch FROM lease WHERE name = $1 FOR SHARE', [
    name,
  ]);
  if ((rows[0]?.epoch ?? 0) > epoch) throw refusalOf({ kind: 'fenced', message: name });
}

function isInTheWay(outcome: Outcome): boolean {
  return 'error' in outcome && isConflict(outcome.error);
}

async function outcomeOf(work: Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await work };
  } catch (error) {
    return { error };
  }
}

/** Waits for all, then gives their results. @throws the first error, in their order. */
async function firstFailure(work: readonly (Promise<unknown> | undefined)[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
