// Refresh sessions of web pages (contract 2): a secret in a cookie, which can only be exchanged for new tokens. Each
// use replaces the secret. If a replaced secret is used again the session ends, because somebody has copied it. Only
// hashes are stored; a new password ends all sessions of a user. A user has a bounded number; beyond it the oldest
// ends.
import { createHash, createHmac } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Announcer } from '../ports/coordination.ts';
import type { Actor, User } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { RefreshSession, RefreshSessionStore } from './refresh-session-store.ts';

/** A secret's bytes: the first half is constant and names the session, the second half changes with each use. */
const familyBytes = 16;
const secretBytes = 32;

/** From where a session was begun or renewed: User-Agent and address. */
export interface SessionOrigin {
  readonly agent: string | undefined;
  readonly address: string;
}

export interface RefreshedSession {
  readonly user: User;
  readonly id: string;
  /** The new secret. */
  readonly secret: string;
  /** Milliseconds for which the session lasts unless it is used before. */
  readonly leftMs: number;
}

export class RefreshSessions {
  readonly #store: RefreshSessionStore;
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #coordination: Announcer;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #ids: Ids;
  readonly #rotationKey: Uint8Array;
  #changes = 0;
  /** By session id: when it was last found to be active, by the monotonic clock. */
  readonly #known = new LruCache<string, number>({ weightMax: limits.usersCachedMax });

  /**
   * @param parts.rotationKey derives each secret from the one before, so that browser tabs that renew at the same
   * time get the same secret.
   */
  constructor(parts: {
    readonly store: RefreshSessionStore;
    readonly users: Users;
    readonly permissions: Permissions;
    readonly coordination: Announcer;
    /** The clock by which sessions expire, and the one by which the expired are deleted. */
    readonly clock: Clock;
    readonly ages: Clock;
    readonly ids: Ids;
    readonly rotationKey: Uint8Array;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#coordination = parts.coordination;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#ids = parts.ids;
    this.#rotationKey = parts.rotationKey;
  }

  /** Increases when a session ends, so that caches that depend on sessions are dropped at once. */
  get changes(): number {
    return this.#changes;
  }

  /** Begins a session for a user who has just signed in. */
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
    await this.#store.create(session, { max: limits.refreshSessionsPerUserMax, nowMs: this.#ages.now() });
    return { user, id, secret: textOf(bytes), leftMs: session.expiresMs - nowMs };
  }

  /**
   * Renews the session: returns its user and the next secret.
   * @throws Refusal `unauthenticated` when the session has ended or does not exist.
   */
  async renew(secret: string, origin: SessionOrigin): Promise<RefreshedSession> {
    const bytes = Buffer.from(secret, 'base64url');
    const nowMs = this.#clock.now();
    const session = await this.#store.find(familyOf(bytes));
    const user = session && (await this.#users.findByKey(session.user));
    const isOver = session === undefined || isExpired(session, nowMs);
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
    // Another tab renewed with the same secret a moment ago, or its answer was lost: both get the same next secret.
    const isJustNow = hash === session.previous && nowMs - session.lastUsedMs < limits.refreshSessionGraceMs;
    if (isJustNow) return { user, id: session.id, secret: textOf(next), leftMs: session.expiresMs - nowMs };
    await this.#end(session);
    throw over();
  }

  /** Whether the session is active; the answer may be a second old (`userFreshMs`). */
  async isOn(id: string): Promise<boolean> {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - (this.#known.get(id) ?? Number.NEGATIVE_INFINITY) < limits.userFreshMs) return true;
    const changes = this.#changes;
    const session = await this.#store.findById(id);
    const isOn = session !== undefined && !isExpired(session, this.#clock.now());
    // Not cached if a session was ended during the read.
    if (isOn && changes === this.#changes) this.#known.set(id, nowMs);
    return isOn;
  }

  /** Ends the session; does nothing where it has ended already. */
  async end(secret: string): Promise<void> {
    const bytes = Buffer.from(secret, 'base64url');
    const session = await this.#store.find(familyOf(bytes));
    if (session !== undefined) await this.#end(session);
  }

  /**
   * The sessions of a user, the one used last first; for the user and admins. @throws Refusal `not-found`,
   * `forbidden`
   */
  async list(actor: Actor, userId: string): Promise<RefreshSession[]> {
    const user = await this.#requireSelfOrAdmin(actor, userId);
    return this.#store.list(user.key, this.#clock.now());
  }

  /** Ends one session of a user, or all; for the user and admins. @throws Refusal `not-found`, `forbidden` */
  async remove(actor: Actor, userId: string, id?: string): Promise<void> {
    const user = await this.#requireSelfOrAdmin(actor, userId);
    if (id === undefined) {
      await this.#store.removeAll(user.key);
      await this.#changed();
      return;
    }
    const session = await this.#store.findById(id);
    if (session?.user !== user.key) throw new Refusal('not-found', `${user.username} has no session ${id}.`);
    await this.#end(session);
  }

  async #end({ family }: RefreshSession): Promise<void> {
    await this.#store.remove(family);
    await this.#changed();
  }

  async #changed(): Promise<void> {
    this.forget();
    await this.#coordination.announce({ kind: 'refresh-sessions-changed' });
  }

  /** Drops the cache, because sessions were ended. */
  forget(): void {
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

/** When a session ends that is used now: after some idle days, and no later than its fixed end. */
function boundsOf(nowMs: number, endsMs: number): { readonly expiresMs: number; readonly endsMs: number } {
  return { expiresMs: Math.min(nowMs + limits.refreshSessionIdleMs, endsMs), endsMs };
}

/** One that was used later than now was used while the clock was ahead, and would live longer than it was meant to. */
function isExpired({ expiresMs, lastUsedMs }: RefreshSession, nowMs: number): boolean {
  return expiresMs <= nowMs || lastUsedMs > nowMs + limits.clockDifferenceMsMax;
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
