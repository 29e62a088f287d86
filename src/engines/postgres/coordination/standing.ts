// Whether this process knows all that others have done until a second ago, by the monotonic clock, which runs on while the process is
// stopped. Who reads datapoints is refused where it does not and cannot find out: what it knows may be revoked or removed by now.
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';

/** Something that is followed. */
interface Followed {
  /** When all of it was known last, by the monotonic clock. */
  readonly freshMs: number;
  /** Reads all there is now. */
  follow(): Promise<void>;
}

export class Freshness {
  readonly #isAlone: () => boolean;
  readonly #all: readonly Followed[];

  constructor(parts: { readonly isAlone: () => boolean; readonly all: readonly Followed[] }) {
    this.#isAlone = parts.isAlone;
    this.#all = parts.all;
  }

  /** Looks at once where that was too long ago. @throws Refusal `storage` where nothing is found out in time. */
  async require(): Promise<void> {
    if (this.#isFresh) return;
    const looked = Promise.all(this.#all.map((one) => one.follow())).catch(() => {});
    await Promise.race([looked, delay(limits.freshMsMax, undefined, { ref: false })]);
    if (this.#isFresh) return;
    throw new Refusal('storage', 'This server does not know what others have changed. Send the request again later.', {
      retryAfterS: limits.storageRetryAfterS,
    });
  }

  get #isFresh(): boolean {
    const sinceMs = performance.now() - limits.freshMsMax;
    return this.#isAlone() || this.#all.every(({ freshMs }) => freshMs > sinceMs);
  }
}
