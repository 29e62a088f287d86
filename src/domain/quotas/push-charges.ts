// Charges datapoints to the user who pushes them (to guest for all without a token). Pushes that are accepted only
// because the device is public also count against the device's allowance for strangers, which never limits its owner.
// Amounts are counted in memory after each commit, without a look-up, and stored every few seconds; a crash loses no
// more than that.

import type { Log } from '../../base/log.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Actor, UserKey } from '../users/user.ts';
import { heldOf, shareRefusal } from './guest-shares.ts';
import { type ChargedDevice, PushAccount, PushCharge, StrangerAllowance } from './push-charge.ts';
import type { QuotaStore } from './quota-store.ts';

const dayMs = 86_400_000;

export class PushCharges {
  readonly #store: QuotaStore;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #strangerBytesMax: number;
  readonly #accounts = new LruCache<UserKey, PushAccount>({ weightMax: limits.usersCachedMax });
  readonly #allowances = new LruCache<DeviceKey, StrangerAllowance>({ weightMax: limits.strangerAllowancesMax });
  /** The day for which strangers' shares are counted, in days since 1970 UTC. */
  #day = 0;
  #due: PushCharge[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Accounts that are being read. */
  readonly #loading = new Set<Promise<void>>();

  constructor(parts: {
    readonly store: QuotaStore;
    readonly permissions: Permissions;
    readonly clock: Clock;
    readonly log: Log;
    readonly strangerBytesMax: number;
  }) {
    this.#store = parts.store;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#strangerBytesMax = parts.strangerBytesMax;
  }

