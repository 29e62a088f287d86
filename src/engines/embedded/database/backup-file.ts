// The file of a backup: an SQLite database, followed by a seal: one page of text with the time, the number of bytes and
// the SHA-256 of the database. SQLite ignores what follows its pages, so the file opens as it is. A missing seal means
// that the backup was not finished, a wrong SHA-256 that the file has changed. The format is described in
// docs/decisions/0012-backup.md.
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';

export interface Seal {
  readonly madeMs: number;
  /** Name of the last migration that has run on the database. */
  readonly form: string;
  /** Size of the database, without the seal. */
  readonly bytes: number;
  /** SHA-256 of these bytes in hexadecimal digits. */
  readonly sha256: string;
}

export type OnBytes = (done: number, all: number) => void;

const sealBytes = 4096;
const title = 'dundun backup 1';

/** Appends the seal to a finished copy and flushes the file to the disk. */
export async function sealFile(
  path: string,
  { madeMs, form, onBytes }: Pick<Seal, 'madeMs' | 'form'> & { readonly onBytes: OnBytes },
): Promise<Seal> {
  const file = await open(path, 'r+');
  try {
    const { size: bytes } = await file.stat();
    const seal = { madeMs, form, bytes, sha256: await readThrough(file, bytes, { onBytes }) };
    await file.write(toBlock(seal), 0, sealBytes, bytes);
    await file.sync();
    return seal;
  } finally {
    await file.close();
  }
}

/** Reads the seal of a file without comparing its SHA-256; undefined where the file has none. */
async function findSeal(path: string): Promise<Seal | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size < sealBytes) return undefined;
    const block = Buffer.alloc(sealBytes);
    await file.read(block, 0, sealBytes, size - sealBytes);
    const seal = fromBlock(block.toString('latin1'));
    return seal?.bytes === size - sealBytes ? seal : undefined;
  } finally {
    await file.close();
  }
}

/**
 * Reads all bytes before the seal and compares their SHA-256; copies them to the file `into` where one is named.
 * @throws Refusal `malformed` where the seal is missing, `conflict` where the SHA-256 differs.
 */
export async function readSealed(
  path: string,
  { into, onBytes }: { readonly into?: string; readonly onBytes: OnBytes },
): Promise<Seal> {
  const seal = await findSeal(path);
  if (seal === undefined) {
    throw new Refusal('malformed', `${path} is no finished backup of Dundun: it does not end with the seal of one.`);
  }
  const file = await open(path, 'r');
  const target = into === undefined ? undefined : await open(into, 'w', 0o600);
  try {
    const sha256 = await readThrough(file, seal.bytes, { onBytes, ...(target && { target }) });
    if (sha256 !== seal.sha256) {
      throw new Refusal(
        'conflict',
        `${path} has changed since it was made: its SHA-256 is ${sha256}, not ${seal.sha256}.`,
      );
    }
    await target?.sync();
    return seal;
  } finally {
    await file.close();
    await target?.close();
  }
}

/** The SHA-256 of the first `bytes` bytes; copies them to `target` where one is given. */
async function readThrough(
  file: FileHandle,
  bytes: number,
  { target, onBytes }: { readonly target?: FileHandle; readonly onBytes: OnBytes },
): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(limits.fileStepBytes);
  for (let done = 0; done < bytes; onBytes(done, bytes)) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, bytes - done), done);
    if (bytesRead === 0) throw new Refusal('malformed', 'The file became shorter while it was read.');
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    if (target !== undefined) await writeAll(target, piece, done);
    done += bytesRead;
  }
  return hash.digest('hex');
}

async function writeAll(file: FileHandle, piece: Buffer, position: number): Promise<void> {
  for (let done = 0; done < piece.length; ) {
    done += (await file.write(piece, done, piece.length - done, position + done)).bytesWritten;
  }
}

function toBlock({ madeMs, form, bytes, sha256 }: Seal): Buffer {
  const text = [
    title,
    `made: ${new Date(madeMs).toISOString()}`,
    `form: ${form}`,
    `bytes: ${bytes}`,
    `sha256: ${sha256}`,
    '',
    'Before this page lies an SQLite 3 database with all data and all secrets of a Dundun service.',
    'To restore: dundun restore FILE',
    'By hand: head -c -4096 FILE | sha256sum must give the digits above; then head -c -4096 FILE > dundun.sqlite',
    'in an empty data folder that nobody else may read. The sqlite3 shell opens FILE as it is.',
    '',
  ].join('\n');
  return Buffer.from(text.padEnd(sealBytes - 1).concat('\n'), 'latin1');
}

function fromBlock(text: string): Seal | undefined {
  const fields = /^dundun backup 1\nmade: (\S+)\nform: (\S+)\nbytes: (\d+)\nsha256: ([0-9a-f]{64})\n/.exec(text);
  if (fields === null) return undefined;
  const [, made = '', form = '', bytes, sha256 = ''] = fields;
  return { madeMs: Date.parse(made), form, bytes: Number(bytes), sha256 };
}
