// Puts a backup into a data folder. The copy has a name of its own until it was read back and checked; while a file of that
// name is there, no server starts in the folder, so a restore that is cut off leaves nothing that looks like a service.
import { existsSync, readdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Refusal } from '../../../base/refusal.ts';
import { type CheckReport, runChecks } from '../check/run-checks.ts';
import { databaseFile } from '../database/connection.ts';
import { makeWithParents, restoringFile } from '../database/data-folder.ts';
import { lockFile, lockFolder, unusable } from '../database/folder-lock.ts';
import { migratedInMemory } from '../database/migrate.ts';
import { type OnBytes, readSealed, type Seal } from './backup-file.ts';
import { syncFolder } from './make-backup.ts';
import { openFileForReading } from './open-data.ts';

export interface RestoreOptions {
  readonly file: string;
  readonly folder: string;
  /** Whether the data in the folder may be replaced. */
  readonly isReplacing: boolean;
  /** Whether a backup in which the checks find something is restored as well. */
  readonly takesDamaged: boolean;
  readonly onStep: (step: RestoreStep, done?: number, all?: number) => void;
}

export type RestoreStep = 'copying' | 'checking';

export interface RestoreResult {
  readonly seal: Seal;
  readonly reports: readonly CheckReport[];
  readonly isRestored: boolean;
}

/** @throws Refusal `malformed` (no whole backup), `conflict` (folder in use, not empty, or a newer form), `storage`. */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { folder } = options;
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
  const found = readdirSync(folder).filter((name) => ![lockFile, `${lockFile}-journal`].includes(name));
  if (found.length === 0) return;
  throw new Refusal(
    'conflict',
    `The data folder ${folder} is not empty (${found.slice(0, 3).join(', ')}). Name an empty one in DUNDUN_DATA_DIR, or lose what is in it with --replace.`,
  );
}

async function restoreInto(options: RestoreOptions, copy: string): Promise<RestoreResult> {
  const { file, folder, onStep } = options;
  // Of one that was cut off it is not known how much of the data before is left: then the name stays until one succeeds.
  const wasCutOff = existsSync(copy);
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
    if (!isRestored && !wasCutOff) await rm(copy, { force: true });
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

/** What the old database has in its write-ahead log must not be taken for the new one's. */
async function putInPlace(folder: string, copy: string): Promise<void> {
  const path = join(folder, databaseFile);
  for (const file of [`${path}-wal`, `${path}-shm`]) await rm(file, { force: true });
  await syncFolder(folder);
  await rename(copy, path);
  await syncFolder(folder);
}
