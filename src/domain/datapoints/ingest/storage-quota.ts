// Decides whether datapoints may be stored: the data must be below its maximum size, and the disk not nearly full.
// Measured about once a second, so that a push only counts its bytes against the room that was found. Removals,
// retention and reads are never refused.
import type { Log } from '../../../base/log.ts';
import { Refusal } from '../../../base/refusal.ts';

/** Bytes that the data takes, and bytes of the disk. */
export interface DataUsage {
  readonly usedBytes: number;
  /** Free bytes of the disk that this process may use. */
  readonly freeBytes: number;
  /** Size of the disk. */
  readonly diskBytes: number;
  /** Free bytes inside the database file, which are used before the file grows. */
  readonly reusableBytes: number;
  /** Bytes of the disk that the store still takes for its work on what it has, sealing aside. */
  readonly owedBytes: number;
  /** Bytes that sealing all of the log may write before it frees any. */
  readonly unsealedBytes: number;
  /** Bytes of the disk that the store holds for the time when it is full; and whether some of them are in use. */
  readonly reserveBytes: number;
  readonly isReserveInUse: boolean;
}

export interface StorageQuotaBounds {
  readonly diskReserveBytesMax: number;
  readonly diskReserveShare: number;
  readonly diskWorkBytes: number;
  readonly diskMarginBytes: number;
  readonly storageMeasuredMsMin: number;
  readonly storageRecoveredShare: number;
  readonly storageMeasuredMs: number;
  readonly storageFullRetryAfterS: number;
}

export class StorageQuota {
  readonly #measure: () => Promise<DataUsage>;
  readonly #compact: () => Promise<void>;
  readonly #waitingBytes: () => number;
  readonly #storedBytesMax: number | undefined;
  readonly #bounds: StorageQuotaBounds;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #reason: string | undefined;
  #usage: DataUsage | undefined;
  /** Bytes of datapoints that may still come before the next measurement, and below which it is made early. */
  #roomBytes = Number.POSITIVE_INFINITY;
  #measureBelowBytes = 0;
  #measuredMs = 0;
  #isMeasuring = false;
  #refused = 0;
  #isCompacting = false;
  #reportedFull: boolean | undefined;
  readonly #onFullOrFree: (isFull: boolean) => Promise<void>;

  constructor(parts: {
    readonly measure: () => Promise<DataUsage>;
    /** Makes the store compress and compact its data; called while the quota is reached. */
    readonly compact: () => Promise<void>;
    /** Bytes of datapoints that were accepted and are not stored yet. */
    readonly waitingBytes: () => number;
    /** The maximum size of the data in bytes; undefined: as much as the disk has. */
    readonly storedBytesMax: number | undefined;
    /**
     * Called after the first measurement and on every change. If it fails it is repeated after the next measurement.
     */
    readonly onFullOrFree?: (isFull: boolean) => Promise<void>;
    readonly bounds: StorageQuotaBounds;
    readonly log: Log;
  }) {
    this.#measure = parts.measure;
    this.#compact = parts.compact;
    this.#waitingBytes = parts.waitingBytes;
    this.#storedBytesMax = parts.storedBytesMax;
    this.#bounds = parts.bounds;
    this.#log = parts.log;
    this.#onFullOrFree = parts.onFullOrFree ?? (async () => {});
  }

  /** Measures, and does so again periodically. */
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

  /** The result of the last measurement. */
  get usage(): DataUsage | undefined {
    return this.#usage;
  }

  /** Datapoints refused since the start. */
  get refusedDatapoints(): number {
    return this.#refused;
  }

