// Opens the database of a data folder or a backup read-only, whether a server is running or not; called by backup and
// check. Refuses a database that this release cannot read; everything that opens one calls that check.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { databaseFile, openConnection } from './connection.ts';
import { assertNotMoving, assertRestored } from './data-folder.ts';
import { unusable } from './folder-lock.ts';
import { formOf } from './migrate.ts';
import { secureWalIfUnused } from './wal/secure-wal.ts';

/**
 * @throws Refusal `not-found` where the folder has no database, `conflict` where it has the half of a restore or of a move, or a newer
 * release or another program wrote it, `storage`.
 */
export function openFolderForReading(folder: string): { readonly database: DatabaseSync; readonly path: string } {
  const path = join(folder, databaseFile);
  assertRestored(folder);
  assertNotMoving(folder);
  if (!existsSync(path)) {
    throw new Refusal('not-found', `There is no data in ${folder}. Name the data folder with DUNDUN_DATA_DIR.`);
  }
  secureWalIfUnused(folder);
  return { database: openFileForReading(path), path };
}

/** @throws Refusal `conflict` where a newer release or another program wrote it, `storage`. */
export function openFileForReading(path: string): DatabaseSync {
  try {
    const database = openConnection(path, { readOnly: true });
    assertKnownForm(database, path);
    return database;
  } catch (error) {
    throw error instanceof Refusal ? error : unusable(path, error);
  }
}

/** @throws Refusal `conflict` */
function assertKnownForm(database: DatabaseSync, path: string): void {
  const { form, last } = formOf(database);
  if (form === 'foreign') throw new Refusal('conflict', `${path} is no database of Dundun.`);
  if (form === 'newer') throw newerRelease(path, last);
}

/**
 * Refuses a database before anything is written to it. One that is not there yet, or has no tables yet, passes.
 * @throws Refusal `conflict` where a newer release wrote it.
 */
export function assertNotNewer(path: string): void {
  if (!existsSync(path)) return;
  // Without the settings of connection.ts, which the newer release may have changed. Not read-only: such a connection
  // would leave the files of the write-ahead log behind.
  const database = new DatabaseSync(path, { timeout: limits.databaseBusyMs });
  try {
    const { form, last } = formOf(database);
    if (form === 'newer') throw newerRelease(path, last);
  } finally {
    database.close();
  }
}

function newerRelease(path: string, migration: string): Refusal {
  const advice = 'Use that release or a later one; to go back, restore the backup made before the update';
  return new Refusal('conflict', `${path} was written by a newer Dundun (${migration}). ${advice}.`);
}
