// Sessions of web pages (contract 2): a secret in a cookie that is good for getting new tokens and for nothing else. Each
// use replaces it, and one that was replaced, used again later, ends the session: somebody has copied it. Only hashes are
// kept; a new password ends all of a user's. Bounded a user: the oldest gives way.
import { createHash, createHmac } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Actor, User } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { RefreshSession, RefreshSessionStore } from './refresh-session-store.ts';

/** The bytes of a secret: the first half stays and names the session, the second is another after each use. */
const familyBytes = 16;
const secretBytes = 32;

/** From where a session was begun or renewed. */
export interface SessionOrigin {
  readonly agent: string | undefined;
  readonly address: string;
}

export interface RefreshedSession {
  readonly user: User;
  readonly id: string;
  /** The secret that is good from now on. */
  readonly secret: string;
  /** For how long, if it is not used before, milliseconds. */
  readonly leftMs: number;
}

export class RefreshSessions {
  readonly #store: RefreshSessionStore;
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #rotationKey: Uint8Array;
  #changes = 0;
  /** Sessions found to be on, by id, and when. */
  readonly #known = new LruCache<string, number>({ weightMax: limits.usersCachedMax });

  /** `rotationKey` makes each secret out of the one before, so that tabs that renew at once get the same. */
  constructor(parts: {
    readonly store: RefreshSessionStore;
    readonly users: Users;
    readonly permissions: Permissions;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly rotationKey: Uint8Array;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#rotationKey = parts.rotationKey;
  }

  /** Moves when a session is ended, so that what was concluded from sessions can be dropped at once. */
  get changes(): number {
    return this.#changes;
  }

  /** Begins a session of a user who has just signed in. */
  async begin(user: User, origin: SessionOrigin): Promise<RefreshedSession> {
    const bytes = this.#ids.bytes(secretBytes);
    const nowMs = this.#clock.now();
    const id = this.#ids.uuid();
    const session = {
      ...{ id, family: familyOf(bytes), hash: hashOf(bytes), previous: undefined },
      ...{ user: user.key, passwordVersion: user.passwordVersion },
      ...{ createdMs: nowMs, lastUsedMs: nowMs, ...boundsOf(nowMs, nowMs + limits.refreshSessionLifetimeMs) },
      ...cut(origin),
    };
    await this.#store.create(session, { max: limits.refreshSessionsPerUserMax, nowMs });
    return { user, id, secret: textOf(bytes), leftMs: session.expiresMs - nowMs };
  }

  /**
   * Whose session it is, as of now, and the secret that follows.
   * @throws Refusal `unauthenticated` when it is over or never was.
   */
  async renew(secret: string, origin: SessionOrigin): Promise<RefreshedSession> {
    const bytes = Buffer.from(secret, 'base64url');
    const nowMs = this.#clock.now();
    const session = await this.#store.find(familyOf(bytes));
    const user = session && (await this.#users.findByKey(session.user));
    const isOver = session === undefined || session.expiresMs <= nowMs;
    if (isOver || user === undefined || user.passwordVersion !== session.passwordVersion) throw over();
    const next = this.#follows(bytes);
    const hash = hashOf(bytes);
    if (hash === session.hash) {
      const used = {
        hash: hashOf(next),
        previous: hash,
        lastUsedMs: nowMs,
        ...boundsOf(nowMs, session.endsMs),
        ...cut(origin),
      };
      await this.#store.rotate(session.family, used);
      return { user, id: session.id, secret: textOf(next), leftMs: used.expiresMs - nowMs };
    }
    // Another tab renewed with the same secret a moment ago, or its answer was lost: both get the same one.
    const isJustNow = hash === session.previous && nowMs - session.lastUsedMs < limits.refreshSessionGraceMs;
    if (isJustNow) return { user, id: session.id, secret: textOf(next), leftMs: session.expiresMs - nowMs };
    await this.#end(session);
    throw over();
  }

  /** Is the session still on, as of a moment ago? */
  async isOn(id: string): Promise<boolean> {
    const nowMs = this.#clock.now();
    if (nowMs - (this.#known.get(id) ?? Number.NEGATIVE_INFINITY) < limits.userFreshMs) return true;
    const changes = this.#changes;
    const session = await this.#store.findById(id);
    const isOn = session !== undefined && session.expiresMs > nowMs;
    // One that was ended while it was read is not remembered.
    if (isOn && changes === this.#changes) this.#known.set(id, nowMs);
    return isOn;
  }

  /** Ends the session; one that is over, or never was, is ended already. */
  async end(secret: string): Promise<void> {
    const bytes = Buffer.from(secret, 'base64url');
    const session = await this.#store.find(familyOf(bytes));
    if (session !== undefined) await this.#end(session);
  }

  /** The sessions of a user, the one used last first; for the user and admins. @throws Refusal `not-found`, `forbidden` */
  async list(actor: Actor, userId: string): Promise<RefreshSession[]> {
    const user = await this.#requireSelfOrAdmin(actor, userId);
    return this.#store.list(user.key, this.#clock.now());
  }

  /** Ends one session of a user, or all; for the user and admins. @throws Refusal `not-found`, `forbidden` */
  async remove(actor: Actor, userId: string, id?: string): Promise<void> {
    const user = await this.#requireSelfOrAdmin(actor, userId);
    if (id === undefined) {
      await this.#store.removeAll(user.key);
      this.#forget();
      return;
    }
    const session = await this.#store.findById(id);
    if (session?.user !== user.key) throw new Refusal('not-found', `${user.username} has no session ${id}.`);
    await this.#end(session);
  }

  async #end({ family }: RefreshSession): Promise<void> {
    await this.#store.remove(family);
    this.#forget();
  }

  #forget(): void {
    this.#changes += 1;
    this.#known.clear();
  }

  #follows(bytes: Uint8Array): Buffer {
    const rest = createHmac('sha256', this.#rotationKey).update(bytes).digest().subarray(familyBytes);
    return Buffer.concat([bytes.subarray(0, familyBytes), rest]);
  }

  async #requireSelfOrAdmin(actor: Actor, userId: string): Promise<User> {
    this.#permissions.requireNoKey(actor, 'sessions');
    this.#permissions.requireGuestAllowed(actor);
    if (actor.guest) throw new Refusal('forbidden', 'Guest has no sessions. Sign in to see your own.');
    const user = await this.#users.getById(userId);
    if (actor.key === user.key || actor.admin) return user;
    throw new Refusal('forbidden', 'Only the user and admins see and end the sessions of an account.');
  }
}

/** When a session that is used now is over: after some idle days, and at its end whatever happens. */
function boundsOf(nowMs: number, endsMs: number): { readonly expiresMs: number; readonly endsMs: number } {
  return { expiresMs: Math.min(nowMs + limits.refreshSessionIdleMs, endsMs), endsMs };
}

function cut({ agent, address }: SessionOrigin): SessionOrigin {
  return { agent: agent?.slice(0, limits.sessionAgentCharsMax), address };
}

function over(): Refusal {
  return new Refusal('unauthenticated', 'The session is over. Sign in with username and password.');
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

function familyOf(bytes: Uint8Array): string {
  return hashOf(bytes.subarray(0, familyBytes));
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}