  /** The refusal of so many datapoints, which are counted as refused; undefined while datapoints are accepted. */
  refusalOf(datapoints: number): Refusal | undefined {
    // One push may be larger than what is left; the store refuses it where that is true of the disk.
    if (this.#reason === undefined && this.#roomBytes > 0) return undefined;
    if (this.#reason === undefined) this.#measureEarly();
    this.#refused += datapoints;
    const reason = this.#reason ?? fullDisk(this.#usage?.freeBytes ?? 0);
    return new Refusal('full', `There is no room for more datapoints: ${reason}. Nothing of this request was stored.`, {
      retryAfterS: this.#bounds.storageFullRetryAfterS,
    });
  }

  /** Counts bytes of datapoints that were accepted, about, against the room that was found. */
  accepted(bytes: number): void {
    this.#roomBytes -= bytes;
    if (this.#reason === undefined && this.#roomBytes < this.#measureBelowBytes) this.#measureEarly();
  }

  /** Measures now. If that fails, the last result stays; commits notice a disk that refuses. */
  async refresh(): Promise<void> {
    try {
      this.#usage = await this.#measure();
    } catch (error) {
      if (!this.#isClosed) this.#log.warn({ err: error }, 'the free disk space could not be measured');
      return;
    }
    const before = this.#reason;
    const { reason, roomBytes } = this.#judge(
      this.#usage,
      before === undefined ? 1 : 1 - this.#bounds.storageRecoveredShare,
    );
    this.#reason = reason;
    this.#roomBytes = roomBytes - this.#waitingBytes();
    this.#measureBelowBytes = roomBytes / 2;
    this.#measuredMs = performance.now();
    if (before === undefined && this.#reason !== undefined) {
      this.#log.warn(
        { ...this.#usage, bytesMax: this.#storedBytesMax, reason },
        'the storage quota is reached: datapoints are refused',
      );
    }
    await this.#reportFull(this.#reason !== undefined);
    if (this.#reason !== undefined) void this.#compactStorage();
    if (before !== undefined && this.#reason === undefined)
      this.#log.info({ ...this.#usage }, 'the storage quota is no longer reached: datapoints are accepted');
  }

  /** Half of the room that was found is used: the rest is not to be refused on a guess. */
  #measureEarly(): void {
    const isSoon = performance.now() < this.#measuredMs + this.#bounds.storageMeasuredMsMin;
    if (isSoon || this.#isMeasuring || this.#isClosed) return;
    this.#isMeasuring = true;
    void this.refresh().finally(() => {
      this.#isMeasuring = false;
    });
  }

  async #reportFull(isFull: boolean): Promise<void> {
    if (this.#reportedFull === isFull) return;
    try {
      await this.#onFullOrFree(isFull);
      this.#reportedFull = isFull;
    } catch (error) {
      if (!this.#isClosed)
        this.#log.debug({ err: error }, 'the storage was not told whether the storage quota is reached');
    }
  }

  /** Frees space now, because deleted and uncompressed data may take space until the store's own maintenance. */
  async #compactStorage(): Promise<void> {
    if (this.#isCompacting) return;
    this.#isCompacting = true;
    try {
      await this.#compact();
    } catch (error) {
      // A full disk may refuse this as well; the next measurement tries again.
      this.#log.debug({ err: error }, 'compacting the data failed');
    }
    this.#isCompacting = false;
  }

  /** `share` < 1 demands some more free space, so that the state does not change with every push. */
  #judge(usage: DataUsage, share: number): { readonly reason: string | undefined; readonly roomBytes: number } {
    const { usedBytes, freeBytes, isReserveInUse } = usage;
    const none = (reason: string) => ({ reason, roomBytes: 0 });
    const bytesMax = this.#storedBytesMax ?? Number.POSITIVE_INFINITY;
    if (usedBytes >= bytesMax * share) {
      return none(`the data takes ${inWords(usedBytes)} of the ${inWords(bytesMax)} it may take`);
    }
    if (isReserveInUse) return none(`the disk is full, and the service works in its reserve; ${advice}`);
    const roomBytes = this.#diskRoom(usage, share);
    return roomBytes < 0 ? none(fullDisk(freeBytes)) : { reason: undefined, roomBytes: roomBytes / writtenTimes };
  }

  /** Bytes that may be written before the disk has less than datapoints must leave; negative where it has. */
  #diskRoom(usage: DataUsage, share: number): number {
    const { diskReserveBytesMax, diskReserveShare, diskWorkBytes, diskMarginBytes } = this.#bounds;
    const { freeBytes, diskBytes, reusableBytes, reserveBytes, owedBytes, unsealedBytes } = usage;
    const wantedBytes = Math.min(diskReserveBytesMax, diskBytes * diskReserveShare) / share;
    const workBytes = Math.min(diskWorkBytes, wantedBytes / 2);
    const heldBytes = freeBytes + reserveBytes;
    // So much is left free that datapoints never need the reserve.
    const leftBytes = (owedBytes + diskMarginBytes) / share;
    return Math.min(
      freeBytes - leftBytes,
      // And where others take that, the reserve is enough for the work on all that is stored, sealing included.
      heldBytes + reusableBytes - leftBytes - (owedBytes + unsealedBytes) / share,
      heldBytes - workBytes,
      heldBytes + reusableBytes - wantedBytes,
    );
  }
}

/** A byte of a datapoint is written to the write-ahead log and to the database file. */
const writtenTimes = 2;
const advice = 'free space on it, or remove data';

function fullDisk(freeBytes: number): string {
  return `the disk has ${inWords(freeBytes)} left; ${advice}`;
}

function inWords(bytes: number): string {
  const gigabytes = bytes / 1e9;
  return gigabytes >= 1 ? `${gigabytes.toFixed(2)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
