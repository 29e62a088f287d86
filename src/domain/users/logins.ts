// Checks username and password for HTTP and MQTT. A verified login is cached for a while, because clients in the
// field fetch a token before each call. Repeated failures are slowed down, counted over all processes. Both are
// bounded.
import { createHmac } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import { hasCharsMax } from '../../base/text/text-length.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Callers } from '../callers/callers.ts';
import type { CountKey, SharedCounts } from '../ports/shared-counts.ts';
import type { Passwords } from './passwords.ts';
import type { User } from './user.ts';
import type { Users } from './users.ts';

export class Logins {
  readonly #users: Users;
  readonly #passwords: Passwords;
  readonly #callers: Callers;
  readonly #clock: Clock;
  /** Random for each process, so that the cached HMACs are useless outside it. */
  readonly #key: Uint8Array;
  /** By HMAC of name, password and password hash: until when the login counts as verified, by the monotonic clock. */
  readonly #remembered = new LruCache<string, number>({ weightMax: limits.loginsRememberedMax });
  /** The same in every process, so that all of them count failures under the same key. */
  readonly #countingKey: Uint8Array;
  readonly #counts: SharedCounts;

  constructor(parts: {
    readonly users: Users;
    readonly passwords: Passwords;
    readonly callers: Callers;
    readonly clock: Clock;
    readonly ids: Ids;
    /** A stored key that is the same in all processes. */
    readonly rotationKey: Uint8Array;
    readonly counts: SharedCounts;
  }) {
    this.#users = parts.users;
    this.#passwords = parts.passwords;
    this.#callers = parts.callers;
    this.#clock = parts.clock;
    this.#key = parts.ids.bytes(32);
    this.#countingKey = createHmac('sha256', parts.rotationKey).update('failed logins').digest();
    this.#counts = parts.counts;
  }

  /**
   * The user, when the password is right.
   * @param login `isGone`: whether nobody waits for the outcome any more.
   * @throws Refusal `malformed` for what is longer than any name or password, `unauthenticated`, `too-many` after repeated
   * failures, `busy` when too many are being checked.
   */
  async verify(login: {
    readonly username: string;
    readonly password: string;
    readonly address: string;
    readonly isGone?: (() => boolean) | undefined;
  }): Promise<User> {
    // Checked before anything is looked up, hashed or cached.
    assertLength(login.username, 'username', limits.knownUsernameCharsMax);
    assertLength(login.password, 'password', limits.knownPasswordCharsMax);
    const user = await this.#users.findByName(login.username);
    // Includes the password hash, so that the cache never accepts a changed password or a removed user.
    const memory = hmacOf(this.#key, login.username, login.password, user?.passwordHash ?? '');
    if (user !== undefined && this.#isRemembered(memory)) return user;
    // An HMAC, because these texts are of any length.
    const origin = { kind: 'failed-logins', key: hmacOf(this.#countingKey, login.username, login.address) } as const;
    await this.#assertNotSlowed(origin);
    const asker = { caller: this.#callers.ofAddress(login.address), isGone: login.isGone };
    return this.#passwords.inTurn(asker, async () => {
      // Another attempt with the same login may have succeeded while this one waited: then it needs no hash of its own. A
      // failure is not shared: it would tell that somebody else has tried the same wrong password (decision 32).
      if (user !== undefined && this.#isRemembered(memory)) return user;
      await this.#assertNotSlowed(origin);
      const right = await this.#passwords.verify(login.password, user?.passwordHash);
      // Other attempts may have failed meanwhile.
      await this.#assertNotSlowed(origin);
      if (!right || user === undefined) {
        await this.#counts.add(origin, { forgetAfterMs: limits.loginFailureForgetMs });
        throw new Refusal('unauthenticated', 'The username or the password is wrong.');
      }
      await this.#counts.remove(origin);
      this.#remembered.set(memory, this.#clock.elapsedMs() + limits.loginRememberedMs);
      return user;
    });
  }

  #isRemembered(memory: string): boolean {
    return (this.#remembered.get(memory) ?? 0) > this.#clock.elapsedMs();
  }

  async #assertNotSlowed(origin: CountKey): Promise<void> {
    const failures = await this.#counts.find(origin);
    if (failures === undefined || failures.count < limits.loginFailuresMax) return;
    const waitMs = Math.min(1000 * 2 ** (failures.count - limits.loginFailuresMax), limits.loginFailureForgetMs);
    const leftMs = failures.lastMs + waitMs - this.#clock.now();
    if (leftMs <= 0) return;
    const retryAfterS = Math.ceil(leftMs / 1000);
    throw new Refusal('too-many', `Too many failed sign-ins for this name from here. Try again in ${retryAfterS} s.`, {
      retryAfterS,
    });
  }
}

/** A key of fixed length that reveals nothing of the texts. */
function hmacOf(key: Uint8Array, ...texts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(texts)).digest('base64');
}

function assertLength(text: string, field: string, charsMax: number): void {
  if (hasCharsMax(text, charsMax)) return;
  const detail = `must have at most ${charsMax} characters`;
  throw new Refusal('malformed', `/${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}
