// Finds the caller of a user or an address, so that HTTP and MQTT use the same one. Asked when somebody signs in or
// connects, never on the hot path. A caller that holds something is never dropped.
import { canonicalAddress } from '../../base/network/addresses.ts';
import { limits } from '../../config/limits.ts';
import { addressKeyPrefix, Caller } from './caller.ts';

/** Callers examined to find one that holds nothing, when there are too many. */
const forgottenTries = 4;

export class Callers {
  /** In order of use; the least recently used first. */
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

  /** @param address the client's address, from the socket or from a trusted proxy. */
  ofAddress(address: string | undefined): Caller {
    return this.#of(`${addressKeyPrefix}${canonicalAddress(address)}`);
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

  /**
   * Drops the least recently used callers beyond `max`. More than `max` remain only while that many hold something,
   * which other bounds limit.
   */
  #forgetOldest(): void {
    for (let tries = forgottenTries; tries > 0 && this.#byKey.size > this.#max; tries--) {
      const [oldest] = this.#byKey.values();
      if (oldest === undefined) return;
      this.#byKey.delete(oldest.key);
      if (oldest.isHolding) this.#byKey.set(oldest.key, oldest);
    }
  }
}
