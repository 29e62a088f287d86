// A data folder on a small disk of its own, which others may fill: a library preloaded into the process
// (test/small-disk/small-disk.c) lets the folder's files take so much room together, and no more.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder, root, type Settings } from './process.ts';

const compiler = process.env['DUNDUN_TEST_CC'];

/** Why there can be no small disks here, for `skip`. */
export const withoutSmallDisks: string | false =
  process.platform !== 'linux' ? 'small disks need Linux' : compiler === undefined && 'the C compiler is missing';

let library: string | undefined;

function buildLibrary(): string {
  const output = join(makeFolder(), 'small-disk.so');
  const source = join(root, 'test/small-disk/small-disk.c');
  const args = ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-pthread', '-o', output, source];
  const { status, stderr } = spawnSync(compiler ?? 'cc', args, { encoding: 'utf8' });
  assert.equal(status, 0, `small-disk.c does not compile (Debian: gcc and libc6-dev):\n${stderr}`);
  return output;
}

export class SmallDisk {
  /** All that is on the disk is in it: the data folder, or where backups go. */
  readonly folder: string;
  readonly #roomFile = join(makeFolder(), 'room');
  #room = 0;

  /** @param folder A new one of its own by default; the one above it exists. */
  constructor(bytes: number, folder?: string) {
    if (folder === undefined) {
      this.folder = join(realpathSync(makeFolder()), 'data');
      mkdirSync(this.folder, { mode: 0o700 });
    } else this.folder = join(realpathSync(dirname(folder)), basename(folder));
    this.setRoom(bytes);
  }

  /** For the environment of every process that writes to the folder. */
  get settings(): Settings {
    library ??= buildLibrary();
    return { LD_PRELOAD: library, SMALL_DISK_FOLDER: this.folder, SMALL_DISK_ROOM: this.#roomFile };
  }

  /** Bytes that the files of the folder take. */
  get usedBytes(): number {
    const sizes = readdirSync(this.folder).map((name) => statSync(join(this.folder, name), { throwIfNoEntry: false }));
    return sizes.reduce((sum, file) => sum + Math.ceil((file?.size ?? 0) / 4096) * 4096, 0);
  }

  /** Bytes that they may take together. */
  get room(): number {
    return this.#room;
  }

  setRoom(bytes: number): void {
    this.#room = bytes;
    // At once, so that nobody reads half of it.
    writeFileSync(`${this.#roomFile}.new`, String(bytes));
    renameSync(`${this.#roomFile}.new`, this.#roomFile);
  }

  /** Others take all that is left, and whatever comes free until there is room again. */
  fill(): void {
    this.setRoom(this.usedBytes);
  }
}
