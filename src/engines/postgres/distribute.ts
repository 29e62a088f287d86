// Has Citus distribute the tables of database/distributed-tables.ts, beside running servers: they go by shard first, which is right on plain
// PostgreSQL, too, and only when all of them do are the tables distributed. Every step can be run again. Functions of Citus that its
// documentation names are all that is used.
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { OnProgress } from '../../domain/ports/maintenance.ts';
import { declareDead } from './coordination/death.ts';
import { locks } from './database/advisory-locks.ts';
import { isConflict, readRefusalOf } from './database/database-error.ts';
import { type DistributedTable, distributedTables, distributionMigration } from './database/distributed-tables.ts';
import { examine, migrate } from './database/migrate.ts';
import { type OwnConnection, PostgresDatabase } from './database/postgres-database.ts';
import { hindrances, ofReleases, tablesByCitus } from './distribution-checks.ts';
import { assertNoMove } from './move/move-notes.ts';

export interface DistributeOptions {
  readonly url: string;
  /** Shards of each group of tables. */
  readonly shards: number;
  readonly onStep: OnProgress;
}

export interface DistributionPlan {
  /** What would be run, as SQL. */
  readonly statements: readonly string[];
  /** Sentences about what stands in the way. */
  readonly hindrances: readonly string[];
}

/** What is to be done, and what stands in the way; changes nothing. @throws Refusal `conflict`, `storage` */
export async function planDistribution({
  url,
  shards,
}: Pick<DistributeOptions, 'url' | 'shards'>): Promise<DistributionPlan> {
  await examine(url);
  const database = new PostgresDatabase(url);
  try {
    await assertNoMove(database);
    const left = leftOf(await tablesByCitus(database));
    return { statements: statementsFor(left, shards), hindrances: await hindrances(database) };
  } catch (error) {
    throw readRefusalOf(error);
  } finally {
    await database.close();
  }
}

/** @returns the tables that were distributed now. @throws Refusal `conflict`, `busy`, `storage` */
export async function distribute({ url, shards, onStep }: DistributeOptions): Promise<readonly string[]> {
  await migrate(url);
  const database = new PostgresDatabase(url);
  try {
    await assertNoMove(database);
    const found = await hindrances(database);
    if (found.length > 0) throw new Refusal('conflict', found.join('\n'));
    const left = leftOf(await tablesByCitus(database));
    await goByShard(database);
    onStep('waiting until all servers go by shard');
    await untilServersGoByShard(database);
    // What a server has begun before it said so has ended by then, or is begun again.
    if (left.length > 0) await delay(limits.postgresConnectMs + limits.postgresStatementMs);
    const connection = await database.connect('distribution');
    try {
      // Copying takes as long as it needs.
      await connection.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
      for (const group of groupsOf(left)) {
        onStep(`distributing ${group.map(({ table }) => table).join(', ')}`);
        await inTransaction(connection, creating(group, shards));
      }
      await connection.query(doneSql);
      onStep('removing what was copied');
      // Also what a run that was cut off has left.
      for (const sql of removing(distributedTables)) await connection.query(sql);
    } finally {
      await connection.close();
    }
    return left.map(({ table }) => table);
  } catch (error) {
    throw readRefusalOf(error);
  } finally {
    await database.close();
  }
}

/**
 * Has servers go by shard: those that start from now on, and within seconds those that run. A release that does not know how must not start
 * any more: for it the migration does not only add from then on (database/readable.ts).
 * @throws Refusal `conflict` where a server of such a release is there, `busy` where a command may be
 */
export function goByShard(database: PostgresDatabase): Promise<void> {
  return database.transaction(async (connection) => {
    await connection.query(`SELECT pg_advisory_xact_lock(${locks.joining})`);
    const query = async <Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []) =>
      (await connection.query<Row>(sql, parameters)).rows;
    const [free] = await query<{ taken: number }>(`SELECT pg_try_advisory_xact_lock(${locks.commands}) AS taken`);
    if (free?.taken !== 1) throw new Refusal('busy', 'A command uses the database. Run this again when it has ended.');
    const earlier = await ofReleases({ query });
    if (earlier.length > 0) throw new Refusal('conflict', earlier.join('\n'));
    for (const sql of readySql) await query(sql);
  });
}

const readySql = [
  `DELETE FROM adding_migration WHERE name = '${distributionMigration}'`,
  'UPDATE log_end SET distribution = 1 WHERE distribution = 0',
];
const doneSql = 'UPDATE log_end SET distribution = 2';

/** The statements of `distribute`, for people. */
function statementsFor(left: readonly DistributedTable[], shards: number): string[] {
  if (left.length === 0) return [];
  const groups = groupsOf(left).map((group) => ['BEGIN', ...creating(group, shards), 'COMMIT']);
  return ['BEGIN', ...readySql, 'COMMIT', ...groups.flat(), doneSql, ...removing(distributedTables)];
}

function leftOf(byCitus: ReadonlyMap<string, unknown>): DistributedTable[] {
  return distributedTables.filter(({ table }) => !byCitus.has(table));
}

function groupsOf(tables: readonly DistributedTable[]): DistributedTable[][] {
  return [...Map.groupBy(tables, ({ group }) => group).values()];
}

/** The first table of a group makes its shards. Tables of a group are distributed together: a read of one sensor needs all of them. */
function creating(group: readonly DistributedTable[], shards: number): string[] {
  return group.flatMap(({ table, column, group: name, hasNoKey }) => {
    const rest = table === name ? `colocate_with => 'none', shard_count => ${shards}` : `colocate_with => '${name}'`;
    const identity = hasNoKey ? [`ALTER TABLE ${table} REPLICA IDENTITY FULL`] : [];
    return [...identity, `SELECT create_distributed_table('${table}', '${column}', ${rest})`];
  });
}

/** What the tables had before is hidden, and takes room, until then. */
function removing(tables: readonly DistributedTable[]): string[] {
  return tables.map(({ table }) => `SELECT truncate_local_data_after_distributing_table('${table}')`);
}

/** Each server says so with a sign of life; one that gives none is declared dead. @throws Refusal `busy` */
async function untilServersGoByShard(database: PostgresDatabase): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    await declareDead(database, { isNew: performance.now() - startMs < limits.nodeDeadMs });
    const others = await database.query<{ id: string }>('SELECT id FROM node WHERE distribution = 0');
    if (others.length === 0) return;
    if (performance.now() - startMs > limits.postgresOutcomeMs)
      throw new Refusal('busy', `The server ${others[0]?.id} does not go by shard yet. Run this again.`);
    await delay(limits.postgresRetryMsMin);
  }
}

/** Waits for whoever writes to the tables; gives way to them, and tries again, where that takes long. */
async function inTransaction(connection: OwnConnection, statements: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await connection.query('BEGIN');
      for (const sql of statements) await connection.query(sql);
      await connection.query('COMMIT');
      return;
    } catch (error) {
      await connection.query('ROLLBACK').catch(() => {});
      const mayPass = isConflict(error) || (error as { code?: string }).code === lockNotAvailable;
      if (!mayPass || attempt === limits.postgresConflictsMax) throw error;
    }
  }
}

const lockNotAvailable = '55P03';
