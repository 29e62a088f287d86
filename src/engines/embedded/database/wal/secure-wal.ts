// Looks at the write-ahead log before SQLite opens the database, which would silently drop what is behind a damaged frame
// and then overwrite it: puts right what can be, and remembers what is lost (decision 35).
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { databaseFile } from '../connection.ts';
import { lockFolder } from '../folder-lock.ts';
import { describeWalDamage, rememberLoss, syncPath } from './wal-damages.ts';
import { examineWal, type WalExamination } from './wal-examination.ts';
import { frameHeadBytes, walHeaderBytes } from './wal-format.ts';
import { findLoss } from './wal-loss.ts';

/**
 * Call it with the folder locked, and before any connection to the database is open.
 * @returns sentences about damage that cost nothing; losses are remembered (wal-damages.ts), and among the sentences
 * only where too many are.
 * @throws Error of the file system.
 */
export function secureWal(folder: string): readonly string[] {
  const path = join(folder, databaseFile);
  if (!existsSync(`${path}-wal`)) return [];
  // What a killed process wrote and did not sync counts as committed from now on: it is built upon, and told as stored.
  syncPath(`${path}-wal`);
  const examination = examineWal(path, { isInUse: false });
  if (examination === undefined) return [];
  const { acceptedFrames, acknowledgedFrames } = examination;
  const told: string[] = [];
  const mended = neededOf(examination);
  if (mended.length > 0) {
    writeMended(path, mended, examination);
    told.push(describeMended(mended.length));
  }
  if (acknowledgedFrames <= acceptedFrames) return told;
  const loss = findLoss(path, examination);
  if (loss !== undefined) {
    const { damage, isRemembered } = rememberLoss(folder, { examination, loss });
    return isRemembered ? told : [...told, describeWalDamage(damage)];
  }
  // What is left of the log would hide newer pages of the database file.
  emptyWal(path);
  return [...told, 'The write-ahead log was damaged; all of it was in the database file already. Nothing is lost.'];
}

/**
 * The same for commands that open the database while a service may be running. Where there is damage and no process uses the
 * folder, the folder is locked during the repair; where one does, nothing is changed.
 * @returns sentences about the damage.
 */
export function secureWalIfUnused(folder: string): readonly string[] {
  const inUse = findDamageInUse(folder);
  if (inUse.length === 0) return [];
  let unlock: () => void;
  try {
    unlock = lockFolder(folder);
  } catch {
    // A service runs, or the folder may not be written to.
    return inUse;
  }
  try {
    return secureWal(folder);
  } finally {
    unlock();
  }
}

/** Damage in a log that a service may be using, as sentences; nothing is changed. */
function findDamageInUse(folder: string): readonly string[] {
  const path = join(folder, databaseFile);
  if (!existsSync(`${path}-wal`)) return [];
  syncPath(`${path}-wal`);
  const examination = examineWal(path, { isInUse: true });
  if (examination === undefined) return [];
  const { acceptedFrames, acknowledgedFrames, brokenFrame } = examination;
  const mended = neededOf(examination).length;
  const told = mended === 0 ? [] : [`${describeDamaged(mended)} A start after a kill puts it right.`];
  if (acknowledgedFrames > acceptedFrames) {
    told.push(
      `The write-ahead log is damaged at frame ${brokenFrame}: a kill or a crash would lose the commits behind it.`,
    );
  }
  return told;
}

/** The repaired header and frames, without the frames that SQLite will not accept even after the repair. */
function neededOf({ mended, acceptedFrames }: WalExamination): (readonly [frame: number, bytes: Buffer])[] {
  return [...mended].filter(([frame]) => frame <= acceptedFrames);
}

function describeDamaged(parts: number): string {
  return `Bytes of the write-ahead log have changed on the disk, in ${parts === 1 ? 'one place' : `${parts} places`}.`;
}

function describeMended(parts: number): string {
  return `${describeDamaged(parts)} They are put right, which its checksums prove. Nothing is lost by them.`;
}

function writeMended(
  path: string,
  mended: readonly (readonly [number, Buffer])[],
  { pageBytes }: WalExamination,
): void {
  const file = openSync(`${path}-wal`, 'r+');
  try {
    for (const [frame, bytes] of mended) {
      const offset = frame === 0 ? 0 : walHeaderBytes + (frame - 1) * (frameHeadBytes + pageBytes);
      writeSync(file, bytes, 0, bytes.length, offset);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function emptyWal(path: string): void {
  const file = openSync(`${path}-wal`, 'r+');
  try {
    ftruncateSync(file, 0);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
