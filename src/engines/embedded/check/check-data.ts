// Checks a data folder, or a backup as a file. Called by `dundun check`; it only reads, unless damage of the
// write-ahead log has to be seen to before SQLite opens the database.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import type { CheckReport, OnProgress } from '../../../domain/ports/maintenance.ts';
import { readSealed } from '../database/backup-file.ts';
import { migratedInMemory } from '../database/migrate.ts';
import { openFileForReading, openFolderForReading } from '../database/open-data.ts';
import { adviceOnDamage } from './check.ts';
import { isDamage, runChecks } from './run-checks.ts';
import { checkWal } from './wal-check.ts';

/** @throws Refusal where there is no data, or it is not of this version; Error where it cannot be read at all. */
export async function checkData(path: string, onStep: OnProgress): Promise<readonly CheckReport[]> {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  try {
    const changed = isFile ? await findChange(path, onStep) : undefined;
    if (changed !== undefined) return [brokenFile(changed)];
    const log = isFile ? [] : [checkWal(path)];
    const database = isFile ? openFileForReading(path) : openFolderForReading(path).database;
    return [...log, ...(await runAll(database, onStep))];
  } catch (error) {
    const { cause, message } = error as Error & { readonly cause?: Error };
    if (cause === undefined || !isDamage(cause)) throw error;
    return [brokenFile(message.includes(cause.message) ? message : `${message} (${cause.message})`)];
  }
}

/** How a backup file has changed since it was made; undefined: not at all. */
async function findChange(file: string, onStep: OnProgress): Promise<string | undefined> {
  try {
    await readSealed(file, { onBytes: (done, all) => onStep('reading the file', done, all) });
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conflict') return error.message;
    throw error;
  }
}

async function runAll(database: DatabaseSync, onStep: OnProgress): Promise<CheckReport[]> {
  const example = await migratedInMemory();
  try {
    return runChecks(database, {
      example,
      onStart: ({ name }, { number, count }) => onStep(`check ${number} of ${count}: ${name}`),
    });
  } finally {
    example.close();
    database.close();
  }
}

/** The report for a file that cannot be opened as a database. */
function brokenFile(what: string): CheckReport {
  return { name: 'file', asks: 'the file can be read', findings: [{ what, advice: adviceOnDamage }], elapsedMs: 0 };
}
