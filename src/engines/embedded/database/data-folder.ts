// The data folder as a place: made where it is missing, and refused where a restore into it was cut off, so that nobody
// goes on with half of a service or with an empty one.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Refusal } from '../../../base/refusal.ts';
import { databaseFile } from './connection.ts';
import { unusable } from './folder-lock.ts';

/** The name of the database while a restore writes it; it gets its own name when it is whole. */
export const restoringFile = `${databaseFile}.restoring`;

/** @throws Refusal `storage` where the folder cannot be made, `conflict` where a restore into it did not end. */
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

/** Not by the `recursive` of Node.js, which tries for ever where a file system refuses with "no such file". */
export function makeWithParents(path: string): void {
  if (existsSync(path)) return;
  if (path !== dirname(path)) makeWithParents(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Somebody else has made it meanwhile.
    if ((error as { code?: string }).code === 'EEXIST' && statSync(path).isDirectory()) return;
    throw error;
  }
  // The name is on the disk before anything in it is acknowledged.
  const parent = openSync(dirname(path), 'r');
  fsyncSync(parent);
  closeSync(parent);
}
