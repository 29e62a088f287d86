// Whether this process can rely on what it has in memory. A change by another server is acknowledged when this one has applied it, or was
// declared dead, which nobody may do for some time after each of its signs of life. So what it has in memory holds until then; by the
// monotonic clock, which runs on while the process is stopped. Datapoints of others it must have looked for a moment ago.
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Standing } from '../../../domain/ports/coordination.ts';
import type { Membership } from './membership.ts';

/** What has the datapoints of other servers. */
interface Followed {
  /** When all of them were known last, by the monotonic clock. */
  readonly freshMs: number;
  /** Reads all there are now. */
  follow(): Promise<void>;
}

export class PostgresStanding implements Standing {
  readonly #membership: Pick<Membership, 'isAlone' | 'isSure' | 'makeSure' | 'foreseeSilence'>;
  #following: Followed = { freshMs: Number.POSITIVE_INFINITY, follow: async () => {} };
  #looking: Promise<void> | undefined;

  constructor(membership: Pick<Membership, 'isAlone' | 'isSure' | 'makeSure' | 'foreseeSilence'>) {
    this.#membership = membership;
  }

  /** The log is open. */
  set following(following: Followed) {
    this.#following = following;
  }

  get isSure(): boolean {
    return this.#membership.isSure && (this.#membership.isAlone || this.#isFresh);
  }

  async makeSure(): Promise<void> {
    if (this.isSure) return;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
    if (this.isSure) return;
    throw new Refusal('storage', 'This server does not know what others have changed. Send the request again later.', {
      retryAfterS: limits.storageRetryAfterS,
    });
  }

  foreseeSilence(ms: number): Promise<void> {
    return this.#membership.foreseeSilence(ms);
  }

  get #isFresh(): boolean {
    return this.#following.freshMs > performance.now() - limits.freshMsMax;
  }

  async #look(): Promise<void> {
    const sure = this.#membership.makeSure();
    const fresh = this.#membership.isAlone || this.#isFresh ? undefined : this.#following.follow();
    const looked = Promise.all([sure, fresh]).catch(() => {});
    await Promise.race([looked, delay(limits.freshLookMsMax, undefined, { ref: false })]);
  }
}
