// What one can do with users. Users are held in memory for a moment, because every request asks for one; what
// another process (the command line) changes is seen when that moment has passed.
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Passwords } from './passwords.ts';
import { type Actor, actorOf, guestUsername, type User, type UserProfile } from './user.ts';
import type { UserStore } from './user-store.ts';

interface Cached {
  readonly user: User | undefined;
  readonly atMs: number;
}

export class Users {
  readonly #store: UserStore;
  readonly #passwords: Passwords;
  readonly #clock: Clock;
  readonly #ids: Ids;
  #changes = 0;
  readonly #cache = new LruCache<string, Cached>({ weightMax: limits.usersCachedMax });

  constructor(parts: {
    readonly store: UserStore;
    readonly passwords: Passwords;
    readonly clock: Clock;
    readonly ids: Ids;
  }) {
    this.#store = parts.store;
    this.#passwords = parts.passwords;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
  }

  /** Moves with every change of a user by this process, so that what was concluded from users can be dropped at once. */
  get changes(): number {
    return this.#changes;
  }

  /** The user if it is in memory and fresh. */
  peekByName(username: string): User | undefined {
    return this.#peek(`name:${username}`);
  }

  findById(id: string): Promise<User | undefined> {
    return this.#find(`id:${id}`, () => this.#store.findById(id));
  }

  findByName(username: string): Promise<User | undefined> {
    return this.#find(`name:${username}`, () => this.#store.findByName(username));
  }

  /** @throws Refusal `not-found` */
  async getByName(username: string): Promise<User> {
    if (username === '') throw new Refusal('malformed', 'Name a user: an empty name is nobody.');
    const user = await this.findByName(username);
    if (user === undefined) throw new Refusal('not-found', `There is no user ${username}.`);
    return user;
  }

  list(page: { readonly limit: number; readonly offset: number }): Promise<User[]> {
    return this.#store.list(page);
  }

  /**
   * Makes a user.
   * @throws Refusal `malformed` for a bad name or password, `exists` when the name is taken.
   */
  async create(
    draft: UserProfile & { readonly username: string; readonly password: string; readonly admin: boolean },
  ): Promise<User> {
    const { password, ...rest } = draft;
    assertUsername(draft.username);
    // Also before the first start has made it: who signed in as guest would own what belongs to everybody.
    if (draft.username === guestUsername) throw nameTaken(guestUsername);
    this.#passwords.assertGood(password);
    return this.#create({ ...rest, passwordHash: await this.#passwords.hash(password) });
  }

  /** Sets a new password; every token and remembered login made before is good for nothing then. */
  async setPassword(username: string, password: string): Promise<void> {
    const user = await this.getByName(username);
    if (user.username === guestUsername)
      throw new Refusal('malformed', 'Guest has no password: it stands for callers who do not sign in.');
    this.#passwords.assertGood(password);
    await this.#store.setPassword(user.key, await this.#passwords.hash(password));
    this.#changes += 1;
    this.#cache.delete(`id:${user.id}`);
    this.#cache.delete(`name:${user.username}`);
  }

  /** Makes the users every installation has: guest, and an admin when there is none. */
  async ensureFirst(admin: {
    readonly password: () => string;
  }): Promise<{ readonly guest: Actor; readonly adminMade: boolean }> {
    let guest = await this.#store.findByName(guestUsername);
    if (guest === undefined) guest = await this.#create({ username: guestUsername, admin: false });
    const adminMade = (await this.#store.findByName('admin')) === undefined;
    if (adminMade) await this.create({ username: 'admin', admin: true, password: admin.password() });
    return { guest: actorOf(guest), adminMade };
  }

  async #create(user: UserProfile & { username: string; admin: boolean; passwordHash?: string }): Promise<User> {
    try {
      await this.#store.create({ ...user, id: this.#ids.uuid(), createdTime: this.#clock.now() });
    } catch (error) {
      if (error instanceof Refusal && error.code === 'exists') throw nameTaken(user.username);
      throw error;
    } finally {
      this.#cache.delete(`name:${user.username}`);
    }
    return this.getByName(user.username);
  }

  #peek(name: string): User | undefined {
    const cached = this.#cache.get(name);
    return cached !== undefined && this.#isFresh(cached) ? cached.user : undefined;
  }

  async #find(name: string, load: () => Promise<User | undefined>): Promise<User | undefined> {
    const cached = this.#cache.get(name);
    if (cached !== undefined && this.#isFresh(cached)) return cached.user;
    const atMs = this.#clock.now();
    const user = await load();
    this.#cache.set(name, { user, atMs });
    return user;
  }

  #isFresh(cached: Cached): boolean {
    return this.#clock.now() - cached.atMs < limits.userFreshMs;
  }
}

function nameTaken(username: string): Refusal {
  return new Refusal('exists', `There is a user ${username} already. Choose another name.`);
}

/** 1 to 128 characters without control characters, spaces at the ends, or what a URL or a topic gives a meaning. */
function assertUsername(username: string): void {
  if (/^(?!\s)(?!\.{1,2}$)[^\p{Cc}\p{Cs}/+#?]{1,128}(?<!\s)$/u.test(username)) return;
  throw new Refusal(
    'malformed',
    'A username has 1 to 128 characters, none of / + # ? and no control characters, and is not . or .. alone.',
    { faults: [{ pointer: '/username', detail: 'must have 1 to 128 characters, none of / + # ?' }] },
  );
}
