// The index of the write-ahead log, which SQLite keeps in the file `-shm` (sqlite.org/walformat.html). After a kill its
// head says up to where commits were on the disk: it is written after the sync of each. After a power cut it may be
// older, or anything; its own checksum and the salts tell.
import { readFileSync } from 'node:fs';
import { addToChecksum, type Checksum, isSame, pairAt, wordsOf } from './wal-format.ts';

export interface WalIndexHead {
  /** The last frame of the last commit. */
  readonly committedFrames: number;
  /** Frames of these that have been moved into the database file, and synced there. */
  readonly movedFrames: number;
  readonly salts: Checksum;
  /** The checksum in the last frame of the last commit. */
  readonly checksum: Checksum;
}

const headBytes = 48;

/** The head; undefined where the file is not there, or the head was being written, or is none. */
export function readWalIndexHead(path: string): WalIndexHead | undefined {
  let file: Buffer;
  try {
    file = readFileSync(path);
  } catch {
    return undefined;
  }
  if (file.length < 2 * headBytes + 4) return undefined;
  const bytes = Buffer.allocUnsafeSlow(2 * headBytes + 8);
  file.copy(bytes);
  const words = wordsOf(bytes);
  const head = bytes.subarray(0, headBytes);
  const isInitialised = head[12] === 1;
  const checksum: Checksum = [words[10] as number, words[11] as number];
  if (!head.equals(bytes.subarray(headBytes, 2 * headBytes)) || !isInitialised) return undefined;
  if (!isSame(checksum, addToChecksum([0, 0], words, 0, 10))) return undefined;
  return {
    committedFrames: words[4] as number,
    movedFrames: words[24] as number,
    salts: pairAt(bytes, 32),
    checksum: [words[6] as number, words[7] as number],
  };
}
