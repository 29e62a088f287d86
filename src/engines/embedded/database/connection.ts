// Opens the database file with the settings that every connection of this service has.
import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';

/** The database file inside the data folder. */
export const databaseFile = 'dundun.sqlite';
const busyCode = 5;
const busyPauseMs = 20;

/**
 * Opens a connection. A writing one waits for the disk at every commit (`synchronous=FULL`): that is what makes an
 * acknowledgement mean "stored" (I1).
 */
export function openConnection(
  path: string,
  options: { readonly readOnly: boolean; readonly cacheBytes?: number },
): DatabaseSync {
  // Mode 0600, which SQLite copies to its side files: other accounts of the machine must not read keys and hashes. Only
  // for a new file: closing an existing one would release all POSIX locks that this process has on it.
  if (!options.readOnly && !existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { readOnly: options.readOnly, timeout: limits.databaseBusyMs });
  try {
    if (!options.readOnly) prepareForWriting(database);
  } catch (error) {
    database.close();
    throw error;
  }
  const cacheKib = Math.round((options.cacheBytes ?? limits.pageCacheBytes) / 1024);
  database.exec(`PRAGMA foreign_keys = ON; PRAGMA cache_size = -${cacheKib}; PRAGMA temp_store = MEMORY;`);
  return database;
}

/**
 * Retries by itself: while another process creates the file, SQLite refuses to switch to the write-ahead log without
 * waiting for its timeout.
 */
function prepareForWriting(database: DatabaseSync): void {
  const untilMs = performance.now() + limits.databaseBusyMs;
  for (;;) {
    try {
      database.exec(
        // auto_vacuum takes effect only before the first table is created.
        `PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${limits.walPagesMax};
          PRAGMA journal_size_limit = ${limits.walBytesKept};`,
      );
      return;
    } catch (error) {
      if ((((error as { errcode?: number }).errcode ?? 0) & 0xff) !== busyCode || performance.now() > untilMs)
        throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyPauseMs);
    }
  }
}
