// What the pushes of one user to one device are charged to. Counted at each commit on an object that the device carries,
// so that a push looks up nothing. Made and written to the store by push-charges.ts.
import type { Caller } from '../callers/caller.ts';
import { GuestUsage } from '../callers/guest-usage.ts';
import type { DeviceKey } from '../device-key.ts';
import type { ProtectedRecord } from '../permissions/permission.ts';
import type { UserKey } from '../users/user.ts';

/** What has been counted and not been written yet. */
export interface PendingCharge {
  readonly device: DeviceKey;
  readonly user: UserKey;
  readonly isStranger: boolean;
  readonly datapoints: number;
  readonly bytes: number;
}

/** What one user has pushed, of how much; no bound until it is known. */
export class PushAccount {
  /** Of guest: shared out by address. */
  readonly isShared: boolean;
  usedBytes = 0;
  bytesMax = Number.POSITIVE_INFINITY;
  day = 0;
  dayDatapoints = 0;
  dayMax = Number.POSITIVE_INFINITY;

  constructor(options: { readonly isShared: boolean }) {
    this.isShared = options.isShared;
  }
}

/** What strangers have pushed to one device. */
export class StrangerAllowance {
  usedBytes = 0;
  /** Whoever has pushed more than all others together, if anyone has, and bytes that are theirs for certain. */
  #most: Caller | undefined;
  #mostBytes = 0;

  /**
   * Finds who takes more than half with one count, whatever number of callers there is (the majority vote of Boyer and
   * Moore): it grows with pushes of that caller and shrinks with those of others.
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

  /** No less than this is from the caller, since `forget`. */
  takenBy(caller: Caller): number {
    return caller === this.#most ? this.#mostBytes : 0;
  }

  forget(): void {
    this.#most = undefined;
    this.#mostBytes = 0;
  }
}

/** A device as charges know it. It carries those of its users, kept here by push-charges.ts. */
export interface ChargedDevice extends ProtectedRecord {
  readonly key: DeviceKey;
  /** The charge of the user who pushed last. */
  lastCharge?: PushCharge | undefined;
  charges?: Map<UserKey, PushCharge> | undefined;
}

/** What was pushed, as quotas count it. */
export interface PushedAmount {
  readonly datapoints: number;
  readonly bytes: number;
}

/** What the pushes of one user to one device are charged to. */
export class PushCharge {
  readonly device: DeviceKey;
  readonly user: UserKey;
  readonly account: PushAccount;
  readonly strangers: StrangerAllowance | undefined;
  readonly #onDue: (charge: PushCharge) => void;
  #datapoints = 0;
  #bytes = 0;

  constructor(
    place: { readonly device: DeviceKey; readonly user: UserKey },
    counts: { readonly account: PushAccount; readonly strangers: StrangerAllowance | undefined },
    onDue: (charge: PushCharge) => void,
  ) {
    this.device = place.device;
    this.user = place.user;
    this.account = counts.account;
    this.strangers = counts.strangers;
    this.#onDue = onDue;
  }

  /** After the commit. */
  add({ datapoints, bytes }: PushedAmount, caller: Caller): void {
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

  /** What is to be written; from now on it counts as written. */
  take(): PendingCharge {
    const { device, user } = this;
    const due = { device, user, isStranger: this.strangers !== undefined };
    const counted = { datapoints: this.#datapoints, bytes: this.#bytes };
    this.#datapoints = 0;
    this.#bytes = 0;
    return { ...due, ...counted };
  }
}
