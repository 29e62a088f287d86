// Finds out what SQLite would drop of a write-ahead log without a word: its recovery stops at the first frame whose
// checksum is wrong. After a power cut that is right, because frames of a commit that was not acknowledged may be
// missing. Frames behind it that were acknowledged are told from those by two proofs:
// - A frame whose checksum goes on from that of a commit: the service writes it only when that commit was synced.
// - The index of the log, where it is of this generation: it is written after the sync of each commit.

import { readDatabasePage, WalFile } from './wal-file.ts';
import {
  type Checksum,
  checksumDue,
  checksumIn,
  isCommit,
  isForeign,
  isSame,
  isSound,
  pageOf,
  parseHeader,
  saltsOf,
  type WalFrame,
  walHeaderBytes,
} from './wal-format.ts';
import { readWalIndexHead, type WalIndexHead } from './wal-index.ts';
import { type MendedFrame, mendFrame, mendHeader } from './wal-mending.ts';

export interface WalExamination {
  readonly pageBytes: number;
  readonly salts: Checksum;
  /** What was put right, by its frame, of which all up to `acceptedFrames` are needed; frame 0 is the header. */
  readonly mended: ReadonlyMap<number, Buffer>;
  /** The last frame of the last commit that SQLite will take, after that. */
  readonly acceptedFrames: number;
  /** The first frame that is damaged beyond repair; 0: the header. */
  readonly brokenFrame: number;
  /** The last frame of the last commit that was certainly acknowledged; at most `acceptedFrames`: nothing is lost. */
  readonly acknowledgedFrames: number;
  /** Frames after `acceptedFrames` whose checksum goes on from the one before, which are whole. */
  readonly wholeFrames: ReadonlySet<number>;
  /** Commits after `acceptedFrames` that were certainly acknowledged, as far as their frames can be read. */
  readonly lostCommits: number;
  /** Frames that were moved into the database file, by the index; 0 where it says nothing of this log. */
  readonly movedFrames: number;
}

const pageBytesUsual = 4096;

/**
 * Looks at the log of a database; undefined where there is none, or it is empty. It only reads. `isInUse`: the database
 * may be open, in this process too; then its file is left alone.
 */
export function examineWal(path: string, { isInUse }: { readonly isInUse: boolean }): WalExamination | undefined {
  // Before the log: what it says was true already.
  const index = readWalIndexHead(`${path}-shm`);
  let file: WalFile;
  try {
    file = new WalFile(`${path}-wal`);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const header = file.header();
    if (header.length < walHeaderBytes || isForeign(header)) return undefined;
    const examination = new Examiner(file, { path, index, isInUse }).run(header);
    // A service that began the log anew meanwhile has overwritten what was read.
    return file.header().equals(header) ? examination : undefined;
  } finally {
    file.close();
  }
}

class Examiner {
  readonly #file: WalFile;
  readonly #pageInFile: (page: number) => Buffer | undefined;
  readonly #index: WalIndexHead | undefined;
  readonly #mended = new Map<number, Buffer>();
  #pageBytes = pageBytesUsual;
  #salts: Checksum = [0, 0];
  /** Frames that were mended, and whose image may be wrong and is needed. */
  readonly #refused = new Set<number>();

  constructor(
    file: WalFile,
    parts: { readonly path: string; readonly index: WalIndexHead | undefined; readonly isInUse: boolean },
  ) {
    this.#file = file;
    this.#index = parts.index;
    this.#pageInFile = (page) => (parts.isInUse ? undefined : readDatabasePage(parts.path, page, this.#pageBytes));
  }

