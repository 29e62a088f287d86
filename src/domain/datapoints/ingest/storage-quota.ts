// Whether datapoints may be stored: the data is below its maximum size, and the disk is not nearly full. Measured about
// once a second, so that a push only reads a variable. Removals, retention and reads always go on.
import type { Log } from '../../../base/log.ts';
import { Refusal } from '../../../base/refusal.ts';

/** Bytes that the data takes and the disk has. */
export interface DataUsage {
  readonly usedBytes: number;
  /** Free bytes of the disk that this process may use. */
  readonly freeBytes: number;
  /** Size of the disk. */
  readonly diskBytes: number;
  /** Free bytes inside the database file, which are used before the file grows. */
  readonly reusableBytes: number;
}

export interface StorageQuotaBounds {
  readonly diskReserveBytesMax: number;
  readonly diskReserveShare: number;
  readonly diskWorkBytes: number;
  readonly storageRecoveredShare: number;
  readonly storageMeasuredMs: number;
  readonly storageFullRetryAfterS: number;
}

export class StorageQuota {
  readonly #measure: () => Promise<DataUsage>;
  readonly #compact: () => Promise<void>;
  readonly #storedBytesMax: number | undefined;
  readonly #bounds: StorageQuotaBounds;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #reason: string | undefined;
  #usage: DataUsage | undefined;
  #refused = 0;
  #isCompacting = false;
  #reportedFull: boolean | undefined;
  readonly #onFullOrFree: (isFull: boolean) => Promise<void>;

  constructor(parts: {
    readonly measure: () => Promise<DataUsage>;
    /** Has the store compress and compact its data; called while the quota is reached. */
    readonly compact: () => Promise<void>;
    /** The maximum; undefined: as much as the disk has. */
    readonly storedBytesMax: number | undefined;
    /** Called after the first measurement and with every change; repeated with the next measurement when it fails. */
    readonly onFullOrFree?: (isFull: boolean) => Promise<void>;
    readonly bounds: StorageQuotaBounds;
    readonly log: Log;
  }) {
    this.#measure = parts.measure;
    this.#compact = parts.compact;
    this.#storedBytesMax = parts.storedBytesMax;
    this.#bounds = parts.bounds;
    this.#log = parts.log;
    this.#onFullOrFree = parts.onFullOrFree ?? (async () => {});
  }

  /** Measures for the first time, and from then on periodically. */
  async start(): Promise<void> {
    await this.refresh();
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.start(), this.#bounds.storageMeasuredMs);
    this.#timer.unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Why datapoints are refused, for people; undefined while they are accepted. */
  get fullReason(): string | undefined {
    return this.#reason;
  }

  get bytesMax(): number | undefined {
    return this.#storedBytesMax;
  }

  /** As of the last measurement. */
  get usage(): DataUsage | undefined {
    return this.#usage;
  }

  /** Datapoints refused since the start. */
  get refusedDatapoints(): number {
    return this.#refused;
  }

  /** The refusal for so many datapoints; undefined while they are accepted. */
  refusalOf(datapoints: number): Refusal | undefined {
    if (this.#reason === undefined) return undefined;
    this.#refused += datapoints;
    return new Refusal(
      'full',
      `There is no room for more datapoints: ${this.#reason}. Nothing of this request was stored.`,
      { retryAfterS: this.#bounds.storageFullRetryAfterS },
    );
  }

  /** Measures now. If that fails the last result stays; a refusing disk is noticed by commits. */
  async refresh(): Promise<void> {
    try {
      this.#usage = await this.#measure();
    } catch (error) {
      if (!this.#isClosed) this.#log.warn({ err: error }, 'the free disk space could not be measured');
      return;
    }
    const before = this.#reason;
    this.#reason = this.#judge(this.#usage, before === undefined ? 1 : 1 - this.#bounds.storageRecoveredShare);
    if (before === undefined && this.#reason !== undefined) {
      this.#log.warn(
        { ...this.#usage, bytesMax: this.#storedBytesMax },
        'the storage quota is reached: datapoints are refused',
      );
    }
    await this.#reportFull(this.#reason !== undefined);
    if (this.#reason !== undefined) void this.#compactStorage();
    if (before !== undefined && this.#reason === undefined)
      this.#log.info({ ...this.#usage }, 'the storage quota is no longer reached: datapoints are accepted');
  }

  async #reportFull(isFull: boolean): Promise<void> {
    if (this.#reportedFull === isFull) return;
    try {
      await this.#onFullOrFree(isFull);
      this.#reportedFull = isFull;
    } catch (error) {
      if (!this.#isClosed)
        this.#log.debug({ err: error }, 'the store was not told whether the storage quota is reached');
    }
  }

  /** Deleted and uncompressed data may take space until the store gets to it by itself. */
  async #compactStorage(): Promise<void> {
    if (this.#isCompacting) return;
    this.#isCompacting = true;
    try {
      await this.#compact();
    } catch (error) {
      // A full disk may refuse this too; tried again with the next measurement.
      this.#log.debug({ err: error }, 'compacting the data failed');
    }
    this.#isCompacting = false;
  }

  /** `share` < 1 demands some more free space, so that the state does not change with every push. */
  #judge({ usedBytes, freeBytes, diskBytes, reusableBytes }: DataUsage, share: number): string | undefined {
    const { diskReserveBytesMax, diskReserveShare, diskWorkBytes } = this.#bounds;
    if (this.#storedBytesMax !== undefined && usedBytes >= this.#storedBytesMax * share) {
      return `the data takes ${inWords(usedBytes)} of the ${inWords(this.#storedBytesMax)} it may take`;
    }
    const reserveBytes = Math.min(diskReserveBytesMax, diskBytes * diskReserveShare) / share;
    const workBytes = Math.min(diskWorkBytes, reserveBytes / 2);
    if (freeBytes >= workBytes && freeBytes + reusableBytes >= reserveBytes) return undefined;
    return `the disk has ${inWords(freeBytes)} left`;
  }
}

function inWords(bytes: number): string {
  const gigabytes = bytes / 1e9;
  return gigabytes >= 1 ? `${gigabytes.toFixed(2)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
