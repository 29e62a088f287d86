// Declares servers dead that give no sign of life: takes their fences away, which waits for what they have under way, and then
// their rows of `node`. From then on they can store nothing, and what they held is free. Deaths are counted, in the same transaction: by
// that count others know one from a server that was stopped, which has told of all it changed. All times are those of the database.
import { limits } from '../../../config/limits.ts';
import { locks } from '../database/advisory-locks.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

/**
 * Milliseconds of silence for which nobody may be declared dead: so long a server can rely on its last sign of life.
 */
export const sureMs = () => 2 * limits.nodeRenewMs;

/** Each death begins a new epoch of those that are there. Nobody holds that lease. */
const countDeath = `INSERT INTO lease (name, epoch) VALUES ('members', 1) ON CONFLICT (name) DO UPDATE SET epoch = lease.epoch + 1`;
/** How many servers were declared dead so far. */
export const deathsSql = `(SELECT coalesce(max(epoch), 0) FROM lease WHERE name = 'members')`;

const seconds = (ms: number) => `make_interval(secs => ${ms / 1000})`;
const silentFor = (ms: number) => `renewed < clock_timestamp() - ${seconds(ms)}`;

/** Whether the server is connected: it holds the lock of its number then. */
export const isConnected = `EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
  AND classid = ${locks.nodeNumbers} AND objid = node.number
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

/** Where a standby took the place of its primary, whose last signs of life it may lack, and from when, the database does not tell. */
const mayBePromoted = 'pg_last_xact_replay_timestamp() IS NOT NULL';

/** One whose connection is gone, because its process has ended, need not be waited for as long as one that may be stopped. */
const isDead = () => `pg_postmaster_start_time() < clock_timestamp() - ${seconds(limits.nodeDeadMs)}
  AND ($2 AND ${silentFor(limits.nodeDeadMs)} OR ${silentFor(sureMs())} AND NOT ${isConnected} AND ($2 OR NOT ${mayBePromoted}))`;

/**
 * @param options.node who declares; undefined for a command. `isNew`: the caller has not been connected for `nodeDeadMs`, so that others
 * may have been cut off, too, and come back.
 * @returns those that were declared dead.
 */
export async function declareDead(
  database: PostgresDatabase,
  { node = '', isNew }: { readonly node?: string; readonly isNew: boolean },
): Promise<string[]> {
  const dead: string[] = [];
  const found = await database.query<{ id: string }>(`SELECT id FROM node WHERE id <> $1 AND ${isDead()}`, [
    node,
    !isNew,
  ]);
  for (const { id } of found) {
    const isGone = await database.transaction(async (connection) => {
      await connection.query(`SET LOCAL lock_timeout = ${limits.nodeRenewMs}`);
      const { count } = await connection.query(`SELECT 1 FROM node WHERE id = $1 AND ${isDead()} FOR UPDATE`, [
        id,
        !isNew,
      ]);
      if (count === 0) return false;
      await connection.query('DELETE FROM log_writer WHERE node = $1', [id]);
      await connection.query('DELETE FROM registry_writer WHERE writer = $1', [id]);
      await connection.query('DELETE FROM node WHERE id = $1', [id]);
      await connection.query(countDeath);
      return true;
    });
    if (isGone) dead.push(id);
  }
  return dead;
}
