// The keys that sign tokens: the present one and, while valid, the former one (`dundun secret rotate token`). Read from
// the store at most once a second when a token is issued or verified, so that a rotation beside the running server is
// noticed. `good()` returns the same object while the valid keys stay the same.
import { createHash } from 'node:crypto';
import type { RotatedSecret } from '../../base/rotated-secret.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';

export interface TokenKey {
  /** In the header of each token that the key has signed. */
  readonly kid: string;
  readonly secret: Uint8Array;
}

export interface ValidTokenKeys {
  /** The present one comes first. */
  readonly all: readonly TokenKey[];
  readonly present: TokenKey;
}

export class TokenKeys {
  readonly #find: () => Promise<RotatedSecret>;
  readonly #clock: Clock;
  #good: ValidTokenKeys | undefined;
  /** By the monotonic clock. */
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<ValidTokenKeys> | undefined;

  constructor(parts: { readonly find: () => Promise<RotatedSecret>; readonly clock: Clock }) {
    this.#find = parts.find;
    this.#clock = parts.clock;
  }

  async good(): Promise<ValidTokenKeys> {
    if (this.#good !== undefined && this.#clock.elapsedMs() < this.#freshUntilMs) return this.#good;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<ValidTokenKeys> {
    const nowMs = this.#clock.now();
    const { present, former } = await this.#find();
    // One that is said to be good for longer than any overlap was rotated while the clock was ahead.
    const formerLeftMs = former === undefined ? 0 : former.goodUntilMs - nowMs;
    const isFormerGood = former !== undefined && formerLeftMs > 0 && formerLeftMs <= formerMsMax;
    const good = goodKeys(present, isFormerGood ? former.value : undefined);
    if (this.#good === undefined || !isSame(this.#good, good)) this.#good = good;
    const freshMs = isFormerGood ? Math.min(limits.userFreshMs, formerLeftMs) : limits.userFreshMs;
    this.#freshUntilMs = this.#clock.elapsedMs() + freshMs;
    return this.#good;
  }
}

const formerMsMax = limits.tokenKeyOverlapMsMax + limits.clockDifferenceMsMax;

function goodKeys(presentSecret: Uint8Array, formerSecret: Uint8Array | undefined): ValidTokenKeys {
  const present = keyOf(presentSecret);
  return { present, all: formerSecret === undefined ? [present] : [present, keyOf(formerSecret)] };
}

/** The kid reveals nothing of the secret, which has 32 random bytes. */
function keyOf(secret: Uint8Array): TokenKey {
  return { secret, kid: createHash('sha256').update('kid').update(secret).digest('base64url').slice(0, 11) };
}

function isSame(some: ValidTokenKeys, others: ValidTokenKeys): boolean {
  return some.all.map(({ kid }) => kid).join() === others.all.map(({ kid }) => kid).join();
}
