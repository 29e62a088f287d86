// A file in the data folder that holds room on the disk for the time when others have filled it: SQLite can neither
// delete nor checkpoint nor start without a little. Taken in small steps and given up in large ones by the writer thread,
// and by a start that finds no room.
import { randomFillSync } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../../config/limits.ts';

/** The reserve inside the data folder. */
export const reserveFile = 'reserve';
/** Its first block says what the file is for, and how large it was; it is never given up. */
const headBytes = 4096;
const headText = 'Dundun keeps this room for the time when the disk is full. It had so many bytes: ';

export class DiskReserve {
  readonly #folder: string;
  /** Undefined where the file could not be made. */
  #file: number | undefined;
  #bytes = 0;
  #wholeBytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#open();
  }

  /** Bytes that the file takes on the disk. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes that were given up and not taken again. */
  get missingBytes(): number {
    return Math.max(0, this.#wholeBytes - this.#bytes);
  }

  /** Bytes of the disk that this process may still use. */
  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }

  /** Gives up one large step of the reserve, but keeps what a start needs; false when nothing more can be given up. */
  giveUp(): boolean {
    return this.#cut(Math.max(this.#bytes - limits.reserveGivenStep, limits.reserveStartBytes));
  }

  /** Gives up a small step of it, to the last one; false where nothing was left. */
  giveUpToStart(): boolean {
    return this.#cut(Math.max(this.#bytes - limits.reserveStartStep, headBytes));
  }

  #cut(rest: number): boolean {
    if (this.#file === undefined || rest >= this.#bytes) return false;
    try {
      ftruncateSync(this.#file, rest);
    } catch {
      // A full file system that copies on write may refuse even that: as if nothing were left.
      return false;
    }
    this.#bytes = rest;
    return true;
  }

  /**
   * Takes one step where the disk has that much to spare; what was given up is taken again before datapoints get any room.
   * @returns whether more can be taken.
   * @throws Error where the file system refuses.
   */
  take(): boolean {
    const wanted = limits.reserveFileBytes - this.#bytes;
    const step = Math.min(limits.reserveTakenStep, wanted);
    const leftBytes = this.missingBytes > 0 ? limits.walBytesTight : limits.reserveFreeBytesMin;
    if (step <= 0 || this.freeBytes < step + leftBytes) return false;
    if (this.#file === undefined) this.#open();
    if (this.#file === undefined) return false;
    // Another may have cut it: what is written behind a file's end leaves a hole, which holds no room.
    this.#bytes = Math.min(this.#bytes, fstatSync(this.#file).size);
    const written = writeSync(this.#file, noise(), 0, step, this.#bytes);
    this.#bytes += written;
    if (this.#bytes > this.#wholeBytes) this.#note();
    return written === step && this.#bytes < limits.reserveFileBytes;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): void {
    let file: number | undefined;
    try {
      file = openSync(join(this.#folder, reserveFile), constants.O_RDWR | constants.O_CREAT, 0o600);
      const { size, blocks } = fstatSync(file);
      // What a power cut left of it may be a size without blocks, which holds no room.
      this.#bytes = Math.min(size, Math.floor((blocks * 512) / headBytes) * headBytes);
      ftruncateSync(file, this.#bytes);
      this.#wholeBytes = Math.max(this.#bytes, wholeBytesIn(file));
      this.#file = file;
      if (this.#bytes < headBytes) this.#note();
    } catch {
      // A disk without room for a file: tried again with the next step.
      if (file !== undefined) closeSync(file);
      this.#file = undefined;
      this.#bytes = 0;
    }
  }

  /** Writes the first block: how large the reserve has been. */
  #note(): void {
    const head = Buffer.from(noise().subarray(0, headBytes));
    this.#wholeBytes = Math.max(this.#bytes, headBytes);
    head.write(`${headText}${this.#wholeBytes}\n`);
    this.#bytes = Math.max(this.#bytes, writeSync(this.#file as number, head, 0, headBytes, 0));
  }
}

/** How large the reserve was, by its first block; 0 where that does not say. */
function wholeBytesIn(file: number): number {
  const head = Buffer.alloc(headText.length + 20);
  const text = head.toString('latin1', 0, readSync(file, head, 0, head.length, 0));
  const bytes = text.startsWith(headText) ? Number.parseInt(text.slice(headText.length), 10) : 0;
  return Number.isFinite(bytes) ? Math.min(bytes, limits.reserveFileBytes) : 0;
}

let noiseBytes: Uint8Array | undefined;

/** What the file is made of: zeros would take no room on a file system that compresses. */
function noise(): Uint8Array {
  noiseBytes ??= randomFillSync(new Uint8Array(limits.reserveTakenStep));
  return noiseBytes;
}

/**
 * Gives up a step of the reserve for a start that found no room.
 * @returns false where nothing was left of it.
 */
export function giveUpToStart(folder: string): boolean {
  const reserve = new DiskReserve(folder);
  try {
    return reserve.giveUpToStart();
  } finally {
    reserve.close();
  }
}

/** Whether the disk has less left than a start may need. */
export function isShortToStart(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < limits.reserveStartStep;
}
