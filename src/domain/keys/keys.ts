// API keys (contract 2). A key is shown once, when it is created; only its hash is stored, so that the stored data
// does not reveal it. Connections and sessions of a key end when the key is revoked.
import { createHash } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { entryBytes, heapBytes } from '../../base/memory/heap-bytes.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Announcer } from '../ports/coordination.ts';
import { remembered } from '../remembered.ts';
import type { SessionRevocations } from '../users/session-revocations.ts';
import type { Actor, KeyScopes, User, UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import { type ApiKey, type KeyDraft, keyScopesOf } from './key.ts';
import type { KeyStore } from './key-store.ts';

/** A sign-in by key: the key's owner, and how the key restricts their rights. */
export interface KeySignIn {
  readonly user: User;
  readonly keyScopes: KeyScopes;
  /** When the key expires, in milliseconds since 1970 UTC; Infinity: never. */
  readonly expiresMs: number;
}

const prefix = 'dundun_';
const secretBytes = 32;
const pattern = new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`);

/** Whether the text has the form of an API key. A token never has it. */
export function isKeyText(text: string): boolean {
  return pattern.test(text);
}

interface CachedKey {
  readonly key: ApiKey;
  /** By the monotonic clock. */
  readonly atMs: number;
}

export class Keys {
  readonly #store: KeyStore;
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #revocations: SessionRevocations;
  readonly #coordination: Announcer;
  readonly #clock: Clock;
  readonly #ids: Ids;
  #changes = 0;
  /** By hash. */
  readonly #known = new LruCache<string, CachedKey>({
    weightMax: limits.keysCachedBytesMax,
    pool: remembered,
    entriesMax: limits.keysCachedMax,
    weigh: ({ key }) => 2 * entryBytes + heapBytes(key),
  });
  /** By key id: when its last use was stored. */
  readonly #usesNoted = new LruCache<string, number>({ weightMax: limits.keysCachedMax });
  #writing: Promise<unknown> = Promise.resolve();

  constructor(parts: {
    readonly store: KeyStore;
    readonly users: Users;
    readonly permissions: Permissions;
    readonly revocations: SessionRevocations;
    readonly coordination: Announcer;
    readonly clock: Clock;
    readonly ids: Ids;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#revocations = parts.revocations;
    this.#coordination = parts.coordination;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
  }

  /** Increases when a key is revoked, so that caches that depend on keys are dropped at once. */
  get changes(): number {
    return this.#changes;
  }

  async list(actor: Actor): Promise<ApiKey[]> {
    this.#requireSignedIn(actor);
    return this.#store.list(actor.key);
  }

  /**
   * Creates a key. Its text is returned only this once.
   * @throws Refusal `forbidden` for a scope that the actor does not have, `quota`.
   */
  async create(actor: Actor, draft: KeyDraft): Promise<{ readonly id: string; readonly key: string }> {
    this.#requireSignedIn(actor);
    if (draft.scopes?.includes('admin') && !actor.admin) {
      throw new Refusal('forbidden', 'Only an admin makes a key that acts as admin.');
    }
    if (draft.scopes?.includes('metrics:view') && !actor.admin) {
      throw new Refusal('forbidden', 'Only an admin makes a key that reads the figures of the service.');
    }
    const nowMs = this.#clock.now();
    if (draft.expiresMs !== undefined && draft.expiresMs <= nowMs) {
      const detail = 'must be in the future';
      throw new Refusal('malformed', `/expires ${detail}.`, { faults: [{ pointer: '/expires', detail }] });
    }
    const key = prefix + Buffer.from(this.#ids.bytes(secretBytes)).toString('base64url');
    const id = this.#ids.uuid();
    const record = { ...draft, id, owner: actor.key, dateCreatedMs: nowMs };
    await this.#store.create(record, { hash: hashOf(key) });
    return { id, key };
  }

  /** The keys of a user; for the user and admins. @throws Refusal `not-found`, `forbidden` */
  async listOf(actor: Actor, userId: string): Promise<ApiKey[]> {
    return this.#store.list((await this.#requireSelfOrAdmin(actor, userId)).key);
  }

  /** Revokes one key of a user, or all; for the user and admins. @throws Refusal `not-found`, `forbidden` */
  async removeOf(actor: Actor, userId: string, id?: string): Promise<void> {
    const user = await this.#requireSelfOrAdmin(actor, userId);
    const key = id === undefined ? undefined : await this.#store.findById(id);
    if (id !== undefined && key?.owner !== user.key) {
      throw new Refusal('not-found', `${user.username} has no key ${id}.`);
    }
    try {
      if (id === undefined) await this.#store.removeAll(user.key);
      else await this.#store.remove(id);
    } finally {
      await this.changed();
    }
    const { username } = user;
    await this.#revocations.announce({
      userKey: user.key,
      userId: user.id,
      username,
      ...(id === undefined ? { keysOnly: true } : { keyId: id }),
    });
  }

  /** Drops the cache here and in other processes, because keys were changed. */
  async changed(): Promise<void> {
    this.forget();
    await this.#coordination.announce({ kind: 'keys-changed' });
  }

  /** Drops the cache, because another process changed keys. */
  forget(): void {
    this.#changes += 1;
    this.#known.clear();
  }

  /** Revokes one of the actor's keys: it is no longer accepted, and connections that use it are cut. */
  async remove(actor: Actor, id: string): Promise<void> {
    this.#requireSignedIn(actor);
    const key = await this.#store.findById(id);
    // A key of another user is reported as unknown.
    if (key === undefined || key.owner !== actor.key) throw new Refusal('not-found', `You have no key ${id}.`);
    try {
      await this.#store.remove(id);
    } finally {
      await this.changed();
    }
    const { key: userKey, userId, username } = actor;
    await this.#revocations.announce({ userKey, userId, username, keyId: id });
  }

  /**
   * The sign-in by this key, at most `userFreshMs` out of date. Notes that the key was used.
   * @throws Refusal `unauthenticated` for a key that is unknown, revoked or expired.
   */
  async verify(text: string): Promise<KeySignIn> {
    const signIn = await this.find(text);
    if (signIn !== undefined) return signIn;
    throw new Refusal('unauthenticated', 'The API key is not valid: it is unknown, revoked or expired.');
  }

  /** Like `verify`; undefined for an invalid key. */
  async find(text: string): Promise<KeySignIn | undefined> {
    const key = await this.#findByHash(hashOf(text));
    return key && this.#signInBy(key);
  }

  /** Like `find`, by the id of a key that was verified before; undefined when it is no longer valid. */
  async check(id: string): Promise<KeySignIn | undefined> {
    const key = await this.#store.findById(id);
    return key && this.#signInBy(key);
  }

  /**
   * The sign-in by the key of this name, for who has shown otherwise to be its holder; undefined where the user has none of
   * this name that is good, or several.
   */
  async findByName(owner: UserKey, name: string): Promise<KeySignIn | undefined> {
    const [key, ...more] = (await this.#store.list(owner)).filter((one) => one.name === name);
    return key === undefined || more.length > 0 ? undefined : this.#signInBy(key);
  }

  /** Resolves when all uses of keys are stored. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #signInBy(key: ApiKey): Promise<KeySignIn | undefined> {
    const expiresMs = key.expiresMs ?? Number.POSITIVE_INFINITY;
    if (expiresMs <= this.#clock.now()) return undefined;
    const user = await this.#users.findByKey(key.owner);
    if (user === undefined) return undefined;
    this.#noteUse(key);
    return { user, keyScopes: keyScopesOf(key, user), expiresMs };
  }

  async #findByHash(hash: string): Promise<ApiKey | undefined> {
    const known = this.#known.get(hash);
    const nowMs = this.#clock.elapsedMs();
    if (known !== undefined && nowMs - known.atMs < limits.userFreshMs) return known.key;
    const changes = this.#changes;
    const key = await this.#store.findByHash(hash);
    // Not cached if a key was revoked during the read.
    if (key !== undefined && changes === this.#changes) this.#known.set(hash, { key, atMs: nowMs });
    return changes === this.#changes ? key : this.#store.findByHash(hash);
  }

  /** Stores a use, once a minute at most and without delaying the request. If that fails, the use is not recorded. */
  #noteUse(key: ApiKey): void {
    const nowMs = this.#clock.now();
    const notedMs = this.#usesNoted.get(key.id) ?? key.lastUsedMs ?? Number.NEGATIVE_INFINITY;
    if (nowMs - notedMs < limits.keyUseNotedMs) return;
    this.#usesNoted.set(key.id, nowMs);
    const written = this.#store.noteUse(key.id, nowMs).catch(() => {});
    this.#writing = Promise.all([this.#writing, written]);
  }

  async #requireSelfOrAdmin(actor: Actor, userId: string): Promise<User> {
    this.#requireSignedIn(actor);
    const user = await this.#users.getById(userId);
    if (actor.key === user.key || actor.admin) return user;
    throw new Refusal('forbidden', 'Only the user and admins see and revoke the keys of an account.');
  }

  #requireSignedIn(actor: Actor): void {
    this.#permissions.requireNoKey(actor, 'keys');
    this.#permissions.requireGuestAllowed(actor);
    if (actor.guest) throw new Refusal('forbidden', 'Guest has no keys. Sign in to make keys of your own.');
  }
}

/**
 * The hash of a key. Keys are random, so neither a salt nor a slow hash is needed, and looking a key up by its hash
 * reveals nothing about it.
 */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
