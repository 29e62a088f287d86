// Checks a username and password for every door (token, MQTT). A verified login is remembered for a while, because
// clients in the field fetch a token before each call; repeated failures are slowed down. All of it bounded.
import { createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Passwords } from './passwords.ts';
import type { User } from './user.ts';
import type { Users } from './users.ts';

interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

export class Logins {
  readonly #users: Users;
  readonly #passwords: Passwords;
  readonly #clock: Clock;
  /** Of this process alone, so that what is remembered says nothing outside it. */
  readonly #key: Uint8Array;
  /** HMAC of name, password and password hash → until when it is remembered. */
  readonly #remembered = new LruCache<string, number>({ weightMax: limits.loginsRememberedMax });
  readonly #failures = new LruCache<string, Failures>({ weightMax: limits.loginFailuresTrackedMax });

  constructor(parts: {
    readonly users: Users;
    readonly passwords: Passwords;
    readonly clock: Clock;
    readonly ids: Ids;
  }) {
    this.#users = parts.users;
    this.#passwords = parts.passwords;
    this.#clock = parts.clock;
    this.#key = parts.ids.bytes(32);
  }

  /**
   * The user, when the password is right.
   * @throws Refusal `unauthenticated`, `too-many` after repeated failures, `busy` when too many are being checked.
   */
  async verify(login: {
    readonly username: string;
    readonly password: string;
    readonly address: string;
  }): Promise<User> {
    const user = await this.#users.findByName(login.username);
    // The hash is part of what is remembered: a changed password, or a user who is gone, is never remembered.
    const memory = this.#memoryOf(login, user);
    if (user !== undefined && (this.#remembered.get(memory) ?? 0) > this.#clock.now()) return user;
    const origin = `${login.username}\n${login.address}`;
    this.#assertNotSlowed(origin);
    const right = await this.#passwords.verify(login.password, user?.passwordHash);
    // Others may have failed while this one waited for its turn.
    this.#assertNotSlowed(origin);
    if (!right || user === undefined) {
      this.#countFailure(origin);
      throw new Refusal('unauthenticated', 'The username or the password is wrong.');
    }
    this.#failures.delete(origin);
    this.#remembered.set(memory, this.#clock.now() + limits.loginRememberedMs);
    return user;
  }

  #memoryOf(login: { readonly username: string; readonly password: string }, user: User | undefined): string {
    const parts = [login.username, login.password, user?.passwordHash ?? ''];
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64');
  }

  #assertNotSlowed(origin: string): void {
    const failures = this.#failures.get(origin);
    if (failures === undefined || failures.count < limits.loginFailuresMax) return;
    const waitMs = Math.min(1000 * 2 ** (failures.count - limits.loginFailuresMax), limits.loginFailureForgetMs);
    const leftMs = failures.lastMs + waitMs - this.#clock.now();
    if (leftMs <= 0) return;
    const retryAfterS = Math.ceil(leftMs / 1000);
    throw new Refusal('too-many', `Too many failed sign-ins for this name from here. Try again in ${retryAfterS} s.`, {
      retryAfterS,
    });
  }

  #countFailure(origin: string): void {
    const now = this.#clock.now();
    const before = this.#failures.get(origin);
    const forgotten = before === undefined || now - before.lastMs > limits.loginFailureForgetMs;
    this.#failures.set(origin, { count: forgotten ? 1 : before.count + 1, lastMs: now });
  }
}
