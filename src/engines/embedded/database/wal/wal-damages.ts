// Records of damaged write-ahead logs: for each loss the data folder gets a file that says what is lost, and a copy of the
// damaged log. They are kept, and reported at each start, until a person runs `dundun check --forget-damaged`.
import {
  closeSync,
  copyFileSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../../../config/limits.ts';
import { databaseFile } from '../connection.ts';
import type { WalExamination } from './wal-examination.ts';
import { frameHeadBytes, walHeaderBytes } from './wal-format.ts';
import type { WalLoss } from './wal-loss.ts';

/** A loss, as its file says it. */
export interface WalDamage {
  /** When it was found. */
  readonly found: string;
  /** Which generation of the log it was, as hexadecimal digits. */
  readonly log: string;
  /** The frame that is damaged; 0: the header of the log. */
  readonly frame: number;
  readonly loss: WalLoss;
  /** Name of the copy of the log in the data folder. */
  readonly copy?: string;
}

const namePattern = /^damaged-wal-[0-9TZ.-]+\.(json|wal)$/;
const unreadable: WalDamage = {
  found: 'at an unknown time',
  log: '',
  frame: 0,
  loss: { commits: 1, frames: 1, isMixed: false },
};

/** The losses that nobody has confirmed, oldest first; those whose file cannot be read count too. */
export function listWalDamages(folder: string): WalDamage[] {
  return filesIn(folder, 'json').map((name) => {
    try {
      return JSON.parse(readFileSync(join(folder, name), 'utf8')) as WalDamage;
    } catch {
      return unreadable;
    }
  });
}

/**
 * Remembers a loss, once, and keeps the log aside where there is room. Call it before SQLite opens the database.
 * @returns the loss, and whether it is remembered: not where too many are.
 */
export function rememberLoss(
  folder: string,
  { examination, loss }: { readonly examination: WalExamination; readonly loss: WalLoss },
): { readonly damage: WalDamage; readonly isRemembered: boolean } {
  const { salts, brokenFrame: frame } = examination;
  const log = salts.map((salt) => salt.toString(16).padStart(8, '0')).join('');
  const known = listWalDamages(folder);
  const same = known.find((damage) => damage.log === log && damage.frame === frame);
  if (same !== undefined) return { damage: same, isRemembered: true };
  const found = new Date().toISOString();
  const name = `damaged-wal-${found.replaceAll(':', '-')}`;
  const copy = keepLog(folder, `${name}.wal`, examination) ? { copy: `${name}.wal` } : {};
  const damage: WalDamage = { found, log, frame, loss, ...copy };
  const isRemembered = known.length < limits.damagedWalsMax;
  if (isRemembered) {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(damage), { mode: 0o600, flush: true });
    syncPath(folder);
  }
  return { damage, isRemembered };
}

/** Forgets all losses, and removes what was kept of them. @returns how many there were. */
export function forgetWalDamages(folder: string): number {
  const records = filesIn(folder, 'json');
  for (const name of [...filesIn(folder, 'wal'), ...records]) rmSync(join(folder, name), { force: true });
  return records.length;
}

/** Brings a file or a folder to the disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A loss as sentences for people. */
export function describeWalDamage({ found, frame, loss, copy }: WalDamage): string {
  const place = frame === 0 ? 'its header' : `frame ${frame}`;
  const { commits, fromSeq, toSeq } = loss;
  const lost = commits === 1 ? '1 acknowledged commit is' : `${commits} acknowledged commits are`;
  const datapoints =
    fromSeq === undefined ? 'no datapoint of them is known' : `with the datapoints ${fromSeq} to ${toSeq}`;
  const sentences = [
    `The write-ahead log was damaged at ${place}: at least ${lost} lost, ${datapoints} (found ${found}).`,
  ];
  if (loss.isMixed) sentences.push('The database file had parts of them already, so that it may contradict itself.');
  if (copy !== undefined) sentences.push(`The log is kept in the data folder as ${copy}.`);
  return sentences.join(' ');
}

function keepLog(folder: string, name: string, { acknowledgedFrames, pageBytes }: WalExamination): boolean {
  const bytes = walHeaderBytes + acknowledgedFrames * (frameHeadBytes + pageBytes);
  const { bavail, bsize } = statfsSync(folder);
  const isRoom = bavail * bsize >= bytes + limits.reserveFreeBytesMin && bytes <= limits.damagedWalCopyBytesMax;
  if (!isRoom || filesIn(folder, 'wal').length >= limits.damagedWalCopiesMax) return false;
  const path = join(folder, name);
  copyFileSync(join(folder, `${databaseFile}-wal`), path);
  const file = openSync(path, 'r+');
  try {
    ftruncateSync(file, Math.min(bytes, fstatSync(file).size));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return true;
}

function filesIn(folder: string, ending: 'json' | 'wal'): string[] {
  return readdirSync(folder)
    .filter((name) => namePattern.test(name) && name.endsWith(`.${ending}`))
    .sort();
}
