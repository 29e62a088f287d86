// Creates the data folder, and refuses a folder in which a restore was interrupted, so that no server starts with
// incomplete data.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Refusal } from '../../../base/refusal.ts';
import { databaseFile } from './connection.ts';
import { unusable } from './folder-lock.ts';

/** Name of the database while a restore writes it; it is renamed when it is complete. */
export const restoringFile = `${databaseFile}.restoring`;

/** @throws Refusal `storage` where the folder cannot be created, `conflict` where a restore into it was interrupted. */
export function makeFolder(folder: string): void {
  try {
    makeWithParents(resolve(folder));
  } catch (error) {
    throw unusable(folder, error);
  }
  assertRestored(folder);
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
  if (existsSync(path)) return;
  if (path !== dirname(path)) makeWithParents(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process has created it meanwhile.
    if ((error as { code?: string }).code === 'EEXIST' && statSync(path).isDirectory()) return;
    throw error;
  }
  // Flushes the parent, so that the folder's name survives a power cut before anything in it is acknowledged.
  const parent = openSync(dirname(path), 'r');
  fsyncSync(parent);
  closeSync(parent);
}
