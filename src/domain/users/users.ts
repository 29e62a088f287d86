// Reading and changing users. Users are cached for a second, because every request needs one. Other server processes
// announce their changes; changes by the command line are seen when the cache entry has expired.

import type { Ids } from '../../base/ids.ts';
import { entryBytes, heapBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import type { Callers } from '../callers/callers.ts';
import { LeavingElsewhere } from '../leaving-elsewhere.ts';
import type { UserNames } from '../ports/announcement.ts';
import type { Announcer } from '../ports/coordination.ts';
import { remembered } from '../remembered.ts';
import type { Passwords } from './passwords.ts';
import {
  type Actor,
  actorOf,
  guestUsername,
  type KeyScopes,
  type User,
  type UserKey,
  type UserProfile,
} from './user.ts';
import type { NewUser, UserQuery, UserStore, UserUpdate } from './user-store.ts';
import { assertUsername } from './username.ts';

interface Cached {
  readonly user: User | undefined;
  /** When it was read, by the monotonic clock. */
  readonly atMs: number;
}

/** A user to be created. Without a password or a hash nobody can sign in as this user. */
export interface UserDraft extends UserProfile {
  readonly username: string;
  readonly admin: boolean;
  readonly password?: string | undefined;
  /** PHC string of argon2id. This and the next two fields are for imported users. */
  readonly passwordHash?: string | undefined;
  readonly id?: string | undefined;
  readonly createdTime?: number | undefined;
}

interface DraftOptions {
  /** Accepts a common password. */
  readonly allowCommon?: boolean | undefined;
}

export class Users {
  readonly #store: UserStore;
  readonly #passwords: Passwords;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #callers: Callers;
  readonly #coordination: Announcer;
  #changes = 0;
  readonly #cache = new LruCache<string, Cached>({
    weightMax: limits.usersCachedBytesMax,
    pool: remembered,
    entriesMax: limits.usersCachedMax,
    weigh: ({ user }, name) => entryBytes + textHeapBytes(name) + heapBytes(user),
  });
  /** Users whose removal by this process is in progress: they are no longer found. */
  readonly #leaving = new Set<UserKey>();
  /** Users whom other processes are removing. */
  readonly #leavingElsewhere = new LeavingElsewhere<UserKey>();

  constructor(parts: {
    readonly store: UserStore;
    readonly passwords: Passwords;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly callers: Callers;
    readonly coordination: Announcer;
  }) {
    this.#store = parts.store;
    this.#passwords = parts.passwords;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#callers = parts.callers;
    this.#coordination = parts.coordination;
  }

  /**
   * Increases with every change of a user that this process learns of, so that caches that depend on users are
   * dropped at once.
   */
  get changes(): number {
    return this.#changes;
  }

  /**
   * The actor for the user, optionally restricted to an API key. Guest gets a caller of its own here, which stands
   * for no address.
   */
  actorOf(user: User, keyScopes?: KeyScopes): Actor {
    return actorOf(user, this.#callers.ofUser(user), keyScopes);
  }

  /** The user, if it is in memory and fresh. */
  peekByName(username: string): User | undefined {
    return this.#peek(`name:${username}`);
  }

  findByKey(key: UserKey): Promise<User | undefined> {
    return this.#find(`key:${key}`, () => this.#store.findByKey(key));
  }

  findById(id: string): Promise<User | undefined> {
    if (id.length > limits.wordCharsMax) return Promise.resolve(undefined);
    return this.#find(`id:${id}`, () => this.#store.findById(id));
  }

  findByName(username: string): Promise<User | undefined> {
    // No username is that long, so it is neither looked up nor cached.
    if (username.length > 2 * limits.knownUsernameCharsMax) return Promise.resolve(undefined);
    return this.#find(`name:${username}`, () => this.#store.findByName(username));
  }

  /** @throws Refusal `not-found` */
  async getByName(username: string): Promise<User> {
    if (username === '') throw new Refusal('malformed', 'Name a user: an empty name is nobody.');
    const user = await this.findByName(username);
    if (user === undefined) throw new Refusal('not-found', `There is no user ${username}.`);
    return user;
  }

  /** @throws Refusal `not-found` */
  async getById(id: string): Promise<User> {
    const user = await this.findById(id);
    if (user === undefined) throw new Refusal('not-found', `There is no user with the id ${id}.`);
    return user;
  }

  list(query: UserQuery): Promise<User[]> {
    return this.#store.list(query);
  }

  /**
   * Checks everything that can be known before a user is created.
   * @throws Refusal `malformed` for a bad name, password or hash, `exists` when the name or id is taken.
   */
  async assertDraft(draft: UserDraft, { allowCommon }: DraftOptions = {}): Promise<void> {
    const { username, password, passwordHash, id } = draft;
    assertUsername(username);
    if (password !== undefined) this.#passwords.assertGood(password, { allowCommon });
    if (passwordHash !== undefined) this.#passwords.assertHash(passwordHash);
    // Checked by name, too, because guest may not exist before the first start, and a user of that name would own
    // what belongs to everybody.
    const isTaken = username === guestUsername || (await this.#store.findByName(username)) !== undefined;
    if (isTaken) throw nameTaken(username);
    if (id !== undefined && (await this.#store.findById(id)) !== undefined) throw idTaken(id);
  }

  /**
   * Creates a user; with `unlikeOthers`, only if no existing name looks like it.
   * @throws Refusal `malformed` for a bad name or password, `exists` when the name or the id is taken.
   */
  async create(
    draft: UserDraft,
    options: DraftOptions & { readonly unlikeOthers?: boolean; readonly caller?: Caller } = {},
  ): Promise<User> {
    await this.assertDraft(draft, options);
    const { password, passwordHash, id, createdTime, ...rest } = draft;
    const hash = password === undefined ? passwordHash : await this.#passwords.hash(password, options.caller);
    return this.#create(
      {
        ...rest,
        ...(hash === undefined ? {} : { passwordHash: hash }),
        id: id ?? this.#ids.uuid(),
        createdTime: createdTime ?? this.#clock.now(),
      },
      options,
    );
  }

  /** Changes profile and admin right; `change` computes both from the stored user. */
  async update(key: UserKey, change: (user: User) => UserUpdate): Promise<void> {
    const user = await this.#store.findByKey(key);
    if (user === undefined) throw new Refusal('not-found', 'The user was removed meanwhile.');
    try {
      await this.#store.update(key, change(user));
    } finally {
      await this.#changed(user);
    }
  }

  /** Runs the removal of a user, who is not found any more from its beginning on. */
  async leave(user: User, removal: () => Promise<void>): Promise<void> {
    const { key, id, username } = user;
    const tell = (isLeaving: boolean) =>
      this.#coordination.announce({ kind: 'user-leaving', user: { key, id, username }, isLeaving });
    this.#leaving.add(key);
    this.forget(user);
    try {
      await tell(true);
      await removal();
    } finally {
      this.#leaving.delete(key);
      this.forget(user);
      await tell(false);
    }
  }

  /** Sets a new password. All earlier tokens and cached logins end, and with `endKeys` also all API keys. */
  async setPassword(
    username: string,
    password: string,
    { caller, endKeys = false }: { readonly caller?: Caller; readonly endKeys?: boolean } = {},
  ): Promise<void> {
    const user = await this.getByName(username);
    if (user.username === guestUsername)
      throw new Refusal('malformed', 'Guest has no password: it stands for callers who do not sign in.');
    const save = (hash: string) => this.#store.setPassword(user.key, hash, { endKeys });
    await this.replacePassword(user, password, { caller, save });
  }

  /** Checks and hashes a new password, and has it saved. @throws Refusal `malformed`, `busy` */
  async replacePassword(
    user: User,
    password: string,
    { caller, save }: { readonly caller: Caller | undefined; readonly save: (hash: string) => Promise<void> },
  ): Promise<void> {
    this.#passwords.assertGood(password);
    const hash = await this.#passwords.hash(password, caller);
    await this.change(user, () => save(hash));
  }

  /** Makes a change of the user's record in the store, which this and all other processes then read anew. */
  async change(user: User, change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } finally {
      await this.#changed(user);
    }
  }

  /** Rotates the key of the user's webhooks; the previous one stays valid for a while (webhook-keys.ts). */
  async rotateWebhookKey(user: User): Promise<User> {
    try {
      await this.#store.rotateWebhookKey(user.key, this.#clock.now());
    } finally {
      await this.#changed(user);
    }
    return this.getById(user.id);
  }

  /**
   * Creates the users of every installation: guest, and an admin where there is none. If several processes start at
   * once, only one creates them.
   */
  async ensureFirst(admin: {
    readonly password: string;
  }): Promise<{ readonly guest: User; readonly adminMade: boolean }> {
    let guest = await this.#store.findByName(guestUsername);
    if (guest === undefined) {
      const made = { id: this.#ids.uuid(), createdTime: this.#clock.now() };
      await unlessExists(this.#create({ ...made, username: guestUsername, admin: false }));
      guest = await this.getByName(guestUsername);
    }
    // The account `admin` may have been removed by another admin. The look-up comes first, because counting starts
    // the search thread, for which the start of the service need not wait.
    const isMissing = (await this.#store.findByName('admin')) === undefined && (await this.#store.countAdmins()) === 0;
    if (!isMissing) return { guest, adminMade: false };
    const draft = { username: 'admin', admin: true, password: admin.password };
    // The operator has chosen the password: a common one causes only a warning, not a failing start.
    return { guest, adminMade: await unlessExists(this.create(draft, { allowCommon: true })) };
  }

  async #create(user: NewUser, options: { readonly unlikeOthers?: boolean } = {}): Promise<User> {
    try {
      // A user may be created with the id of a removed one, whose tokens must not be valid for the new user.
      await this.#store.create({ ...user, passwordVersion: this.#clock.now() }, options);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'exists') throw nameTaken(user.username);
      throw error;
    } finally {
      this.#cache.delete(`name:${user.username}`);
      this.#cache.delete(`id:${user.id}`);
    }
    const created = await this.getByName(user.username);
    // Other processes may have cached for a moment that nobody has this name.
    await this.#announce(created);
    return created;
  }

  /** Follows the removal of a user by another process. */
  followLeaving(user: UserNames, by: { readonly server: string; readonly isLeaving: boolean }): void {
    this.#leavingElsewhere.follow(user.key, by);
    this.forget(user);
  }

  /**
   * Drops all users, because any may have changed: each is read again when it is asked for, as it is after a second.
   * @param present the servers that are there: removals by others have ended.
   */
  forgetAll(present: readonly string[] | undefined): void {
    this.#changes += 1;
    if (present !== undefined) this.#leavingElsewhere.keepOnly(present);
    this.#cache.clear();
  }

  #changed(user: User): Promise<void> {
    this.forget(user);
    return this.#announce(user);
  }

  #announce({ key, id, username }: User): Promise<void> {
    return this.#coordination.announce({ kind: 'user-changed', user: { key, id, username } });
  }

  /** Drops a user who was changed. */
  forget(user: UserNames): void {
    this.#changes += 1;
    for (const name of [`key:${user.key}`, `id:${user.id}`, `name:${user.username}`]) this.#cache.delete(name);
  }

  #peek(name: string): User | undefined {
    const cached = this.#cache.get(name);
    return cached !== undefined && this.#isFresh(cached) ? this.#unlessLeaving(cached.user) : undefined;
  }

  async #find(name: string, load: () => Promise<User | undefined>): Promise<User | undefined> {
    const cached = this.#cache.get(name);
    if (cached !== undefined && this.#isFresh(cached)) return this.#unlessLeaving(cached.user);
    for (;;) {
      const changes = this.#changes;
      const atMs = this.#clock.elapsedMs();
      const user = await load();
      // A change committed during the read may be missing in it: reads again.
      if (changes !== this.#changes) continue;
      this.#cache.set(name, { user, atMs });
      return this.#unlessLeaving(user);
    }
  }

  #unlessLeaving(user: User | undefined): User | undefined {
    if (user === undefined) return undefined;
    return this.#leaving.has(user.key) || this.#leavingElsewhere.has(user.key) ? undefined : user;
  }

  #isFresh(cached: Cached): boolean {
    return this.#clock.elapsedMs() - cached.atMs < limits.userFreshMs;
  }
}

/** Whether this process has created the record; false where another process was first. */
async function unlessExists(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation;
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'exists') return false;
    throw error;
  }
}

function nameTaken(username: string): Refusal {
  return new Refusal('exists', `There is a user ${username} already. Choose another name.`);
}

function idTaken(id: string): Refusal {
  return new Refusal('exists', `There is a user with the id ${id} already.`);
}
