// The counter that pushes of one user to one device are charged to. It is updated after each commit, on an object
// that the device in memory holds, so that a push needs no look-up. push-charges.ts makes and stores it.
import type { Caller } from '../callers/caller.ts';
import { GuestUsage } from '../callers/guest-usage.ts';
import type { DeviceKey } from '../device-key.ts';
import type { ProtectedRecord } from '../permissions/permission.ts';
import type { UserKey } from '../users/user.ts';

/** Amounts that were counted and are not stored yet. */
export interface PendingCharge {
  readonly device: DeviceKey;
  readonly user: UserKey;
  readonly isStranger: boolean;
  readonly datapoints: number;
  readonly bytes: number;
}

/** What one user has pushed in all, and how much they may push; without a bound until it is loaded. */
export class PushAccount {
  /** True for guest, whose account is shared among addresses. */
  readonly isShared: boolean;
  usedBytes = 0;
  bytesMax = Number.POSITIVE_INFINITY;
  day = 0;
  dayDatapoints = 0;
  dayMax = Number.POSITIVE_INFINITY;
  /** How often it was read from the store, or began to be. */
  loads = 0;

  constructor(options: { readonly isShared: boolean }) {
    this.isShared = options.isShared;
  }
}

/** What callers without a right of their own ("strangers") have pushed to one public device. */
export class StrangerAllowance {
  usedBytes = 0;
  /** The caller who has pushed more than half, if any, and a lower bound of their bytes. */
  #most: Caller | undefined;
  #mostBytes = 0;

  /**
   * Finds the majority caller with one counter, however many callers there are (Boyer–Moore majority vote): it grows
   * with pushes of that caller and shrinks with those of others.
   */
  add(caller: Caller, bytes: number): void {
    this.usedBytes += bytes;
    if (caller === this.#most) this.#mostBytes += bytes;
    else if (bytes <= this.#mostBytes) this.#mostBytes -= bytes;
    else {
      this.#mostBytes = bytes - this.#mostBytes;
      this.#most = caller;
    }
  }

  /** A lower bound of what the caller has pushed since the last `forget`. */
  takenBy(caller: Caller): number {
    return caller === this.#most ? this.#mostBytes : 0;
  }

  /** Starts the shares of callers anew; the sum stays. */
  forget(): void {
    this.#most = undefined;
    this.#mostBytes = 0;
  }
}

/** The fields of a device that charges need. */
export interface ChargedDevice extends ProtectedRecord {
  readonly key: DeviceKey;
  /** The charge used last. */
  lastCharge?: PushCharge | undefined;
  charges?: Map<UserKey, PushCharge> | undefined;
}

/** A pushed amount as quotas count it. */
export interface PushedAmount {
  readonly datapoints: number;
  readonly bytes: number;
}

/** The charge of one user's pushes to one device. */
export class PushCharge {
  readonly device: DeviceKey;
  readonly user: UserKey;
  readonly account: PushAccount;
  readonly strangers: StrangerAllowance | undefined;
  readonly #onDue: (charge: PushCharge) => void;
  #datapoints = 0;
  #bytes = 0;

  constructor(
    keys: { readonly device: DeviceKey; readonly user: UserKey },
    counts: { readonly account: PushAccount; readonly strangers: StrangerAllowance | undefined },
    onDue: (charge: PushCharge) => void,
  ) {
    this.device = keys.device;
    this.user = keys.user;
    this.account = counts.account;
    this.strangers = counts.strangers;
    this.#onDue = onDue;
  }

  /** Counts a push; called after its commit. */
  add({ datapoints, bytes }: PushedAmount, caller: Caller): void {
    // A publish that clears a retained message, or an empty push with an Idempotency-Key: committed without a datapoint.
    if (datapoints === 0) return;
    if (this.#datapoints === 0) this.#onDue(this);
    this.#datapoints += datapoints;
    this.#bytes += bytes;
    this.account.usedBytes += bytes;
    this.account.dayDatapoints += datapoints;
    if (this.account.isShared) {
      caller.ofGuest ??= new GuestUsage();
      caller.ofGuest.add(this.account.day, 'datapoint_bytes', bytes);
    }
    this.strangers?.add(caller, bytes);
  }

  /** Returns the amounts to be stored, and counts them as stored. */
  take(): PendingCharge {
    const { device, user } = this;
    const due = { device, user, isStranger: this.strangers !== undefined };
    const counted = { datapoints: this.#datapoints, bytes: this.#bytes };
    this.#datapoints = 0;
    this.#bytes = 0;
    return { ...due, ...counted };
  }
}
