// Reads or changes the database file of a server, as an operator with the sqlite3 shell would; and lays a new one.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { limits } from '../../src/config/limits.ts';
import { databaseFile } from '../../src/engines/embedded/database/connection.ts';
import { openRegistryAlone } from '../../src/engines/embedded/open.ts';

let emptyDatabase: Promise<Buffer> | undefined;

/** Lays an empty database of this release into a new folder. The migrations that make it run once in a process. */
export async function layEmptyDatabase(folder: string): Promise<void> {
  emptyDatabase ??= makeDatabase(async (empty) => (await openRegistryAlone(empty)).close());
  await layDatabase(folder, await emptyDatabase);
}

/** Lays a database, as `makeDatabase` gave it, into a new folder. */
export async function layDatabase(folder: string, file: Uint8Array): Promise<void> {
  await writeFile(join(folder, databaseFile), file, { mode: 0o600, flag: 'wx' });
}

/**
 * The database file that `make` leaves in a folder; it must close what it opened, which moves the write-ahead log into
 * the file.
 */
export async function makeDatabase(make: (folder: string) => Promise<void>): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'dundun-empty-'));
  try {
    await make(folder);
    return await readFile(join(folder, databaseFile));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

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
