// Renewal sessions (contract 2): a secret in a cookie that is good for getting new tokens and for nothing else. Only
// its hash is kept; a new password ends all of a user's. Bounded a user: the oldest gives way.
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { User, UserKey } from './user.ts';
import type { Users } from './users.ts';

export interface Renewal {
  readonly user: UserKey;
  readonly passwordVersion: number;
  /** Milliseconds since 1970 UTC. */
  readonly expiresMs: number;
}

export interface RenewalStore {
  find(hash: string): Promise<Renewal | undefined>;
  /** Adds one, and removes the user's oldest beyond `max` and all that expired before `nowMs`. */
  create(hash: string, renewal: Renewal, bounds: { readonly max: number; readonly nowMs: number }): Promise<void>;
  setExpires(hash: string, expiresMs: number): Promise<void>;
  remove(hash: string): Promise<void>;
}

const secretBytes = 32;

export class Renewals {
  readonly #store: RenewalStore;
  readonly #users: Users;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(parts: {
    readonly store: RenewalStore;
    readonly users: Users;
    readonly clock: Clock;
    readonly ids: Ids;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
  }

  /** Begins a session of a user who has just signed in; the secret by which it is renewed. */
  async begin(user: User): Promise<string> {
    const secret = Buffer.from(this.#ids.bytes(secretBytes)).toString('base64url');
    const nowMs = this.#clock.now();
    const { key, passwordVersion } = user;
    const renewal = { user: key, passwordVersion, expiresMs: nowMs + limits.renewalIdleMs };
    await this.#store.create(hashOf(secret), renewal, { max: limits.renewalsPerUserMax, nowMs });
    return secret;
  }

  /**
   * Whose session it is, as of now. `isMoved` says that its end was put off.
   * @throws Refusal `unauthenticated` when it is over or never was.
   */
  async renew(secret: string): Promise<{ readonly user: User; readonly isMoved: boolean }> {
    const hash = hashOf(secret);
    const nowMs = this.#clock.now();
    const renewal = await this.#store.find(hash);
    const user = renewal && (await this.#users.findByKey(renewal.user));
    const isGood = user?.passwordVersion === renewal?.passwordVersion && (renewal?.expiresMs ?? 0) > nowMs;
    if (user === undefined || renewal === undefined || !isGood) {
      throw new Refusal('unauthenticated', 'The session is over. Sign in with username and password.');
    }
    const expiresMs = nowMs + limits.renewalIdleMs;
    const isMoved = expiresMs - renewal.expiresMs >= limits.renewalMovedMs;
    if (isMoved) await this.#store.setExpires(hash, expiresMs);
    return { user, isMoved };
  }

  /** Ends the session; one that is over, or never was, is ended already. */
  async end(secret: string): Promise<void> {
    await this.#store.remove(hashOf(secret));
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
