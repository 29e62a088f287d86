// Creates the data folder, and refuses a folder in which a restore or a move was interrupted, or whose data were moved elsewhere, so
// that no server starts with incomplete or former data.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Refusal } from '../../../base/refusal.ts';
import { databaseFile } from './connection.ts';
import { unusable } from './folder-lock.ts';

/** Name of the database while a restore writes it; it is renamed when it is complete. */
export const restoringFile = `${databaseFile}.restoring`;

/** Name of the database while a move writes it; it is renamed when all is there. */
export const movingFile = `${databaseFile}.moving`;

/** @throws Refusal `storage` where the folder cannot be created, `conflict` where a restore or a move into it was interrupted. */
export function makeFolder(folder: string): void {
  try {
    makeWithParents(resolve(folder));
  } catch (error) {
    throw unusable(folder, error);
  }
  assertRestored(folder);
  assertNotMoved(folder);
  assertNotMoving(folder);
}

/** @throws Refusal `conflict` where a move into the folder has not come to its end. */
export function assertNotMoving(folder: string): void {
  if (!existsSync(join(folder, movingFile))) return;
  throw new Refusal(
    'conflict',
    `A move of data into the folder ${folder} (\`dundun move\`) has not come to its end. Run it again with the service stopped; to give it up, take another folder.`,
  );
}

/** Says that the data of the folder were moved to a database. */
export const movedFile = 'moved';

/** @throws Refusal `conflict` where the data were moved to a database: what is pushed here would not be there. */
export function assertNotMoved(folder: string): void {
  const path = join(folder, movedFile);
  if (!existsSync(path)) return;
  throw new Refusal(
    'conflict',
    `The data of ${folder} were moved to PostgreSQL: set DUNDUN_DATABASE_URL. To go on with the folder as it was then, delete ${path}.`,
  );
}

/** Notes on the disk that the data were moved. @param mark by which the database knows it. @throws Refusal `storage` */
export function noteMoved(folder: string, mark: string): void {
  const path = join(folder, movedFile);
  try {
    // Under its name when it is whole: half a note would keep servers off the folder, and say nothing of the database.
    const file = openSync(`${path}.new`, 'w', 0o600);
    writeSync(file, `The data of this folder are in a PostgreSQL database (docs/operations.md).\n${mark}\n`);
    fsyncSync(file);
    closeSync(file);
    renameSync(`${path}.new`, path);
    syncNames(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** Whoever noted it may have been killed before the name was on the disk. @throws Refusal `storage` */
export function syncMovedNote(folder: string): void {
  try {
    syncNames(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** The mark of the note that the data were moved; undefined where there is none. */
export function readMovedMark(folder: string): string | undefined {
  const path = join(folder, movedFile);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n')[1] : undefined;
}

/** @throws Refusal `conflict` */
export function assertRestored(folder: string): void {
  if (!existsSync(join(folder, restoringFile))) return;
  throw new Refusal(
    'conflict',
    `A restore into the data folder ${folder} did not come to its end. Run \`dundun restore FILE --replace\` again.`,
  );
}

/**
 * Creates missing parents by itself: Node.js's `recursive` never returns on file systems that answer "no such file"
 * (ENOENT).
 */
export function makeWithParents(path: string): void {
  if (existsSync(path)) {
    syncMade(path);
    return;
  }
  if (path !== dirname(path)) makeWithParents(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process has created it meanwhile.
    if ((error as { code?: string }).code === 'EEXIST' && statSync(path).isDirectory()) return;
    throw error;
  }
  // So that the folder's name survives a power cut before anything in it is acknowledged.
  syncNames(dirname(path));
}

/** Who made the folder may have been killed before its name was on the disk. A parent that we cannot read was made by somebody else. */
function syncMade(path: string): void {
  try {
    syncNames(dirname(path));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as { code: string }).code)) throw error;
  }
}

/** Flushes what files a folder has. */
function syncNames(folder: string): void {
  const names = openSync(folder, 'r');
  fsyncSync(names);
  closeSync(names);
}
