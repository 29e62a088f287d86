// Opens the embedded engine in a data folder: locks the folder, migrates the database, starts the writer thread.
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { Kysely } from 'kysely';
import { randomIds } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import { threadHeap } from '../../base/threads/thread-heap.ts';
import { type Clock, systemClock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { Head } from '../shared/head/head.ts';
import { HeadLastSeen } from '../shared/head/head-last-seen.ts';
import type { Registry } from '../shared/registry/registry.ts';
import { sqlStores } from '../shared/registry/registry-stores.ts';
import type { Tables } from '../shared/registry/tables.ts';
import { SeriesEdits } from '../shared/sealing/series-edits.ts';
import { ReaderThread } from '../shared/threads/reader-thread-client.ts';
import { refusalOf } from '../shared/write-failure.ts';
import { countEpoch } from './coordination/epochs.ts';
import { LocalCoordination } from './coordination/local-coordination.ts';
import { LocalNodes } from './coordination/local-nodes.ts';
import { databaseFile, openConnection } from './database/connection.ts';
import { assertNotMoved, makeFolder } from './database/data-folder.ts';
import { writeFailureOf } from './database/database-error.ts';
import type { SqlValue } from './database/database-writer.ts';
import { NodeSqliteDialect } from './database/dialect.ts';
import { giveUpToStart, isShortToStart } from './database/disk-reserve.ts';
import { lockFolder, unusable } from './database/folder-lock.ts';
import { migrate } from './database/migrate.ts';
import { assertNotNewer } from './database/open-data.ts';
import { sqliteDialect } from './database/sql-dialect.ts';
import { secureWal, secureWalIfUnused } from './database/wal/secure-wal.ts';
import { EmbeddedEngine } from './embedded-engine.ts';
import { SqliteCommitLog } from './log/commit-log.ts';
import { LogFollower, sharedFollowedSeq } from './log/log-follower.ts';
import { forgetAllRepeatedBodies } from './log/receipts.ts';
import { SqliteSeries } from './reads/series.ts';
import { completeRemovals } from './sealing/datapoint-removal.ts';
import { Retention } from './sealing/retention.ts';
import { moveEarlierDatapoints } from './sealing/upgrade.ts';
import { SearchThread } from './threads/search-thread-client.ts';
import { SqliteWriter } from './threads/writer.ts';

interface OpenOptions {
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * Gives up the reserve on the disk, step by step, where there is no other room to start.
 * @throws Refusal `conflict` when another server uses the folder, or a newer release wrote it; `storage`.
 */
export async function openEmbeddedEngine(folder: string, options: OpenOptions = {}): Promise<EmbeddedEngine> {
  makeFolder(folder);
  for (;;) {
    try {
      return await openOnce(folder, options);
    } catch (error) {
      const { cause } = error as Error;
      if (writeFailureOf(cause ?? error).isFull !== true || !giveUpToStart(folder)) throw error;
    }
  }
}

async function openOnce(folder: string, { clock = systemClock, log }: OpenOptions): Promise<EmbeddedEngine> {
  const unlock = lockFolder(folder);
  try {
    // Behind the lock: where another server uses the folder, the reserve is its own.
    while (isShortToStart(folder) && giveUpToStart(folder));
    const path = join(folder, databaseFile);
    const mended = [...secureBeforeOpening(folder)];
    const database = await openMigrated(folder);
    let reader: DatabaseSync;
    try {
      moveEarlierDatapoints(database);
      mended.push(...completeRemovals(database, () => giveUpToStart(folder)));
      reader = openConnection(path, { readOnly: true });
    } finally {
      // After the reader is open: with its last connection SQLite would remove the files of the write-ahead log.
      database.close();
    }
    // Before the writer starts, because the writer may begin to seal, and must keep what the watcher has not read.
    const followed = sharedFollowedSeq(reader);
    const writer = new SqliteWriter({ path, followed });
    if (log !== undefined) logReserve(writer, { log, folder });
    const head = new Head();
    const lastSeen = new HeadLastSeen(head);
    writer.onSealed = (seq) => {
      lastSeen.beforeSealed();
      head.sealed(seq);
    };
    const stored = { writer, reader, head, follower: new LogFollower(reader, followed) };
    const coordination = new LocalCoordination({ clock, countEpoch: (name) => countEpoch(name, { writer, reader }) });
    const isNewest = coordination.isNewest.bind(coordination);
    const commitLog = new SqliteCommitLog({ ...stored, isNewest });
    const changes = { retention: new Retention(stored), edits: new SeriesEdits(stored) };
    const series = new SqliteSeries({ ...stored, ...changes, longReads: new ReaderThread(() => startReader(path)) });
    await commitLog.start();
    // What a client pushes again because of it must be stored.
    if (commitLog.damage.length > 0) await writer.write([forgetAllRepeatedBodies]);
    const read = new Kysely<Tables>({ dialect: new NodeSqliteDialect(reader) });
    const search = new SearchThread({ path, lastSeen });
    const registry: Registry = {
      dialect: sqliteDialect,
      read,
      search: async (query, options) => (await search.run(toStatement(query.compile()), options)) as never,
      write: async (queries, options) => {
        const statements = queries.map((query) => toStatement(query.compile()));
        const changes = await writer.write(statements, options);
        if (options?.moves === true) search.sensorsMoved();
        if (options?.loses !== undefined) search.sensorRemoved(options.loses);
        return changes;
      },
    };
    const close = async () => {
      await writer.close();
      await search.close();
      await series.close();
      await read.destroy();
      reader.close();
      unlock();
    };
    const stores = sqlStores(registry, clock);
    const nodes = new LocalNodes({ id: randomIds.uuid(), clock, leases: () => coordination.held });
    const ports = { stores, commitLog, series, coordination, nodes };
    return new EmbeddedEngine({ ...ports, clock, log, folder, mended, registry, head, writer, reader, close });
  } catch (error) {
    unlock();
    throw error;
  }
}

function startReader(path: string): Worker {
  return new Worker(new URL('./threads/reader-thread.ts', import.meta.url), {
    workerData: { path },
    resourceLimits: threadHeap(),
  });
}

/** @throws Refusal `storage` */
function secureBeforeOpening(folder: string): readonly string[] {
  try {
    return secureWal(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

function logReserve(writer: SqliteWriter, { log, folder }: { readonly log: Log; readonly folder: string }): void {
  const wantedBytes = limits.reserveFileBytes;
  writer.onReserve = (state, before) => {
    if (state === 'in use') {
      log.warn(
        { folder },
        'the disk is full: the service works in its reserve, and takes no datapoints until there is room',
      );
    } else if (before === 'in use') {
      log.info({ folder }, 'the disk has room again: the reserve is taken back');
    } else if (state === 'partial') {
      log.warn({ folder, wantedBytes }, 'the disk has no room for all of the reserve');
    }
  };
}

/**
 * Opens the registry alone for a command-line verb, whether a server is running or not. Writes in short transactions
 * and needs no lock.
 * @throws Refusal `conflict` where a newer release wrote it.
 */
export async function openRegistryAlone(folder: string): Promise<{ registry: Registry; close(): void }> {
  makeFolder(folder);
  secureWalIfUnused(folder);
  const database = await openMigrated(folder);
  const read = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) });
  const registry: Registry = {
    dialect: sqliteDialect,
    read,
    search: async (query) => (await read.executeQuery(query.compile())).rows,
    write: async (queries) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        // It may have waited until a move had come to its end.
        assertNotMoved(folder);
        const changes = queries.map((query) => {
          const { sql, parameters } = toStatement(query.compile());
          return Number(database.prepare(sql).run(...parameters).changes);
        });
        database.exec('COMMIT');
        return changes;
      } catch (error) {
        database.exec('ROLLBACK');
        const failure = writeFailureOf(error);
        throw ['exists', 'quota', 'growth'].includes(failure.kind) ? refusalOf(failure) : error;
      }
    },
  };
  return { registry, close: () => database.close() };
}

function toStatement(query: { readonly sql: string; readonly parameters: readonly unknown[] }) {
  return { sql: query.sql, parameters: query.parameters as readonly SqlValue[] };
}

async function openMigrated(folder: string): Promise<DatabaseSync> {
  const path = join(folder, databaseFile);
  let database: DatabaseSync | undefined;
  try {
    assertNotNewer(path);
    database = openConnection(path, { readOnly: false });
    await migrate(database);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof Refusal ? error : unusable(folder, error);
  }
}
