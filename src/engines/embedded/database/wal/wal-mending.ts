// Repairs one changed byte of the write-ahead log: in a frame's salts, checksum or page image, or in the header. A damaged
// frame whose page the database file also has is repaired from there. SQLite's 64-bit checksum is linear, so it tells where
// the changed byte is. For the high bits of a word several positions fit: then the repaired image is doubtful, and is used
// only to read the frames after it.
import {
  addToChecksum,
  type Checksum,
  checksumDue,
  checksumIn,
  frameHeadBytes,
  isSame,
  isSound,
  pageOf,
  pairAt,
  parseHeader,
  saltsOf,
  type WalFrame,
  wordsOf,
  writePair,
} from './wal-format.ts';

interface FrameContext {
  readonly salts: Checksum;
  /** The checksum of the frame before. */
  readonly before: Checksum;
  /** The frame that follows in the file. */
  readonly next: WalFrame | undefined;
  /** The checksum that the index of the log has for this frame. */
  readonly known: Checksum | undefined;
  /** Reads a page of the database file; undefined where it ends before. */
  readonly pageInFile: (page: number) => Buffer | undefined;
}

export interface MendedFrame extends WalFrame {
  /** True where the image may have been another: the frame must not be the last of its page. */
  readonly isDoubtful: boolean;
}

/** The frame as it was written; undefined where that cannot be told. */
export function mendFrame(damaged: WalFrame, context: FrameContext): MendedFrame | undefined {
  const { salts, before, next, known, pageInFile } = context;
  const had = saltsOf(damaged);
  // A frame of another generation has two other salts.
  if (had[0] !== salts[0] && had[1] !== salts[1]) return undefined;
  const { number } = damaged;
  const bytes = copyOf(damaged.bytes);
  const mended = (isDoubtful = false): MendedFrame | undefined =>
    isSound({ number, bytes }, { salts, before }) ? { number, bytes, isDoubtful } : undefined;
  writePair(bytes, 8, salts);
  if (mended() !== undefined) return mended();
  const stored = checksumIn(damaged);
  const due = checksumDue({ number, bytes }, before);
  const goesOnFrom = (checksum: Checksum) =>
    (known !== undefined && isSame(known, checksum)) ||
    (next !== undefined && isSound(next, { salts, before: checksum }));
  if (goesOnFrom(due)) {
    writePair(bytes, 16, due);
    return mended();
  }
  const inFile = pageInFile(pageOf({ number, bytes }));
  const found = findByte(bytes, { gap: [8, frameHeadBytes], due, stored });
  if (inFile !== undefined) {
    const whole = copyOf(bytes);
    inFile.copy(whole, frameHeadBytes);
    // The file has the image of another moment unless the checksum fits.
    if (isSound({ number, bytes: whole }, { salts, before })) return { number, bytes: whole, isDoubtful: false };
  }
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  // The checksum itself may have changed instead.
  if (!goesOnFrom(stored) && bytesThatDiffer(due, stored) === 1) return undefined;
  if (others.length > 0 && found.some(({ at }) => at < frameHeadBytes)) return undefined;
  bytes[first.at] = first.value;
  return mended(others.length > 0);
}

/** The header as it was written, by what the first frame says; undefined where that cannot be told. */
export function mendHeader(damaged: Buffer, first: WalFrame | undefined): Buffer | undefined {
  const due = addToChecksum([0, 0], wordsOf(damaged), 0, 6);
  const stored = pairAt(damaged, 24);
  const candidates = findByte(damaged.subarray(0, 24), { gap: [24, 24], due, stored }).map(({ at, value }) => {
    const header = copyOf(damaged);
    header[at] = value;
    return header;
  });
  if (bytesThatDiffer(due, stored) === 1) {
    const header = copyOf(damaged);
    writePair(header, 24, due);
    candidates.push(header);
  }
  const fitting = candidates.filter((header) => {
    const parsed = parseHeader(header);
    return parsed !== undefined && first !== undefined && isSound(first, { ...parsed, before: parsed.checksum });
  });
  return fitting.length === 1 ? fitting[0] : undefined;
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function bytesThatDiffer(one: Checksum, other: Checksum): number {
  let count = 0;
  for (const word of [0, 1] as const) {
    for (let shift = 0; shift < 32; shift += 8) if (((one[word] ^ other[word]) >>> shift) & 0xff) count += 1;
  }
  return count;
}

interface ByteChange {
  readonly at: number;
  readonly value: number;
}

/**
 * The changes of one byte by which the checksum becomes `stored`. The effect of a change is the change times a factor
 * that depends on the place alone, modulo 2^32; the factors are reckoned from the end. `gap`: bytes that the checksum
 * does not cover.
 */
function findByte(
  bytes: Buffer,
  options: { readonly gap: readonly [number, number]; readonly due: Checksum; readonly stored: Checksum },
): ByteChange[] {
  const { gap, due, stored } = options;
  const wanted: Checksum = [(stored[0] - due[0]) | 0, (stored[1] - due[1]) | 0];
  const found: ByteChange[] = [];
  // What a change of the first and of the second sum adds to the sums at the end.
  let ofFirst: Checksum = [1, 0];
  let ofSecond: Checksum = [0, 1];
  for (let at = bytes.length - 8; at >= 0; at -= 8) {
    if (at >= gap[0] && at < gap[1]) continue;
    const both: Checksum = [(ofFirst[0] + ofSecond[0]) | 0, (ofFirst[1] + ofSecond[1]) | 0];
    findInWord(bytes, at + 4, { factor: ofSecond, wanted, found });
    findInWord(bytes, at, { factor: both, wanted, found });
    // Before this pair: the first sum goes into both, the second into the first and twice into the second.
    ofFirst = both;
    ofSecond = [(both[0] + ofSecond[0]) | 0, (both[1] + ofSecond[1]) | 0];
  }
  return found;
}

function findInWord(
  bytes: Buffer,
  start: number,
  { factor, wanted, found }: { readonly factor: Checksum; readonly wanted: Checksum; readonly found: ByteChange[] },
): void {
  for (let byte = 0; byte < 4; byte++) {
    const had = bytes[start + byte] as number;
    for (let value = 0; value < 256; value++) {
      const change = (value - had) << (8 * byte);
      if (Math.imul(change, factor[0]) !== wanted[0] || Math.imul(change, factor[1]) !== wanted[1]) continue;
      if (value !== had) found.push({ at: start + byte, value });
    }
  }
}
