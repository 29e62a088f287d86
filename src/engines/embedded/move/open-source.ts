// Opens a data folder to move its data: beside its server for what is large, and alone for the end.
import { join } from 'node:path';
import { Refusal } from '../../../base/refusal.ts';
import { databaseFile, openConnection } from '../database/connection.ts';
import { assertNotMoved } from '../database/data-folder.ts';
import { lockFolder } from '../database/folder-lock.ts';
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

/** What an engine that has the folder to itself has sealed. */
export function openSealed(
  folder: string,
  newestReceivedMs: () => Promise<number | undefined>,
): { readonly source: FolderSource; close(): void } {
  const database = openConnection(join(folder, databaseFile), { readOnly: true });
  return { source: new FolderSource({ database, newestReceivedMs }), close: () => database.close() };
}
