// One server a data folder. The lock is an exclusive transaction on a file of its own: the operating system takes
// it back when the process ends, however it ends.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../base/refusal.ts';

/**
 * Locks the folder; the function given back unlocks it.
 * @throws Refusal `conflict` when another server holds it.
 */
export function lockFolder(folder: string): () => void {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const { errcode = 0, message } = error as { errcode?: number; message: string };
    if ((errcode & 0xff) !== sqliteBusy)
      throw new Refusal('storage', `Cannot use the data folder ${folder}: ${message}.`, { cause: error });
    throw new Refusal(
      'conflict',
      `Another Dundun already uses the data folder ${folder}. Stop it, or choose another DUNDUN_DATA_DIR.`,
    );
  }
  const held = database;
  return () => held.close();
}

const sqliteBusy = 5;
