// Shares guest's quotas among addresses, so that one address cannot use up what others need: an address may have as
// much as is then left for the others, so a single one gets half. Asked before guests create something or begin a
// stored session; push-charges.ts applies the same rule to datapoints. The store refuses what exceeds the whole quota
// (triggers of migration 0017).

import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type GuestQuotaKind, GuestUsage } from '../callers/guest-usage.ts';
import type { Actor } from '../users/user.ts';
import type { QuotaStore } from './quota-store.ts';

const dayMs = 86_400_000;

export type GuestAmounts = { readonly [K in GuestQuotaKind]?: number };

export class GuestShares {
  readonly #store: QuotaStore;
  readonly #clock: Clock;
  /** Amounts of work in progress, so that concurrent requests cannot exceed the share together. */
  readonly #pending = new Map<GuestQuotaKind, number>();
  /** Amounts of all work that was done since the start. */
  readonly #done = new Map<GuestQuotaKind, number>();

  constructor(parts: { readonly store: QuotaStore; readonly clock: Clock }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  /**
   * Runs work that takes these amounts of guest's quotas. For signed-in users nothing is counted.
   * @throws Refusal `quota` where the address has used up its share.
   */
  async take<T>(actor: Actor, amounts: GuestAmounts, work: () => Promise<T>): Promise<T> {
    const taken = actor.guest ? (Object.entries(amounts) as [GuestQuotaKind, number][]).filter(([, n]) => n > 0) : [];
    if (taken.length === 0) return work();
    // What is done while the store is asked may not be in its answer.
    const doneBefore = new Map(this.#done);
    const report = await this.#store.find(actor.key);
    const day = Math.floor(this.#clock.now() / dayMs);
    const { caller } = actor;
    caller.ofGuest ??= new GuestUsage();
    const usage = caller.ofGuest;
    for (const [kind, amount] of taken) {
      const { used: stored = 0, limit = undefined } = report?.[kind] ?? {};
      if (limit === undefined) continue;
      const doneMeanwhile = (this.#done.get(kind) ?? 0) - (doneBefore.get(kind) ?? 0);
      const used = stored + (this.#pending.get(kind) ?? 0) + doneMeanwhile;
      const held = heldOf(usage.on(day, kind), used);
      const isWhole = stored + amount > limit;
      if (!isWhole && held + amount > limit - used - amount + 1) throw shareRefusal(kind, used, limit);
    }
    for (const [kind, amount] of taken) {
      usage.add(day, kind, amount);
      add(this.#pending, kind, amount);
    }
    try {
      const result = await work();
      for (const [kind, amount] of taken) add(this.#done, kind, amount);
      return result;
    } catch (error) {
      for (const [kind, amount] of taken) usage.add(day, kind, -amount);
      throw error;
    } finally {
      for (const [kind, amount] of taken) add(this.#pending, kind, -amount);
    }
  }

  /**
   * Counts an amount where the caller of this function knows the present total, such as bytes of retained messages.
   * @returns false where the address has used up its share; then nothing is counted.
   */
  takeOf(
    { guest, caller }: Actor,
    kind: GuestQuotaKind,
    { amount, used, limit }: { readonly amount: number; readonly used: number; readonly limit: number },
  ): boolean {
    if (!guest || amount === 0) return true;
    const day = Math.floor(this.#clock.now() / dayMs);
    caller.ofGuest ??= new GuestUsage();
    const held = heldOf(caller.ofGuest.on(day, kind), used);
    if (amount > 0 && held + amount > limit - used - amount) return false;
    caller.ofGuest.add(day, kind, Math.max(held + amount, 0) - caller.ofGuest.on(day, kind));
    return true;
  }

  /**
   * Gives amounts back after a guest has removed something, so that creating and removing all day long uses up
   * nothing.
   */
  release(actor: Actor, amounts: GuestAmounts): void {
    const usage = actor.guest ? actor.caller.ofGuest : undefined;
    if (usage === undefined) return;
    const day = Math.floor(this.#clock.now() / dayMs);
    for (const [kind, amount] of Object.entries(amounts) as [GuestQuotaKind, number][]) {
      usage.add(day, kind, -Math.min(amount, usage.on(day, kind)));
    }
  }
}

function add(amounts: Map<GuestQuotaKind, number>, kind: GuestQuotaKind, amount: number): void {
  amounts.set(kind, (amounts.get(kind) ?? 0) + amount);
}

/** What an address has at most: what it has taken today, but no more than all guests together use now. */
export function heldOf(taken: number, used: number): number {
  return Math.max(0, Math.min(taken, used));
}

/** The refusal for an address that has used up its share. */
export function shareRefusal(kind: string, used: number, limit: number): Refusal {
  const detail =
    'Callers from your address have their share of what all callers without an account may have together. Sign in, remove something, or try again tomorrow (UTC).';
  return new Refusal('quota', detail, { quota: { kind, used, limit } });
}
