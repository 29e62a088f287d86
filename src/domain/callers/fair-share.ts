// Shares one scarce thing among callers: places in queues, bytes of memory, connections. Asked before a caller gets
// some of it. A single caller may hold about `aloneMax`; however much some callers take, a part stays free for
// callers that hold little. Amounts are counted exactly.
import { type Caller, resourceIndex, type SharedResource } from './caller.ts';

/**
 * A caller may hold a fixed multiple of what is free (dynamic thresholds, Choudhury and Hahne 1998). So nobody is
 * limited while enough is free. n callers that take all they may hold equal shares, and a fraction of such a share
 * stays free.
 */
export class FairShare {
  readonly #slot: number;
  readonly #capacity: number;
  readonly #multiple: number;
  readonly #within: FairShare | undefined;
  #held = 0;

  /**
   * @param bounds `aloneMax`: what a single caller may hold; `reserve`: what stays free for others beyond that;
   * `within`: a larger budget that this one takes from as well.
   */
  constructor(
    thing: SharedResource,
    bounds: { readonly aloneMax: number; readonly reserve: number; readonly within?: FairShare | undefined },
  ) {
    this.#slot = resourceIndex(thing);
    this.#capacity = bounds.aloneMax + bounds.reserve;
    this.#multiple = bounds.aloneMax / bounds.reserve;
    this.#within = bounds.within;
  }

  /** The total held by all callers. */
  get held(): number {
    return this.#held;
  }

  /** The most that all callers may hold. */
  get capacity(): number {
    return this.#capacity;
  }

  heldBy(caller: Caller): number {
    return caller.held[this.#slot] as number;
  }

  /** Whether the caller may have this amount in addition. */
  allows(caller: Caller, amount: number): boolean {
    const free = this.#capacity - this.#held;
    const isAllowed = amount <= free && (caller.held[this.#slot] as number) + amount <= free * this.#multiple;
    return isAllowed && (this.#within === undefined || this.#within.allows(caller, amount));
  }

  /** Whether the caller holds less than its share would be if one caller alone could have `aloneMax`. */
  isBelow(caller: Caller, aloneMax: number): boolean {
    const free = aloneMax + aloneMax / this.#multiple - this.#held;
    return (caller.held[this.#slot] as number) < free * this.#multiple;
  }

  /** Reserves the amount if the caller's share allows it. */
  take(caller: Caller, amount: number): boolean {
    if (!this.allows(caller, amount)) return false;
    this.force(caller, amount);
    return true;
  }

  /**
   * Reserves the amount even beyond the caller's share: for things that cannot be refused and are bounded elsewhere.
   */
  force(caller: Caller, amount: number): void {
    (caller.held[this.#slot] as number) += amount;
    this.#held += amount;
    this.#within?.force(caller, amount);
  }

  /** Returns an amount that was taken or forced. */
  release(caller: Caller, amount: number): void {
    (caller.held[this.#slot] as number) -= amount;
    this.#held -= amount;
    this.#within?.release(caller, amount);
  }
}
