// Opens a data folder to move its data: beside its server for what is large, and alone for the end.
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { databaseFile, openConnection } from '../database/connection.ts';
import { assertNotMoved } from '../database/data-folder.ts';
import { lockFolder, unusable } from '../database/folder-lock.ts';
import { openFolderForReading } from '../database/open-data.ts';
import { FolderSource } from './folder-source.ts';

/** For chunks alone: they may change meanwhile. @throws Refusal `conflict`, `storage`; `not-found` where there is no data. */
export function openBeside(folder: string): { readonly source: FolderSource; close(): void } {
  assertNotMoved(folder);
  const { database } = openFolderForReading(folder);
  return { source: new FolderSource({ database }), close: () => database.close() };
}

/** Whether a server uses the folder. @throws Refusal `storage` */
export function isInUse(folder: string): boolean {
  try {
    lockFolder(folder)();
    return false;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conflict') return true;
    throw error;
  }
}

/** The end of a log, all of it sealed. */
export interface SealedEnd {
  readonly lastSeq: number;
  readonly newestReceivedMs: number | undefined;
}

/**
 * What an engine has sealed. Nobody starts on the folder, and no command writes, until it is closed.
 * @throws Refusal `conflict` where somebody has changed it since; `storage`.
 */
export function openSealed(
  folder: string,
  { lastSeq, newestReceivedMs }: SealedEnd,
): { readonly source: FolderSource; close(): void } {
  const unlock = lockFolder(folder);
  let database: DatabaseSync | undefined;
  const close = () => {
    database?.close();
    unlock();
  };
  try {
    assertNotMoved(folder);
    database = openConnection(join(folder, databaseFile), { readOnly: false });
    database.exec('BEGIN IMMEDIATE');
    if (database.prepare(unsealedSql).get(lastSeq) !== undefined)
      throw new Refusal('conflict', 'The folder has changed while its data were compressed. Run the move again.');
    return { source: new FolderSource({ database, newestReceivedMs }), close };
  } catch (error) {
    close();
    throw error instanceof Refusal ? error : unusable(folder, error);
  }
}

const unsealedSql = `SELECT 1 FROM log
  WHERE first_seq > max(?, coalesce((SELECT value FROM counter WHERE name = 'sealed_seq'), 0)) LIMIT 1`;
