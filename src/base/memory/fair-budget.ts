// Shares out a scarce thing among holders: each may have as much as is still free, so that one alone gets half of it, two
// get a third each, and there is always something left for the next. Used where what is taken is held for long and cannot
// be taken back. Keeps true: the sum of what was taken never exceeds the whole, and a holder without anything is forgotten.
import type { MemoryPool, PoolMember } from './memory-pool.ts';

export class FairBudget<Holder> implements PoolMember {
  readonly #whole: number;
  readonly #multiple: number;
  readonly #pool: MemoryPool | undefined;
  readonly #held = new Map<Holder, number>();
  #taken = 0;

  /**
   * @param options `multiple`: how many times what is free a holder may have; 3 lets one alone have three quarters. `pool`: the
   * memory that it is part of.
   */
  constructor(whole: number, { multiple = 1, pool }: { readonly multiple?: number; readonly pool?: MemoryPool } = {}) {
    this.#whole = whole;
    this.#multiple = multiple;
    this.#pool = pool;
    pool?.join(this);
  }

  /** The same, where it is memory of a pool. */
  get weight(): number {
    return this.#taken;
  }

  get weightMax(): number {
    return this.#whole;
  }

  /** What all holders have together. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(holder: Holder): number {
    return this.#held.get(holder) ?? 0;
  }

  hasCapacityFor(holder: Holder, amount: number): boolean {
    const free = this.#whole - this.#taken;
    return amount <= free && this.heldBy(holder) + amount <= (free - amount) * this.#multiple;
  }

  /** Takes the amount for the holder where its share allows that. */
  take(holder: Holder, amount: number): boolean {
    if (!this.hasCapacityFor(holder, amount)) return false;
    this.count(holder, amount);
    return true;
  }

  /** Counts what the holder has already, whatever its share is. */
  count(holder: Holder, amount: number): void {
    this.#taken += amount;
    this.#held.set(holder, this.heldBy(holder) + amount);
    this.#pool?.makeRoom();
  }

  giveBack(holder: Holder, amount: number): void {
    const held = this.heldBy(holder);
    const back = Math.min(amount, held);
    this.#taken -= back;
    if (held > back) this.#held.set(holder, held - back);
    else this.#held.delete(holder);
  }
}
