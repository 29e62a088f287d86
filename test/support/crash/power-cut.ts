// Simulates the loss of power: of the writes that power-loss.c recorded and no sync covers, undoes a random part,
// whole, in order of time, or torn at sector borders. Called by lossy-disk.ts when no process uses the folder. Synced
// writes always stay.
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { SeededRandom } from '../dice.ts';

/** Of what was not synced, what was lost. */
export type Loss =
  | { readonly kind: 'all' }
  /** What came after some moment. */
  | { readonly kind: 'late' }
  /** Some writes, or some sectors of writes, in no order. */
  | { readonly kind: 'writes' | 'sectors'; readonly keptPercent: number; readonly sectorBytes: number };

/** What was not synced, and how much of that was lost. */
export interface Toll {
  readonly loss: Loss;
  readonly changes: number;
  readonly sectors: number;
  readonly sectorsLost: number;
  readonly names: number;
  readonly namesLost: number;
}

export interface PowerCut {
  readonly folder: string;
  readonly journal: string;
  readonly random: SeededRandom;
  readonly loss: Loss;
}

interface Change {
  readonly timeNs: bigint;
  /** The file was made shorter: all from `offset` on went. */
  readonly isCut: boolean;
  readonly offset: number;
  readonly length: number;
  /** Of the file before the change. */
  readonly size: number;
  readonly before: Buffer;
}

interface Naming {
  readonly what: string;
  readonly inode: string;
  readonly path: string;
  readonly to: string;
  readonly position: number;
}

/** Whether a change had reached the disk, in this sector of the file; a size is asked for as sector -1. */
type Fate = (change: Change, sector: number) => boolean;

const headBytes = 48;
const changed = 1;
const cut = 3;

export function chooseLoss(random: SeededRandom): Loss {
  const kind = (['all', 'late', 'writes', 'sectors', 'sectors'] as const)[random.between(0, 5)];
  if (kind === undefined || kind === 'all' || kind === 'late') return { kind: kind ?? 'all' };
  const keptPercent = [10, 50, 90][random.between(0, 3)] as number;
  return { kind, keptPercent, sectorBytes: random.oneIn(2) ? 512 : 4096 };
}

export function cutPower({ folder, journal, random, loss }: PowerCut): Toll {
  const files = readdirSync(journal)
    .filter((name) => name.endsWith('.undo'))
    .sort()
    .map((name) => ({ path: keptFile(journal, name.split('.')[0] ?? ''), changes: findPending(join(journal, name)) }));
  const all = files.flatMap(({ changes }) => changes);
  const fate = fateOf(loss, random, all);
  const sectorBytes = 'sectorBytes' in loss ? loss.sectorBytes : 4096;
  const tolls = files.map(({ path, changes }) => takeBackChanges({ path, changes, fate, sectorBytes }));
  const names = takeBackNames(journal, (count) => (loss.kind === 'all' ? 0 : random.between(0, count + 1)));
  scramble(folder, random);
  for (const name of readdirSync(journal)) rmSync(join(journal, name));
  const [sectors, sectorsLost] = tolls.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0] as const);
  return { loss, changes: all.length, sectors, sectorsLost, ...names };
}

/** The changes of a file that no sync covered, in order; what a kill cut off at the end was not made. */
function findPending(path: string): Change[] {
  const bytes = readFileSync(path);
  let changes: (Change & { readonly position: number })[] = [];
  for (let position = 0; position + headBytes <= bytes.length; ) {
    const read = (field: number) => Number(bytes.readBigUInt64LE(position + 8 * field));
    const [kind, offset, length, size, saved] = [read(0), read(2), read(3), read(4), read(5)];
    const start = position + headBytes;
    if (start + saved > bytes.length) break;
    if (kind === changed || kind === cut) {
      const before = bytes.subarray(start, start + saved);
      const timeNs = bytes.readBigUInt64LE(position + 8);
      changes.push({ timeNs, isCut: kind === cut, offset, length, size, before, position });
    } else changes = changes.filter((change) => change.position >= offset);
    position = start + saved;
  }
  return changes;
}

function fateOf(loss: Loss, random: SeededRandom, changes: readonly Change[]): Fate {
  if (loss.kind === 'all') return () => false;
  if (loss.kind === 'late') {
    const moment = changes[random.between(0, changes.length)]?.timeNs ?? 0n;
    return ({ timeNs }) => timeNs < moment;
  }
  const isLucky = () => random.between(0, 100) < loss.keptPercent;
  if (loss.kind === 'sectors') return isLucky;
  const lucky = new Set(changes.filter(isLucky));
  return (change) => lucky.has(change);
}

/**
 * Each sector is as it was after some change of it, since the cache that is written to the disk holds one version; so
 * is the size. What lies beyond the size that remains is lost, and what it holds beyond what was written is zeros.
 */
