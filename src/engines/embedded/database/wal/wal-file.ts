// Reads frames of a write-ahead log and pages of a database file, without SQLite: opening the database would already
// recover the log, and so drop what is behind a damaged frame.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { frameHeadBytes, type WalFrame, walHeaderBytes } from './wal-format.ts';

const framesAtOnce = 128;

export class WalFile {
  readonly #file: number;

  /** @throws Error where it cannot be opened. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
  }

  get bytes(): number {
    return fstatSync(this.#file).size;
  }

  /** The header's bytes; fewer where the file is shorter. */
  header(): Buffer {
    return readAt(this.#file, 0, walHeaderBytes);
  }

  /** How many whole frames the file has room for. */
  frames(pageBytes: number): number {
    return Math.max(0, Math.floor((this.bytes - walHeaderBytes) / (frameHeadBytes + pageBytes)));
  }

  /** A frame; undefined where the file ends before. */
  frame(number: number, pageBytes: number): WalFrame | undefined {
    const frameBytes = frameHeadBytes + pageBytes;
    const bytes = readAt(this.#file, walHeaderBytes + (number - 1) * frameBytes, frameBytes);
    return bytes.length === frameBytes ? { number, bytes } : undefined;
  }

  /** The frames from one on, some hundred kilobytes at a time; their bytes are valid until the next is asked for. */
  *framesFrom(first: number, pageBytes: number): Generator<WalFrame> {
    const frameBytes = frameHeadBytes + pageBytes;
    for (let number = first; ; ) {
      const some = readAt(this.#file, walHeaderBytes + (number - 1) * frameBytes, framesAtOnce * frameBytes);
      const count = Math.floor(some.length / frameBytes);
      for (let at = 0; at < count; at++, number++) {
        yield { number, bytes: some.subarray(at * frameBytes, (at + 1) * frameBytes) };
      }
      if (count < framesAtOnce) return;
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A page of the database file; undefined where the file ends before, or is not there. */
export function readDatabasePage(path: string, page: number, pageBytes: number): Buffer | undefined {
  if (page < 1) return undefined;
  let file: number | undefined;
  try {
    // Never while this process has a connection to it: closing it would release the locks of that (POSIX).
    file = openSync(path, 'r');
    const bytes = readAt(file, (page - 1) * pageBytes, pageBytes);
    return bytes.length === pageBytes ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Bytes from an offset, aligned to 8 in their buffer; fewer where the file ends. */
function readAt(file: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  let read = 0;
  while (read < length) {
    const more = readSync(file, bytes, read, length - read, offset + read);
    if (more === 0) break;
    read += more;
  }
  return bytes.subarray(0, read);
}
