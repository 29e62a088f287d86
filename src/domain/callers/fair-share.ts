// Shares out one scarce thing among callers: places in a queue, bytes of memory, connections. Every part of the service
// that has such a thing asks here before it gives some of it to a caller. Keeps true: one caller alone may hold about
// `aloneMax`; whoever takes much, something stays free for those who hold little; what is held is counted exactly.
import { type Caller, resourceIndex, type SharedResource } from './caller.ts';

/**
 * A caller may hold a fixed multiple of what is free (dynamic thresholds, Choudhury and Hahne 1998). So nobody is limited
 * while there is room; n callers that take all they get hold the same each, and leave free a part of one such share.
 */
export class FairShare {
  readonly #slot: number;
  readonly #capacity: number;
  readonly #multiple: number;
  readonly #within: FairShare | undefined;
  #held = 0;

  /**
   * @param bounds what one caller may hold alone, and what is kept beyond that for the others; `within`: a larger whole from
   * which this is taken too, and which other things are taken from.
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

  /** What all callers hold together. */
  get held(): number {
    return this.#held;
  }

  /** What all callers may hold together. */
  get capacity(): number {
    return this.#capacity;
  }

  heldBy(caller: Caller): number {
    return caller.held[this.#slot] as number;
  }

  /** Whether the caller may have so much more. */
  allows(caller: Caller, amount: number): boolean {
    const free = this.#capacity - this.#held;
    const isAllowed = amount <= free && (caller.held[this.#slot] as number) + amount <= free * this.#multiple;
    return isAllowed && (this.#within === undefined || this.#within.allows(caller, amount));
  }

  /** Gives the caller so much, if its share allows it. */
  take(caller: Caller, amount: number): boolean {
    if (!this.allows(caller, amount)) return false;
    this.force(caller, amount);
    return true;
  }

  /** Gives the caller so much whatever its share is: for what cannot be refused, and is bounded elsewhere. */
  force(caller: Caller, amount: number): void {
    (caller.held[this.#slot] as number) += amount;
    this.#held += amount;
    this.#within?.force(caller, amount);
  }

  /** Takes back what the caller was given. */
  giveBack(caller: Caller, amount: number): void {
    (caller.held[this.#slot] as number) -= amount;
    this.#held -= amount;
    this.#within?.giveBack(caller, amount);
  }
}
