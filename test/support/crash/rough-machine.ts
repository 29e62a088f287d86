// The machine that a crash site is on: others may fill its disk to the last byte and leave it again, and its wall clock may be
// moved, while the service runs, while it is down, and while it starts.
import { renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../../src/config/limits.ts';
import { reserveFile } from '../../../src/engines/embedded/database/disk-reserve.ts';
import { makeFolder, type Settings } from '../process.ts';
import { SmallDisk, withoutSmallDisks } from '../small-disk.ts';

/** More than a crash site ever takes, and less than a service calls a large disk. */
const roomBytes = 350 * 1024 * 1024;

export class RoughMachine {
  readonly #folder: string;
  readonly #disk: SmallDisk | undefined;
  readonly #clockFile = join(makeFolder(), 'clock');
  #isFull = false;
  #isMoved = false;

  /** The folder above it exists. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#disk = withoutSmallDisks === false ? new SmallDisk(roomBytes, folder) : undefined;
    this.moveClock(0);
  }

  /** For the environment of the service; its disk is to be preloaded before any other. */
  get settings(): Settings {
    return { ...this.#disk?.settings, DUNDUN_TEST_CLOCK: this.#clockFile };
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Whether the wall clock is wrong. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  /** Whether the service holds its whole reserve; without it, it was never promised to live on a full disk. */
  get hasReserve(): boolean {
    const reserve = statSync(join(this.#folder, reserveFile), { throwIfNoEntry: false })?.size ?? 0;
    return reserve >= limits.reserveFileBytes;
  }

  /** Others take all room that is left. */
  fill(): void {
    if (this.#disk === undefined) return;
    this.#disk.fill();
    this.#isFull = true;
  }

  /** After a power cut, files may be longer again than they were: that room was never free. */
  settle(): void {
    if (this.#disk !== undefined && this.#isFull) this.#disk.setRoom(Math.max(this.#disk.room, this.#disk.usedBytes));
  }

  /** There is room again, and the clock is right. */
  mend(): void {
    this.#disk?.setRoom(roomBytes);
    this.#isFull = false;
    if (this.#isMoved) this.moveClock(0);
  }

  /** Moves the wall clock to so many milliseconds from the right time; 0: right again. */
  moveClock(differenceMs: number): void {
    // At once, so that nobody reads half of it.
    writeFileSync(`${this.#clockFile}.new`, String(differenceMs));
    renameSync(`${this.#clockFile}.new`, this.#clockFile);
    this.#isMoved = differenceMs !== 0;
  }
}
