// Looks into the database file of a server, or tampers with it, as a person with the sqlite3 shell would.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Runs a query on the file in the data folder, and leaves it as it is; what is in the write-ahead log counts. */
export function query(folder: string, sql: string): Record<string, unknown>[] {
  return open(folder, { readOnly: true }, (database) => database.prepare(sql).all());
}

/** Changes the file behind the service's back. */
export function tamper(folder: string, sql: string): void {
  open(folder, { readOnly: false }, (database) => database.exec(sql));
}

function open<T>(folder: string, options: { readonly readOnly: boolean }, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(folder, 'dundun.sqlite'), options);
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
