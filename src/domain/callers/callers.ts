// Knows every caller that was seen lately, so that a user or an address is one caller at all doors. Asked when somebody
// signs in or connects, never on the hot path. Keeps true: a caller that holds something is never forgotten.
import { canonicalAddress } from '../../base/network/addresses.ts';
import { limits } from '../../config/limits.ts';
import { Caller } from './caller.ts';

/** Callers looked at to find one that holds nothing, each time there are too many. */
const forgottenTries = 4;

export class Callers {
  /** The one asked for longest ago comes first. */
  readonly #byKey = new Map<string, Caller>();
  readonly #max: number;

  constructor(options: { readonly max: number } = { max: limits.callersMax }) {
    this.#max = options.max;
  }

  get size(): number {
    return this.#byKey.size;
  }

  ofUser(user: { readonly id: string }): Caller {
    return this.#of(user.id);
  }

  /** @param address as the socket or a trusted proxy tells it. */
  ofAddress(address: string | undefined): Caller {
    return this.#of(`address ${canonicalAddress(address)}`);
  }

  #of(key: string): Caller {
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      this.#byKey.delete(key);
      this.#byKey.set(key, known);
      return known;
    }
    const caller = new Caller(key);
    this.#byKey.set(key, caller);
    this.#forgetOldest();
    return caller;
  }

  /** More than `max` are known only while that many hold something, which is bounded by what there is to hold. */
  #forgetOldest(): void {
    for (let tries = forgottenTries; tries > 0 && this.#byKey.size > this.#max; tries--) {
      const [oldest] = this.#byKey.values();
      if (oldest === undefined) return;
      this.#byKey.delete(oldest.key);
      if (oldest.isHolding) this.#byKey.set(oldest.key, oldest);
    }
  }
}
