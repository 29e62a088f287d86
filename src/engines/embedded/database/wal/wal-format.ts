// The format of SQLite's write-ahead log (sqlite.org/fileformat2.html, "The Write-Ahead Log"): a header of 32 bytes, then
// frames, each a header of 24 bytes and the image of a page. The checksum of a frame goes on from that of the frame
// before it, so each frame can be checked if the stored checksum before it is known. Only logs in little-endian order.

export const walHeaderBytes = 32;
export const frameHeadBytes = 24;
const magic = 0x377f0682;
const versionKnown = 3_007_000;

/** Two words of 32 bits. */
export type Checksum = readonly [number, number];

/** The fields of the header that frames are read by. */
export interface WalHeader {
  readonly pageBytes: number;
  /** They are new in each generation of the log: whatever bears others is older. */
  readonly salts: Checksum;
  readonly checksum: Checksum;
}

/** One frame as read from the file, aligned to 8 bytes in its buffer. */
export interface WalFrame {
  /** From 1. */
  readonly number: number;
  readonly bytes: Buffer;
}

/** Goes on from a checksum over pairs of 32-bit words. */
export function addToChecksum([first, second]: Checksum, words: Uint32Array, start = 0, end = words.length): Checksum {
  let s0 = first;
  let s1 = second;
  for (let at = start; at < end; at += 2) {
    s0 = (s0 + (words[at] as number) + s1) | 0;
    s1 = (s1 + (words[at + 1] as number) + s0) | 0;
  }
  return [s0 >>> 0, s1 >>> 0];
}

export function isSame(one: Checksum, other: Checksum): boolean {
  return one[0] === other[0] && one[1] === other[1];
}

/** The 32-bit words of bytes that are aligned. */
export function wordsOf({ buffer, byteOffset, byteLength }: Uint8Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / 4);
}

/** Two big-endian words, as salts and checksums are stored. */
export function pairAt(bytes: Buffer, offset: number): Checksum {
  return [bytes.readUInt32BE(offset), bytes.readUInt32BE(offset + 4)];
}

export function writePair(bytes: Buffer, offset: number, [first, second]: Checksum): void {
  bytes.writeUInt32BE(first, offset);
  bytes.writeUInt32BE(second, offset + 4);
}

/** The header where SQLite would accept it; undefined where it would ignore the whole log. */
export function parseHeader(bytes: Buffer): WalHeader | undefined {
  if (bytes.length < walHeaderBytes || bytes.readUInt32BE(0) !== magic) return undefined;
  if (bytes.readUInt32BE(4) !== versionKnown) return undefined;
  const checksum = pairAt(bytes, 24);
  if (!isSame(checksum, addToChecksum([0, 0], wordsOf(bytes), 0, 6))) return undefined;
  return { pageBytes: bytes.readUInt32BE(8), salts: pairAt(bytes, 16), checksum };
}

/** True for a log of a big-endian machine, which is not looked into. */
export function isForeign(bytes: Buffer): boolean {
  if (bytes.length < walHeaderBytes || bytes.readUInt32BE(0) !== magic + 1) return false;
  const swapped = Buffer.from(new Uint8Array(bytes.subarray(0, walHeaderBytes))).swap32();
  return isSame(pairAt(bytes, 24), addToChecksum([0, 0], wordsOf(swapped), 0, 6));
}

/** The page whose image the frame has. */
export function pageOf({ bytes }: WalFrame): number {
  return bytes.readUInt32BE(0);
}

/** The image in the frame. */
export function imageIn({ bytes }: WalFrame): Buffer {
  return bytes.subarray(frameHeadBytes);
}

/** True for the last frame of a transaction. */
export function isCommit({ bytes }: WalFrame): boolean {
  return bytes.readUInt32BE(4) !== 0;
}

export function saltsOf({ bytes }: WalFrame): Checksum {
  return pairAt(bytes, 8);
}

export function checksumIn({ bytes }: WalFrame): Checksum {
  return pairAt(bytes, 16);
}

/** The checksum that the frame should have behind one with the checksum `before`. */
export function checksumDue({ bytes }: WalFrame, before: Checksum): Checksum {
  const words = wordsOf(bytes);
  return addToChecksum(addToChecksum(before, words, 0, 2), words, frameHeadBytes / 4);
}

/** Whether SQLite takes the frame behind one with the checksum `before`. */
export function isSound(frame: WalFrame, { salts, before }: { readonly salts: Checksum; readonly before: Checksum }) {
  return isSame(saltsOf(frame), salts) && pageOf(frame) !== 0 && isSame(checksumIn(frame), checksumDue(frame, before));
}
