// Ensures that one server uses a data folder at a time. The lock is an exclusive transaction on a file of its own: the
// operating system releases it when the process ends, even by SIGKILL.
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { databaseFile } from './connection.ts';
import { writeFailureOf } from './database-error.ts';

/** Megabytes with which a start and removals are possible again, however large the write-ahead log has become. */
const freeWanted = 50;
/** The lock inside the data folder. */
export const lockFile = 'lock';

/**
 * Locks the folder and returns the function that unlocks it.
 * @throws Refusal `conflict` when another server holds it, `storage` when it cannot be used.
 */
export function lockFolder(folder: string): () => void {
  assertWritable(folder);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(folder, lockFile), { timeout: 0 });
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const { errcode = 0 } = error as { errcode?: number };
    if ((errcode & 0xff) !== sqliteBusy) throw unusable(folder, error);
    throw new Refusal(
      'conflict',
      `Another Dundun already uses the data folder ${folder}. Stop it, or choose another DUNDUN_DATA_DIR.`,
    );
  }
  const held = database;
  return () => held.close();
}

/** The refusal for a folder or file that the operating system or SQLite cannot open. */
export function unusable(place: string, error: unknown): Refusal {
  const advice = writeFailureOf(error).isFull === true ? ` Free ${freeWanted} MB on its disk, and start again.` : '';
  return new Refusal('storage', `Cannot use the data folder ${place}: ${(error as Error).message}.${advice}`, {
    cause: error,
  });
}

/**
 * Checks the rights beforehand: SQLite silently opens a write-protected file read-only, and the first push would fail.
 */
function assertWritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK);
    for (const file of [lockFile, databaseFile]) {
      const path = join(folder, file);
      if (existsSync(path)) accessSync(path, constants.W_OK);
    }
  } catch (error) {
    throw unusable(folder, error);
  }
}

const sqliteBusy = 5;