function takeBackChanges(options: {
  readonly path: string;
  readonly changes: readonly Change[];
  readonly fate: Fate;
  readonly sectorBytes: number;
}): readonly [sectors: number, lost: number] {
  const { path, changes, sectorBytes } = options;
  if (changes.length === 0) return [0, 0];
  const fate = withWholeCuts(options);
  const file = openSync(path, 'r+');
  const size = changes[changes.findLastIndex((change) => fate(change, -1)) + 1]?.size ?? fstatSync(file).size;
  const sectors = Map.groupBy(
    changes.flatMap((change) => sectorsOf(change, sectorBytes).map((sector) => ({ change, sector }))),
    ({ sector }) => sector,
  );
  let lost = 0;
  for (const [sector, touches] of sectors) {
    const kept = touches.findLastIndex(({ change }) => fate(change, sector));
    if (kept < touches.length - 1) lost += 1;
    for (const { change } of touches.slice(kept + 1).reverse())
      restore(file, change, sector * sectorBytes, sectorBytes);
  }
  ftruncateSync(file, size);
  closeSync(file);
  return [sectors.size, lost];
}

/**
 * A shortening is a change of the file's form, which file systems with a journal make as a whole and in order: it is lost
 * as a whole, and then everything that came behind its end later was never part of the file.
 */
function withWholeCuts(options: {
  readonly changes: readonly Change[];
  readonly fate: Fate;
  readonly sectorBytes: number;
}): Fate {
  const { changes, fate, sectorBytes } = options;
  /** For each change, from where on it is lost; none of it: infinity. */
  const lostFrom = new Map<Change, number>();
  let from = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    if (change.isCut && (from < Number.POSITIVE_INFINITY || !fate(change, -1))) from = Math.min(from, change.offset);
    lostFrom.set(change, from);
  }
  return (change, sector) => {
    const lost = lostFrom.get(change) ?? Number.POSITIVE_INFINITY;
    const end = sector < 0 ? Number.POSITIVE_INFINITY : (sector + 1) * sectorBytes;
    if (lost < end) return false;
    return change.isCut || fate(change, sector);
  };
}

function sectorsOf({ offset, length }: Change, sectorBytes: number): number[] {
  const first = Math.floor(offset / sectorBytes);
  return Array.from({ length: Math.ceil((offset + length) / sectorBytes) - first }, (_, i) => first + i);
}

/** Writes what was there before the change, as far as it lies in the sector; zeros where the file had ended. */
function restore(file: number, { offset, length, before }: Change, sectorStart: number, sectorBytes: number): void {
  const start = Math.max(offset, sectorStart);
  const end = Math.min(offset + length, sectorStart + sectorBytes);
  if (end <= start) return;
  const bytes = Buffer.alloc(end - start);
  before.subarray(start - offset, end - offset).copy(bytes);
  writeSync(file, bytes, 0, bytes.length, start);
}

/** Folders change in order, as with every file system that has a journal; a sync of the folder covers what came before. */
function takeBackNames(
  journal: string,
  keep: (count: number) => number,
): { readonly names: number; readonly namesLost: number } {
  let pending: Naming[] = [];
  let position = 0;
  const path = join(journal, 'names');
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []) {
    const [what = '', number = '', path = '', to = ''] = line.split('\t');
    if (what !== 'sync') pending.push({ what, inode: number, path, to, position });
    else pending = pending.filter((naming) => folderOf(naming) !== path || naming.position >= Number(number));
    position += Buffer.byteLength(line) + 1;
  }
  const lost = new Set([...Map.groupBy(pending, folderOf).values()].flatMap((all) => all.slice(keep(all.length))));
  for (const naming of pending.toReversed()) if (lost.has(naming)) takeBackName(journal, naming);
  return { names: pending.length, namesLost: lost.size };
}

function folderOf({ path, to }: Naming): string {
  return dirname(to === '' ? path : to);
}

function takeBackName(journal: string, { what, inode, path, to }: Naming): void {
  if (what === 'create' || what === 'mkdir') rmSync(path, { recursive: true, force: true });
  else if (what === 'rmdir') mkdirSync(path);
  else if (what === 'unlink' && inode !== '0') linkSync(keptFile(journal, inode), path);
  else if (what === 'rename') {
    renameSync(to, path);
    if (inode !== '0') linkSync(keptFile(journal, inode), to);
  }
}

function keptFile(journal: string, inode: string): string {
  return join(journal, `${inode}.file`);
}

/** SQLite's -shm is never synced and read by nobody after a crash: whatever is in it must not matter. */
function scramble(folder: string, random: SeededRandom): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder, { encoding: 'utf8', recursive: true }).filter((name) =>
    name.endsWith('-shm'),
  )) {
    writeFileSync(join(folder, name), Buffer.alloc(statSync(join(folder, name)).size, random.between(1, 256)));
  }
}
