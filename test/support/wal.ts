// Damages the write-ahead log of a killed service, and what lies in it.
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const headerBytes = 32;
const frameBytes = 24 + 4096;

export function walPath(folder: string): string {
  return join(folder, 'dundun.sqlite-wal');
}

/** Where frame `number`, from 1, begins. */
export function frameOffset(number: number): number {
  return headerBytes + (number - 1) * frameBytes;
}

/** How many frames of the present generation the log has, and which of them end a commit. */
export function framesOf(folder: string): { readonly frames: number; readonly commits: readonly number[] } {
  const bytes = readFileSync(walPath(folder));
  const salts = bytes.subarray(16, 24);
  const commits: number[] = [];
  let frames = 0;
  for (let at = headerBytes; at + frameBytes <= bytes.length; at += frameBytes) {
    if (!bytes.subarray(at + 8, at + 16).equals(salts)) break;
    frames += 1;
    if (bytes.readUInt32BE(at + 4) !== 0) commits.push(frames);
  }
  return { frames, commits };
}

/** Flips one bit of the file. */
export function flipBit(path: string, bit: number): void {
  const bytes = readFileSync(path);
  bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
  writeFileSync(path, bytes);
}

/** Overwrites bytes of the file. */
export function overwrite(path: string, offset: number, length: number): void {
  const bytes = readFileSync(path);
  for (let at = offset; at < offset + length; at++) bytes[at] = ((bytes[at] as number) + 1 + (at % 7)) & 0xff;
  writeFileSync(path, bytes);
}

/** Cuts the file behind so many frames. */
export function cutBehind(folder: string, frames: number): void {
  truncateSync(walPath(folder), frameOffset(frames + 1));
}
