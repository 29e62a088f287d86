// Opens the one database file with the settings every connection of this service has.
import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';

/** The database file inside the data folder. */
export const databaseFile = 'dundun.sqlite';
const busyCode = 5;
const busyPauseMs = 20;

/**
 * Opens a connection. The writing kind waits for the disk at every commit (`synchronous=FULL`), which is what
 * makes an acknowledgement mean "stored" (I1).
 */
export function openConnection(
  path: string,
  options: { readonly readOnly: boolean; readonly cacheBytes?: number },
): DatabaseSync {
  // SQLite gives its side files the mode of this one: nobody else on the machine reads keys and hashes. A file that is there
  // is not touched: to close it would end all locks that this process has on it.
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

/** Waits for others itself: where two processes make a file at once, SQLite refuses the second the write-ahead log without waiting. */
function prepareForWriting(database: DatabaseSync): void {
  const untilMs = performance.now() + limits.databaseBusyMs;
  for (;;) {
    try {
      database.exec(
        // Said before a database has its first table, or not at all: it may become smaller again.
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
