// Makes a backup of a data folder, whether a server is running or not. Copies one snapshot of the database in steps
// with pauses, runs the checks of `dundun check` on the copy, seals it, and gives the file its name last. A run that is
// interrupted leaves at most a file named `.partial`, without a seal.
import { closeSync, fdatasyncSync, openSync, statfsSync, statSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { backup, type DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { BackupOptions, CheckReport } from '../../../domain/ports/maintenance.ts';
import { runChecks } from '../check/run-checks.ts';
import { type OnBytes, type Seal, sealFile } from '../database/backup-file.ts';
import { databaseFile, openConnection } from '../database/connection.ts';
import { formOf, migratedInMemory } from '../database/migrate.ts';
import { openFolderForReading } from '../database/open-data.ts';

export interface BackupResult {
  readonly seal: Seal;
  readonly reports: readonly CheckReport[];
}

/** Suffixes of the files that SQLite keeps beside an open database. */
const besideSuffixes = ['-journal', '-wal', '-shm'];
const leftover = new RegExp(`\\.\\d+\\.partial(${besideSuffixes.join('|')})?$`);

/**
 * Makes the backup. Where the checks report findings and `keepsDamaged` is false, no file is left and `seal` is
 * undefined.
 * @throws Refusal `exists`, `conflict`, `storage`.
 */
export async function makeBackup(
  options: BackupOptions,
): Promise<BackupResult | { readonly reports: readonly CheckReport[]; readonly seal: undefined }> {
  const file = resolve(options.file);
  assertPlace(file, options);
  await removeLeftovers(file);
  assertRoom(file, options);
  const partial = `${file}.${process.pid}.partial`;
  await (await open(partial, 'wx', 0o600)).close();
  try {
    await copyDatabase(options, partial);
    options.onStep('checking');
    const { reports, form } = await checkCopy(partial);
    const isWhole = reports.every(({ findings }) => findings.length === 0);
    if (!isWhole && !options.keepsDamaged) return { reports, seal: undefined };
    const onBytes: OnBytes = (done, all) => options.onStep('sealing', done, all);
    const seal = await sealFile(partial, { madeMs: options.nowMs, form, onBytes });
    if (!options.isForced) assertFree(file);
    await rename(partial, file);
    await syncFolder(dirname(file));
    return { reports, seal };
  } finally {
    for (const suffix of ['', ...besideSuffixes]) await rm(partial + suffix, { force: true });
  }
}

function assertPlace(file: string, { data: folder, isForced }: BackupOptions): void {
  if (!isForced) assertFree(file);
  if (`${file}${sep}`.startsWith(resolve(folder) + sep)) {
    throw new Refusal(
      'conflict',
      `${file} lies in the data folder itself. Choose a place outside, best on another disk.`,
    );
  }
}

/** Where the backup is on the disk of the data, the service keeps what it needs to go on. */
function assertRoom(file: string, { data: folder }: BackupOptions): void {
  const bytes = statSync(join(folder, databaseFile), { throwIfNoEntry: false })?.size ?? 0;
  const isSameDisk = statSync(dirname(file)).dev === statSync(folder, { throwIfNoEntry: false })?.dev;
  const freeBytes = freeOn(dirname(file));
  if (freeBytes >= bytes + (isSameDisk ? limits.reserveFreeBytesMin : 0)) return;
  throw new Refusal(
    'storage',
    `The disk of ${file} has ${inMegabytes(freeBytes)} left, and the backup takes ${inMegabytes(bytes)}. Free space on it, or choose another.`,
  );
}

function freeOn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function inMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function assertFree(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return;
  throw new Refusal('exists', `${file} is there already. Choose another name, or replace it with --force.`);
}

/** Removes the partial files of earlier runs whose process no longer exists. */
async function removeLeftovers(file: string): Promise<void> {
  const ours = (name: string) => name.startsWith(`${basename(file)}.`) && leftover.test(name);
  for (const name of (await readdir(dirname(file))).filter(ours)) {
    const pid = Number(/\.(\d+)\.partial/.exec(name)?.[1]);
    if (!isAlive(pid)) await rm(join(dirname(file), name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function copyDatabase({ data: folder, onStep }: BackupOptions, partial: string): Promise<void> {
  const { database, path } = openFolderForReading(folder);
  const target = openSync(partial, 'r+');
  try {
    // One read transaction for the whole copy: otherwise SQLite starts the copy again after each write of another
    // connection.
    database.exec('BEGIN');
    database.prepare('SELECT 1 FROM sqlite_schema').get();
    const pace = new Pace({ walPath: `${path}-wal`, target });
    await backup(database, partial, {
      rate: limits.backupStepPages,
      progress: ({ totalPages, remainingPages }) => {
        pace.step();
        onStep('copying', totalPages - remainingPages, totalPages);
      },
    });
  } finally {
    closeSync(target);
    letGo(database, path);
  }
}

/**
 * Ends the read transaction, then checkpoints the write-ahead log if it grew meanwhile, so that no commit of the server
 * has to do it.
 */
function letGo(database: DatabaseSync, path: string): void {
  if (database.isTransaction) database.exec('ROLLBACK');
  database.close();
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) < limits.walPagesMax * 4096) return;
  let mover: DatabaseSync | undefined;
  try {
    mover = openConnection(path, { readOnly: false });
    mover.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // The server will checkpoint later, as it does without a backup; the copy is complete either way.
  } finally {
    mover?.close();
  }
}

/** Slows the copy down so that the running server keeps the disk and the CPU. Called between two steps. */
class Pace {
  readonly #walPath: string;
  readonly #walBytesAtStart: number;
  readonly #target: number;
  readonly #sleeper = new Int32Array(new SharedArrayBuffer(4));
  #copiedBytes = 0;
  #lastMs = performance.now();

  constructor(parts: { readonly walPath: string; readonly target: number }) {
    this.#walPath = parts.walPath;
    this.#target = parts.target;
    this.#walBytesAtStart = this.#walBytes();
  }

  step(): void {
    this.#copiedBytes += limits.backupStepPages * 4096;
    if (this.#copiedBytes >= limits.backupSyncBytes) {
      fdatasyncSync(this.#target);
      this.#copiedBytes = 0;
    }
    const grownBytes = this.#walBytes() - this.#walBytesAtStart;
    if (grownBytes > limits.backupWalBytesMax) {
      const grown = Math.round(grownBytes / 1024 / 1024);
      throw new Refusal(
        'busy',
        `Gave up: the service wrote ${grown} MiB meanwhile, which wait for the backup to end. Back up when it is quieter.`,
      );
    }
    const freeBytes = freeOn(dirname(this.#walPath));
    if (grownBytes > limits.walBytesTight && freeBytes < limits.reserveFreeBytesMin) {
      throw new Refusal(
        'busy',
        `Gave up: the disk of the data has ${inMegabytes(freeBytes)} left, and the service can make its files there no shorter before the backup ends. Free space on it first.`,
      );
    }
    // Blocks the thread on purpose: this process does nothing else meanwhile.
    if (grownBytes < limits.backupWalBytesMax / 2) {
      Atomics.wait(this.#sleeper, 0, 0, Math.min(performance.now() - this.#lastMs, limits.backupPauseMsMax));
    }
    this.#lastMs = performance.now();
  }

  #walBytes(): number {
    return statSync(this.#walPath, { throwIfNoEntry: false })?.size ?? 0;
  }
}

async function checkCopy(path: string): Promise<{ readonly reports: CheckReport[]; readonly form: string }> {
  const database = openConnection(path, { readOnly: false });
  const example = await migratedInMemory();
  try {
    // Without a write-ahead log the database is one file, and can be opened from a read-only folder.
    database.exec('PRAGMA journal_mode = DELETE');
    return { reports: runChecks(database, { example }), form: formOf(database).last };
  } finally {
    example.close();
    database.close();
  }
}

/** Flushes the folder: a new file name survives a power cut only after that. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
