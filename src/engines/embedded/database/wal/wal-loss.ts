// What is lost where acknowledged frames of the write-ahead log lie behind one that is damaged beyond repair: up to which
// datapoint, and whether the database file has some of it already.
import { lastSeqIn, type PageSource } from './table-pages.ts';
import type { WalExamination } from './wal-examination.ts';
import { readDatabasePage, WalFile } from './wal-file.ts';
import { imageIn, pageOf } from './wal-format.ts';

export interface WalLoss {
  /** Commits that are lost, at least. */
  readonly commits: number;
  /** Their frames, and those of commits that cannot be read. */
  readonly frames: number;
  /** Seqs of the datapoints that are lost, at least; undefined: none is known. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  /**
   * True where a checkpoint has moved some of the lost frames into the database file, so that it has pages of two
   * moments.
   */
  readonly isMixed: boolean;
}

/** The loss; undefined where the database file already has all that was acknowledged. */
export function findLoss(path: string, examination: WalExamination): WalLoss | undefined {
  const { acceptedFrames, acknowledgedFrames, movedFrames, lostCommits, mended, pageBytes } = examination;
  if (movedFrames >= acknowledgedFrames) return undefined;
  const wal = new WalFile(`${path}-wal`);
  try {
    const kept = new Map<number, number>();
    const beyond = new Map<number, number>();
    for (const frame of wal.framesFrom(1, pageBytes)) {
      if (frame.number > acknowledgedFrames) break;
      const page = pageOf({ number: frame.number, bytes: mended.get(frame.number) ?? frame.bytes });
      if (frame.number <= acceptedFrames) kept.set(page, frame.number);
      else if (examination.wholeFrames.has(frame.number)) beyond.set(page, frame.number);
    }
    const imageOf = (number: number): Buffer | undefined => {
      const bytes = mended.get(number) ?? wal.frame(number, pageBytes)?.bytes;
      return bytes && imageIn({ number, bytes });
    };
    const inFile: PageSource = (page) => readDatabasePage(path, page, pageBytes);
    const { moved, isAll } = countMoved({ kept, beyond, imageOf, inFile });
    // Frames that cannot be read count as not moved.
    const isWhole = wal.frames(pageBytes) >= acknowledgedFrames;
    if (isAll && isWhole && moved > 0) return undefined;
    const before: PageSource = (page) => (kept.has(page) ? imageOf(kept.get(page) as number) : inFile(page));
    const after: PageSource = (page) => (beyond.has(page) ? imageOf(beyond.get(page) as number) : before(page));
    // Of a frame that cannot be read, only the index knows that it was moved.
    const isMixed = moved > 0 || movedFrames > acceptedFrames;
    const lost = { commits: Math.max(1, lostCommits), frames: acknowledgedFrames - acceptedFrames, isMixed };
    const [last, lastLost] = [lastSeqIn(before), lastSeqIn(after)];
    if (lastLost === undefined || lastLost <= (last ?? 0)) return lost;
    return { ...lost, fromSeq: (last ?? 0) + 1, toSeq: lastLost };
  } finally {
    wal.close();
  }
}

/** How many pages of the lost frames the database file has in that form, which it has not from before. */
function countMoved(parts: {
  readonly kept: ReadonlyMap<number, number>;
  readonly beyond: ReadonlyMap<number, number>;
  readonly imageOf: (frame: number) => Buffer | undefined;
  readonly inFile: PageSource;
}): { readonly moved: number; readonly isAll: boolean } {
  const { kept, beyond, imageOf, inFile } = parts;
  let moved = 0;
  let isAll = beyond.size > 0;
  for (const [page, frame] of beyond) {
    const present = inFile(page);
    const isThere = present !== undefined && imageOf(frame)?.equals(present) === true;
    if (!isThere) isAll = false;
    const earlier = kept.get(page);
    if (isThere && (earlier === undefined || imageOf(earlier)?.equals(present) !== true)) moved += 1;
  }
  for (const [page, frame] of kept) {
    if (!isAll) break;
    if (beyond.has(page)) continue;
    const present = inFile(page);
    isAll = present !== undefined && imageOf(frame)?.equals(present) === true;
  }
  return { moved, isAll };
}
