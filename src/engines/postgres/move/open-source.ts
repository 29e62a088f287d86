// Opens a database to move its data: beside its servers for what is large, and alone for the end.
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { movedTables } from '../../shared/move/moved-data.ts';
import { declareDead, isConnected } from '../coordination/death.ts';
import { locks } from '../database/advisory-locks.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';
import { DatabaseSource } from './database-source.ts';
import { type Moved, noteMoved } from './move-notes.ts';

export interface BesideServers {
  readonly source: DatabaseSource;
  close(): Promise<void>;
}

export interface WithoutServers extends BesideServers {
  /** Notes that the data were moved: no server starts on the database any more. */
  noteMoved(moved: Moved): Promise<void>;
}

/** Chunks are read in the order of their ids, in which they are in no other index. */
const chunkIndex = 'moving_chunk';

/** For chunks alone: they may change meanwhile. */
export async function openBeside(database: PostgresDatabase): Promise<BesideServers> {
  const connection = await connect(database);
  try {
    // One that was not finished is not used, and not made again.
    const { count } = await connection.query(
      'SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
      [chunkIndex],
    );
    if (count > 0) await connection.query(`DROP INDEX ${chunkIndex}`);
    await connection.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${chunkIndex} ON chunk (id)`);
  } catch (error) {
    await connection.close();
    throw error;
  }
  return { source: new DatabaseSource(connection), close: () => connection.close() };
}

/** Whether a server uses the database. One that was killed is waited for until it is declared dead. */
export async function isInUse(database: PostgresDatabase): Promise<boolean> {
  for (;;) {
    await declareDead(database, { isNew: false });
    const nodes = await database.query<{ connected: number }>(`SELECT ${isConnected} AS connected FROM node`);
    if (nodes.length === 0) return false;
    if (nodes.some(({ connected }) => connected === 1)) return true;
    await delay(limits.postgresRetryMsMin);
  }
}

/**
 * What an engine has sealed. No server starts, and nothing is written, until it is closed.
 * @returns undefined where a server has started since.
 */
export async function openSealed(database: PostgresDatabase): Promise<WithoutServers | undefined> {
  const connection = await connect(database);
  try {
    if (await isSealedAlone(connection))
      return {
        source: new DatabaseSource(connection),
        noteMoved: async (moved) => {
          await noteMoved(connection, moved);
          await connection.query(`DROP INDEX IF EXISTS ${chunkIndex}`);
          await connection.query('COMMIT');
        },
        close: () => connection.close(),
      };
  } catch (error) {
    await connection.close();
    throw error;
  }
  await connection.close();
  return undefined;
}

/** It reads for as long as the data are large, and holds what it has locked while the other side writes. */
async function connect(database: PostgresDatabase): Promise<OwnConnection> {
  const connection = await database.connect('move');
  await connection.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
  return connection;
}

/** Takes the lock that servers share, alone, and keeps commands from writing. @throws Refusal `conflict` */
async function isSealedAlone(connection: OwnConnection): Promise<boolean> {
  const untilMs = performance.now() + limits.databaseBusyMs;
  const take = `SELECT pg_try_advisory_lock(${locks.servers}) AS taken`;
  while ((await connection.query<{ taken: number }>(take)).rows[0]?.taken !== 1) {
    if (performance.now() > untilMs) return false;
    await delay(limits.postgresRetryMsMin);
  }
  // All is read of one state, that behind the locks.
  await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const tables = [...movedTables, ...writtenBeside].map((table) => `"${table}"`);
  await connection.query(`LOCK TABLE ${tables.join(', ')} IN SHARE MODE`);
  const { count } = await connection.query(sealedSql);
  if (count === 0)
    throw new Refusal('conflict', 'The database has changed while its data were compressed. Run the move again.');
  return true;
}

const writtenBeside = ['chunk', 'series', 'receipt', 'counter', 'log_end', 'seal_pass'];

/** The last pass of sealing has come to the end of the log, and none is under way. */
const sealedSql = `SELECT 1 FROM log_end WHERE NOT EXISTS (SELECT 1 FROM seal_pass WHERE is_whole = 0)
  AND NOT EXISTS (SELECT 1 FROM log WHERE number > coalesce((SELECT max(up_to_row) FROM seal_pass), 0))`;