  run(header: Buffer): WalExamination | undefined {
    const walk = this.#walkFrom(header);
    if (walk === undefined) return undefined;
    const beyond = this.#lookBeyond(walk.brokenFrame);
    const isOfIndex = this.#index !== undefined && isSame(this.#index.salts, this.#salts);
    const committed = isOfIndex ? (this.#index?.committedFrames ?? 0) : 0;
    const acknowledgedFrames = Math.max(beyond.provenFrames, committed);
    return {
      pageBytes: this.#pageBytes,
      salts: this.#salts,
      mended: this.#mended,
      acceptedFrames: walk.acceptedFrames,
      brokenFrame: walk.brokenFrame,
      acknowledgedFrames,
      wholeFrames: beyond.whole,
      lostCommits: beyond.commits.filter((frame) => frame <= acknowledgedFrames).length,
      movedFrames: isOfIndex ? (this.#index?.movedFrames ?? 0) : 0,
    };
  }

  /** What SQLite will take; undefined where neither header nor frames say which generation this is. */
  #walkFrom(bytes: Buffer): { readonly acceptedFrames: number; readonly brokenFrame: number } | undefined {
    const first = this.#file.frame(1, this.#pageBytes);
    let header = parseHeader(bytes);
    if (header === undefined) {
      const mended = mendHeader(bytes, first);
      header = mended && parseHeader(mended);
      if (mended !== undefined) this.#mended.set(0, mended);
    }
    if (header === undefined) {
      if (first === undefined) return undefined;
      this.#salts = this.#saltsByFrames() ?? saltsOf(first);
      return { acceptedFrames: 0, brokenFrame: 0 };
    }
    this.#salts = header.salts;
    this.#pageBytes = header.pageBytes;
    for (;;) {
      const walk = this.#walkFrames(header.checksum);
      const wrong = walk.doubtful.find(({ number, page }) => (walk.newest.get(page) ?? 0) <= number);
      if (wrong === undefined) return walk;
      this.#refused.add(wrong.number);
    }
  }

  /**
   * The generation of the log where the header does not say it: that of the first frame that is of the index's generation, or
   * that the next one goes on from. Frames of older generations lie behind it; the very first may be damaged too.
   */
  #saltsByFrames(): Checksum | undefined {
    let before: { readonly salts: Checksum; readonly checksum: Checksum } | undefined;
    for (const frame of this.#file.framesFrom(1, this.#pageBytes)) {
      const salts = saltsOf(frame);
      const goesOn = before !== undefined && isSame(before.salts, salts);
      if (goesOn && isSame(checksumIn(frame), checksumDue(frame, before?.checksum as Checksum))) return salts;
      if (this.#index !== undefined && isSame(this.#index.salts, salts)) return salts;
      before = { salts, checksum: checksumIn(frame) };
    }
    return undefined;
  }

  /** Goes from frame to frame as SQLite does, and mends them on the way. */
  #walkFrames(checksum: Checksum) {
    let before = checksum;
    let acceptedFrames = 0;
    let brokenFrame = 1;
    /** Frames whose image may be wrong, and the last frame of each of these pages. */
    const doubtful: { readonly number: number; readonly page: number }[] = [];
    let pending = new Map<number, number>();
    const newest = new Map<number, number>();
    for (const read of this.#file.framesFrom(1, this.#pageBytes)) {
      const frame = this.#taken(read, before);
      if (frame === undefined) break;
      before = checksumIn(frame);
      brokenFrame = frame.number + 1;
      const page = pageOf(frame);
      if ('isDoubtful' in frame && frame.isDoubtful) doubtful.push({ number: frame.number, page });
      else if (doubtful.length > 0) pending.set(page, frame.number);
      if (!isCommit(frame)) continue;
      acceptedFrames = frame.number;
      for (const [changed, number] of pending) newest.set(changed, number);
      pending = new Map();
    }
    return { acceptedFrames, brokenFrame, newest, doubtful: doubtful.filter(({ number }) => number <= acceptedFrames) };
  }

  #taken(frame: WalFrame, before: Checksum): WalFrame | MendedFrame | undefined {
    if (isSound(frame, { salts: this.#salts, before })) return frame;
    this.#mended.delete(frame.number);
    if (this.#refused.has(frame.number)) return undefined;
    const isLast = frame.number === this.#index?.committedFrames && isSame(this.#index.salts, this.#salts);
    const mended = mendFrame(frame, {
      salts: this.#salts,
      before,
      next: this.#file.frame(frame.number + 1, this.#pageBytes),
      known: isLast ? this.#index?.checksum : undefined,
      pageInFile: this.#pageInFile,
    });
    if (mended !== undefined) this.#mended.set(mended.number, mended.bytes);
    return mended;
  }

  /** What of the frames behind the broken one was written after an acknowledged commit. */
  #lookBeyond(brokenFrame: number): {
    readonly provenFrames: number;
    readonly whole: ReadonlySet<number>;
    readonly commits: readonly number[];
  } {
    const whole = new Set<number>();
    const commits: number[] = [];
    let provenFrames = 0;
    let before: { readonly checksum: Checksum; readonly isCommit: boolean } | undefined;
    for (const frame of this.#file.framesFrom(Math.max(1, brokenFrame), this.#pageBytes)) {
      if (!isSame(saltsOf(frame), this.#salts)) {
        before = undefined;
        continue;
      }
      if (before !== undefined && pageOf(frame) !== 0) {
        if (isSame(checksumIn(frame), checksumDue(frame, before.checksum))) {
          whole.add(frame.number);
          if (before.isCommit) provenFrames = frame.number - 1;
        }
      }
      if (isCommit(frame)) commits.push(frame.number);
      before = { checksum: checksumIn(frame), isCommit: isCommit(frame) };
    }
    return { provenFrames, whole, commits };
  }
}
