// Whether the store takes what is to be written, as the writer thread finds out: not while the disk refuses, and no
// datapoints while the head is full and sealing fails. Whoever asks whether the service is ready hears of it. It ends by
// itself: a refusing disk is tried again and again with a write of one row, also when nobody else writes any more.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { writeFailureOf } from '../database/database-error.ts';

export class WriteState {
  readonly #probe: StatementSync;
  readonly #onChange: (refusesBecause: string | undefined) => void;
  #timer: NodeJS.Timeout | undefined;
  #disk: string | undefined;
  #isSealingFailing = false;
  #told: string | undefined;
  #isClosed = false;

  constructor(database: DatabaseSync, onChange: (refusesBecause: string | undefined) => void) {
    // Another value each time, because SQLite leaves a page alone that would stay as it is.
    this.#probe = database.prepare(
      "INSERT INTO counter (name, value) VALUES ('probe', 1) ON CONFLICT (name) DO UPDATE SET value = 1 - value",
    );
    this.#onChange = onChange;
  }

  /** The disk has refused a commit. */
  diskRefused(reason: string): void {
    this.#disk = reason;
    if (!this.#isClosed) this.#timer ??= setInterval(() => this.#tryDisk(), limits.storageProbeMs);
    this.#tell();
  }

  /** Datapoints are refused because of that. */
  sealingFails(): void {
    this.#isSealingFailing = true;
    this.#tell();
  }

  /** A pass of sealing has come to its end. */
  sealed(): void {
    this.#isSealingFailing = false;
    this.#tell();
  }

  /** Nothing is tried any more. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #tryDisk(): void {
    try {
      this.#probe.run();
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#disk = undefined;
    } catch (error) {
      this.#disk = writeFailureOf(error).message;
    }
    this.#tell();
  }

  #tell(): void {
    const reason = this.#reason();
    if (reason === this.#told) return;
    this.#told = reason;
    this.#onChange(reason);
  }

  #reason(): string | undefined {
    if (this.#disk !== undefined) return `the disk refuses to write: ${this.#disk}`;
    // Why it fails is in the log of the service.
    return this.#isSealingFailing ? 'no more datapoints are taken until those there are can be compressed' : undefined;
  }
}
