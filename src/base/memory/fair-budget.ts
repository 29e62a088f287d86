// Shares an amount among holders: each may have as much as is then still free, so one alone gets half, two get a third
// each, and something is always left for the next. For things that are held for long and cannot be taken back. The sum
// never exceeds the whole; a holder with nothing is dropped.
import type { MemoryPool, PoolMember } from './memory-pool.ts';

export class FairBudget<Holder> implements PoolMember {
  readonly #whole: number;
  readonly #multiple: number;
  readonly #pool: MemoryPool | undefined;
  readonly #held = new Map<Holder, number>();
  #taken = 0;

  /**
   * @param options `multiple`: how many times the free amount a holder may have; with 3, a single holder may have
   * three quarters of the whole. `pool`: the memory pool that this budget belongs to.
   */
  constructor(whole: number, { multiple = 1, pool }: { readonly multiple?: number; readonly pool?: MemoryPool } = {}) {
    this.#whole = whole;
    this.#multiple = multiple;
    this.#pool = pool;
    pool?.join(this);
  }

  /** The amount taken, which a pool counts as memory. */
  get weight(): number {
    return this.#taken;
  }

  get weightMax(): number {
    return this.#whole;
  }

  /** The total taken by all holders. */
  get taken(): number {
    return this.#taken;
  }

  /** The amount that this holder has. */
  heldBy(holder: Holder): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Whether the holder's share allows the amount in addition. */
  hasCapacityFor(holder: Holder, amount: number): boolean {
    const free = this.#whole - this.#taken;
    return amount <= free && this.heldBy(holder) + amount <= (free - amount) * this.#multiple;
  }

  /** Takes the amount if the holder's share allows it. */
  take(holder: Holder, amount: number): boolean {
    if (!this.hasCapacityFor(holder, amount)) return false;
    this.count(holder, amount);
    return true;
  }

  /** Adds an amount that the holder has in any case, even beyond its share. */
  count(holder: Holder, amount: number): void {
    this.#taken += amount;
    this.#held.set(holder, this.heldBy(holder) + amount);
    this.#pool?.makeRoom(amount);
  }

  /** Gives back an amount; more than the holder has counts as all of it. */
  release(holder: Holder, amount: number): void {
    const held = this.heldBy(holder);
    const back = Math.min(amount, held);
    this.#taken -= back;
    if (held > back) this.#held.set(holder, held - back);
    else this.#held.delete(holder);
  }
}
