// Whether the store accepts writes, as the writer thread knows it: none while the disk refuses, and no datapoints while
// the head is full and sealing fails. `/health/ready` shows it. While the disk refuses, a write of one row is tried
// every second, so that the state recovers even if nobody else writes.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { writeFailureOf } from '../database/database-error.ts';

export class WriteState {
  readonly #probe: StatementSync;
  readonly #onChange: (refusesBecause: string | undefined) => void;
  #timer: NodeJS.Timeout | undefined;
  #disk: string | undefined;
  #isSealingFailing = false;
  #reported: string | undefined;
  #isClosed = false;

  constructor(database: DatabaseSync, onChange: (refusesBecause: string | undefined) => void) {
    // The value changes each time, because SQLite does not write a page that stays the same.
    this.#probe = database.prepare(
      "INSERT INTO counter (name, value) VALUES ('probe', 1) ON CONFLICT (name) DO UPDATE SET value = 1 - value",
    );
    this.#onChange = onChange;
  }

  /** Called when the disk has refused a commit. */
  diskRefused(reason: string): void {
    this.#disk = reason;
    if (!this.#isClosed) this.#timer ??= setInterval(() => this.#tryDisk(), limits.storageProbeMs);
    this.#reportChange();
  }

  /** Called when datapoints are refused because sealing fails. */
  sealingFails(): void {
    this.#isSealingFailing = true;
    this.#reportChange();
  }

  /** Called when a pass of sealing has ended. */
  sealed(): void {
    this.#isSealingFailing = false;
    this.#reportChange();
  }

  /** Stops the probe. */
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
    this.#reportChange();
  }

  #reportChange(): void {
    const reason = this.#reason();
    if (reason === this.#reported) return;
    this.#reported = reason;
    this.#onChange(reason);
  }

  #reason(): string | undefined {
    if (this.#disk !== undefined) return `the disk refuses to write: ${this.#disk}`;
    // The reason is in the log of the service.
    return this.#isSealingFailing ? 'no more datapoints are taken until those there are can be compressed' : undefined;
  }
}
