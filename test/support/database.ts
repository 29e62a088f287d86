// Reads or changes the database file of a server, as an operator with the sqlite3 shell would.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { limits } from '../../src/config/limits.ts';
import { databaseFile } from '../../src/engines/embedded/database/connection.ts';

/** Runs a query on the file in the data folder, and leaves it as it is; what is in the write-ahead log counts. */
export function query(folder: string, sql: string): Record<string, unknown>[] {
  return open(folder, { readOnly: true }, (database) => database.prepare(sql).all());
}

/** Changes the file behind the service's back. */
export function tamper(folder: string, sql: string): void {
  open(folder, { readOnly: false }, (database) => database.exec(sql));
}

/** A connection of its own to the file in the data folder. It waits for its turn where the service writes just then. */
export function openDatabase(folder: string, options: { readonly readOnly?: boolean } = {}): DatabaseSync {
  return new DatabaseSync(join(folder, databaseFile), { ...options, timeout: limits.databaseBusyMs });
}

function open<T>(folder: string, options: { readonly readOnly: boolean }, use: (database: DatabaseSync) => T): T {
  const database = openDatabase(folder, options);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

export function isIntact(folder: string): boolean {
  const rows = query(folder, 'PRAGMA integrity_check');
  return rows.length === 1 && rows[0]?.['integrity_check'] === 'ok';
}
