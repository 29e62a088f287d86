// Restores a backup into a data folder. The copy has a temporary name until it has been compared with its SHA-256 and
// checked. While a file of that name exists, no server starts in the folder, so an interrupted restore is never
// mistaken for a service without data.
import { existsSync, readdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Refusal } from '../../../base/refusal.ts';
import type { CheckReport, RestoreOptions } from '../../../domain/ports/maintenance.ts';
import { runChecks } from '../check/run-checks.ts';
import { type OnBytes, readSealed, type Seal } from '../database/backup-file.ts';
import { databaseFile } from '../database/connection.ts';
import { makeWithParents, movedFile, movingFile, restoringFile } from '../database/data-folder.ts';
import { reserveFile } from '../database/disk-reserve.ts';
import { lockFile, lockFolder, unusable } from '../database/folder-lock.ts';
import { migratedInMemory } from '../database/migrate.ts';
import { openFileForReading } from '../database/open-data.ts';
import { forgetWalDamages } from '../database/wal/wal-damages.ts';
import { syncFolder } from './make-backup.ts';

export interface RestoreResult {
  readonly seal: Seal;
  readonly reports: readonly CheckReport[];
  /** False where the checks report findings and `takesDamaged` is not set. */
  readonly isRestored: boolean;
}

/**
 * Restores a backup.
 * @throws Refusal `malformed` (no complete backup), `conflict` (folder in use or not empty, or a newer release wrote
 * the backup), `storage`.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { data: folder } = options;
  try {
    makeWithParents(resolve(folder));
  } catch (error) {
    throw unusable(folder, error);
  }
  const unlock = lockFolder(folder);
  try {
    assertEmpty(folder, options);
    return await restoreInto(options, join(folder, restoringFile));
  } finally {
    unlock();
  }
}

function assertEmpty(folder: string, { isReplacing }: RestoreOptions): void {
  if (isReplacing) return;
  const found = readdirSync(folder).filter((name) => ![lockFile, `${lockFile}-journal`, reserveFile].includes(name));
  if (found.length === 0) return;
  throw new Refusal(
    'conflict',
    `The data folder ${folder} is not empty (${found.slice(0, 3).join(', ')}). Name an empty one in DUNDUN_DATA_DIR, or lose what is in it with --replace.`,
  );
}

async function restoreInto(options: RestoreOptions, copy: string): Promise<RestoreResult> {
  const { file, data: folder, onStep } = options;
  // An earlier restore was interrupted, perhaps after it removed files of the old database: the temporary name has to
  // stay until a restore succeeds, so that no server starts.
  const wasInterrupted = existsSync(copy);
  let isRestored = false;
  try {
    const onBytes: OnBytes = (done, all) => onStep('copying', done, all);
    const seal = await readSealed(file, { into: copy, onBytes });
    onStep('checking');
    const reports = await checkCopy(copy);
    if (options.takesDamaged || reports.every(({ findings }) => findings.length === 0)) {
      await putInPlace(folder, copy);
      isRestored = true;
    }
    return { seal, reports, isRestored };
  } finally {
    if (!isRestored && !wasInterrupted) await rm(copy, { force: true });
  }
}

async function checkCopy(copy: string): Promise<CheckReport[]> {
  const database = openFileForReading(copy);
  const example = await migratedInMemory();
  try {
    return runChecks(database, { example });
  } finally {
    example.close();
    database.close();
  }
}

/**
 * Removes the write-ahead log of the old database first: SQLite would apply it to the new one; and the half of a move, or the note
 * that the old data were moved: what is restored was not.
 */
async function putInPlace(folder: string, copy: string): Promise<void> {
  const path = join(folder, databaseFile);
  const half = join(folder, movingFile);
  const note = join(folder, movedFile);
  for (const file of [`${path}-wal`, `${path}-shm`, half, `${half}-wal`, `${half}-shm`, note])
    await rm(file, { force: true });
  await syncFolder(folder);
  await rename(copy, path);
  // They were losses of the data that is replaced.
  forgetWalDamages(folder);
  await syncFolder(folder);
}
