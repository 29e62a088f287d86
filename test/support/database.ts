// Looks into the database file of a server that has ended, as a person with the sqlite3 shell would.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Runs a query on the file in the data folder; what a killed server left in the write-ahead log counts. */
export function query(folder: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(join(folder, 'dundun.sqlite'));
  try {
    return database.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    database.close();
  }
}

export function isIntact(folder: string): boolean {
  const rows = query(folder, 'PRAGMA integrity_check');
  return rows.length === 1 && rows[0]?.['integrity_check'] === 'ok';
}