  /** The charge for pushes of the actor to the device. `refusalOf` tells whether it allows more. */
  of(actor: Actor, device: ChargedDevice): PushCharge {
    const last = device.lastCharge;
    if (last !== undefined && last.user === actor.key) return last;
    device.charges ??= new Map();
    let charge = device.charges.get(actor.key);
    if (charge === undefined) {
      const isStranger = this.#permissions.isStranger(actor, device);
      const counts = {
        account: this.#accountOf(actor),
        strangers: isStranger ? this.#allowanceOf(device.key) : undefined,
      };
      charge = new PushCharge({ device: device.key, user: actor.key }, counts, (due) => this.#noteDue(due));
      // The amounts of a dropped charge are still written, because it stays in `#due`.
      if (device.charges.size >= limits.chargesPerDeviceMax) device.charges.clear();
      device.charges.set(actor.key, charge);
    }
    device.lastCharge = charge;
    return charge;
  }

  /** Why the caller may not push more; undefined where the caller may. */
  refusalOf({ account, strangers }: PushCharge, caller: Caller): Refusal | undefined {
    if (account.isShared || strangers !== undefined) {
      const refusal = this.#shareRefusal({ account, strangers }, caller);
      if (refusal !== undefined) return refusal;
    }
    if (account.usedBytes >= account.bytesMax) {
      return Refusal.ofQuota({ kind: 'datapoint_bytes', used: account.usedBytes, limit: account.bytesMax });
    }
    if (strangers !== undefined && strangers.usedBytes >= this.#strangerBytesMax) {
      const quota = { kind: 'stranger_bytes', used: strangers.usedBytes, limit: this.#strangerBytesMax };
      const detail =
        'Callers who have no right of their own on this public device have pushed as many datapoints as they may together. Its owner goes on, and can share it with you.';
      return new Refusal('quota', detail, { quota });
    }
    return account.dayMax === Number.POSITIVE_INFINITY ? undefined : this.#dailyRefusal(account);
  }

  /** Refuses an address of guests, or a stranger of the device, that has more than is left for the others. */
  #shareRefusal(
    { account, strangers }: Pick<PushCharge, 'account' | 'strangers'>,
    caller: Caller,
  ): Refusal | undefined {
    const { usedBytes: used, bytesMax: limit } = account;
    const isTaking = account.isShared && caller.ofGuest !== undefined && used < limit && used > limit / 2;
    if (isTaking && heldOf(caller.ofGuest?.on(this.#today(), 'datapoint_bytes') ?? 0, used) > limit - used) {
      return shareRefusal('datapoint_bytes', used, limit);
    }
    if (strangers === undefined || strangers.takenBy(caller) <= this.#strangerBytesMax - strangers.usedBytes) return;
    this.#startNewDay();
    if (strangers.usedBytes >= this.#strangerBytesMax || strangers.takenBy(caller) === 0) return;
    const detail =
      'You have your share of what callers who have no right of their own on this public device may push. Its owner goes on, and can share it with you.';
    const quota = { kind: 'stranger_bytes', used: strangers.usedBytes, limit: this.#strangerBytesMax };
    return new Refusal('quota', detail, { quota });
  }

  /** Resets the shares of strangers on a new day. */
  #startNewDay(): void {
    const day = this.#today();
    if (this.#day === day) return;
    this.#day = day;
    for (const [, allowance] of this.#allowances.entries()) allowance.forget();
  }

  /** Reloads the limits of a user after an admin has changed them; resolves when they hold. */
  async refresh(user: UserKey): Promise<void> {
    const account = this.#accounts.get(user);
    if (account !== undefined) await this.#load(user, account);
  }

  /** Reloads the limits of all users that are counted, one after the other, because any may have changed. */
  async refreshAll(): Promise<void> {
    const users = [...this.#accounts.entries()].map(([user]) => user);
    for (const user of users) await this.refresh(user);
  }

  /** Stores all amounts that are counted so far. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const due = this.#due;
    this.#due = [];
    // What is being read must not have in it what is written now: it would count twice.
    this.#writing = this.#writing.then(() => Promise.all(this.#loading)).then(() => this.#write(due));
    await this.#writing;
  }

  #noteDue(charge: PushCharge): void {
    this.#due.push(charge);
    if (this.#due.length >= limits.chargesDueMax) void this.flush();
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.flush(), limits.chargesWrittenMs);
    this.#timer.unref();
  }

  async #write(due: readonly PushCharge[]): Promise<void> {
    this.#startNewDay();
    const day = this.#today();
    const users = new Set<UserKey>();
    for (let from = 0; from < due.length; from += limits.chargesWrittenMax) {
      const some = due.slice(from, from + limits.chargesWrittenMax).map((charge) => charge.take());
      for (const { user } of some) users.add(user);
      try {
        await this.#store.addCharges(some, day);
      } catch (error) {
        // The amounts stay counted in memory until the next start.
        this.#log.warn({ err: error }, 'what was pushed could not be counted for quotas');
      }
    }
    // Loads the totals again: retention and removals may have decreased them, and other processes have added to them.
    for (const user of users) {
      const account = this.#accounts.get(user);
      if (account !== undefined && isBounded(account)) await this.#load(user, account);
    }
  }

  #accountOf({ key: user, guest }: Actor): PushAccount {
    let account = this.#accounts.get(user);
    if (account === undefined) {
      account = new PushAccount({ isShared: guest });
      this.#accounts.set(user, account);
      void this.#load(user, account);
    }
    return account;
  }

  async #load(user: UserKey, account: PushAccount): Promise<void> {
    const loaded = this.#read(user, account);
    this.#loading.add(loaded);
    await loaded;
    this.#loading.delete(loaded);
  }

  async #read(user: UserKey, account: PushAccount): Promise<void> {
    account.loads += 1;
    const { loads } = account;
    const before = account.usedBytes;
    const beforeDay = account.dayDatapoints;
    const report = await this.#store.find(user).catch(() => undefined);
    // A later look may have its answer earlier.
    if (report === undefined || account.loads !== loads) return;
    const { datapoint_bytes: bytes, datapoints_per_day: daily } = report;
    account.usedBytes = bytes.used + (account.usedBytes - before);
    account.bytesMax = bytes.limit ?? Number.POSITIVE_INFINITY;
    account.day = this.#today();
    account.dayDatapoints = daily.used + (account.dayDatapoints - beforeDay);
    account.dayMax = daily.limit ?? Number.POSITIVE_INFINITY;
  }

  #allowanceOf(device: DeviceKey): StrangerAllowance {
    const known = this.#allowances.get(device);
    if (known !== undefined) return known;
    const allowance = new StrangerAllowance();
    this.#allowances.set(device, allowance);
    this.#store.strangerBytesOf(device).then(
      (bytes) => {
        allowance.usedBytes += bytes;
      },
      () => this.#allowances.delete(device),
    );
    return allowance;
  }

  #dailyRefusal(account: PushAccount): Refusal | undefined {
    const day = this.#today();
    if (account.day !== day) {
      account.day = day;
      account.dayDatapoints = 0;
    }
    if (account.dayDatapoints < account.dayMax) return undefined;
    const retryAfterS = Math.ceil(((day + 1) * dayMs - this.#clock.now()) / 1000);
    const detail = `${account.dayMax} datapoints may be pushed a day (UTC), and have been today.`;
    return new Refusal('too-many', detail, { retryAfterS });
  }

  #today(): number {
    return Math.floor(this.#clock.now() / dayMs);
  }
}

function isBounded({ bytesMax, dayMax }: PushAccount): boolean {
  return bytesMax !== Number.POSITIVE_INFINITY || dayMax !== Number.POSITIVE_INFINITY;
}
