// The sessions whose publishes are remembered, by user and client id: each as long as its client is connected, and until
// it has been gone for an hour, also a clean one, which comes back under the same id (contract 8). Those that are gone
// are bounded in memory: beyond that the longest gone of the user with the most are forgotten (I4).
import type { PoolMember } from '../../base/memory/memory-pool.ts';
import { limits } from '../../config/limits.ts';
import type { PublishSession } from '../../domain/datapoints/publish-fingerprint.ts';
import { remembered } from '../../domain/remembered.ts';
import type { UserKey } from '../../domain/users/user.ts';

/** A user, with what is remembered of their sessions. All guests are one user. */
export class SessionHolder {
  readonly user: UserKey;
  /** By number. */
  readonly sessions = new Map<number, RememberedSession>();
  /** Those whose clients are gone, in the order in which they went. */
  readonly gone = new Set<RememberedSession>();
  /** Publishes remembered, and the most that the user's quota allows. */
  count = 0;
  countMax = Number.POSITIVE_INFINITY;

  constructor(user: UserKey) {
    this.user = user;
  }

  /** The most that one session may have where the user has as much as the quota allows. */
  get sessionPart(): number {
    return Math.max(1, Math.floor(this.countMax / this.sessions.size));
  }
}

/** A moment by both clocks: milliseconds since 1970 UTC, and monotonic ones. */
export interface Moment {
  readonly ms: number;
  readonly elapsedMs: number;
}

export class RememberedSession implements PublishSession {
  readonly holder: SessionHolder;
  readonly number: number;
  /** Where its publishes are in the table. */
  readonly tableOffset: number;
  /** True once the session was forgotten; `current` returns the object that replaces it. */
  isDropped = false;
  /** Connections of its client: two for a moment where one takes over from another. */
  connections = 0;
  /** When its client went, by the wall clock, as it is stored; undefined while it is connected. */
  goneMs: number | undefined = undefined;
  /** The same by the monotonic clock, by which its hour is measured: no jump of the wall clock ends it. */
  goneElapsedMs = 0;
  /** Publishes remembered. */
  count = 0;
  /** The number under which the table knows it; 0 while it has no entry there. */
  slot = 0;
  /** Numbers of its newest publish, and of the oldest that is still remembered; entries with lower numbers are free. */
  last = 0;
  first = 0;

  constructor(holder: SessionHolder, number: number) {
    this.holder = holder;
    this.number = number;
    this.tableOffset = number & 0xffff_ffff;
  }

  get user(): UserKey {
    return this.holder.user;
  }
}

/** Measured: a session, with its entries in maps. */
const sessionBytes = 256;
/** Sessions dropped before the next look for the user with the most. */
const droppedAtOnce = 32;
/** Expired sessions that are removed with each connection that comes or goes: more than come in the same time. */
const expiredAtOnce = 8;

export class RememberedSessions implements PoolMember {
  readonly #holders = new Map<UserKey, SessionHolder>();
  readonly #forget: (session: RememberedSession) => void;
  #size = 0;

  /** @param forget removes the publishes of a session. */
  constructor(forget: (session: RememberedSession) => void) {
    this.#forget = forget;
    remembered.join(this);
  }

  get size(): number {
    return this.#size;
  }

  get weight(): number {
    return this.#size * sessionBytes;
  }

  get weightMax(): number {
    return limits.duplicateSessionBytesMax;
  }

  find(user: UserKey, number: number): RememberedSession | undefined {
    return this.#holders.get(user)?.sessions.get(number);
  }

  /** The session, which is made where it is not known. It is kept only while its client is connected, or it is gone. */
  open(user: UserKey, number: number): RememberedSession {
    let holder = this.#holders.get(user);
    if (holder === undefined) {
      holder = new SessionHolder(user);
      this.#holders.set(user, holder);
    }
    const known = holder.sessions.get(number);
    if (known !== undefined) return known;
    const session = new RememberedSession(holder, number);
    holder.sessions.set(number, session);
    this.#size += 1;
    if (this.weight > this.weightMax) this.shrink();
    remembered.makeRoom(sessionBytes);
    return session;
  }

  /** A client connects. */
  arrive(user: UserKey, number: number, elapsedMs: number): RememberedSession {
    this.#removeSomeExpired(this.#holders.get(user), elapsedMs);
    const known = this.find(user, number);
    if (known !== undefined && isExpired(known, elapsedMs)) this.drop(known);
    const session = this.open(user, number);
    session.connections += 1;
    session.goneMs = undefined;
    session.holder.gone.delete(session);
    return session;
  }

  /** A client has gone. */
  leave(session: RememberedSession, now: Moment): void {
    session.connections -= 1;
    if (session.connections > 0) return;
    this.setGone(session, now);
    this.#removeSomeExpired(session.holder, now.elapsedMs);
  }

  /** The session that counts, where a message of a closed connection comes after its session was forgotten. */
  current(session: RememberedSession, now: Moment): RememberedSession {
    if (!session.isDropped) return session;
    const current = this.open(session.user, session.number);
    if (current.connections > 0 || current.goneMs !== undefined) return current;
    current.goneMs = now.ms;
    current.goneElapsedMs = now.elapsedMs;
    current.holder.gone.add(current);
    return current;
  }

  /** The hour of a session begins; call it in the order of time. One without a publish is forgotten at once. */
  setGone(session: RememberedSession, gone: Moment): void {
    session.goneMs = gone.ms;
    session.goneElapsedMs = gone.elapsedMs;
    session.holder.gone.delete(session);
    if (session.count === 0) this.drop(session);
    else session.holder.gone.add(session);
  }

  /** Forgets a session, with its publishes. Of one that is connected the publishes alone. */
  drop(session: RememberedSession): void {
    const { holder, number } = session;
    this.#forget(session);
    if (session.connections > 0 || holder.sessions.get(number) !== session) return;
    session.isDropped = true;
    holder.gone.delete(session);
    holder.sessions.delete(number);
    this.#size -= 1;
    if (holder.sessions.size === 0) this.#holders.delete(holder.user);
  }

  /** Forgets the sessions of a user. */
  dropUser(user: UserKey): void {
    for (const session of this.#holders.get(user)?.sessions.values() ?? []) this.drop(session);
  }

  *all(): Iterable<RememberedSession> {
    for (const { sessions } of this.#holders.values()) yield* sessions.values();
  }

  /** Forgets some of those that are gone; false where there are none. */
  shrink(): boolean {
    let most: SessionHolder | undefined;
    for (const holder of this.#holders.values()) if (holder.gone.size > (most?.gone.size ?? 0)) most = holder;
    let left = droppedAtOnce;
    for (const session of most?.gone ?? []) {
      if (left-- === 0) break;
      this.drop(session);
    }
    return most !== undefined;
  }

  /** Looks at one user, and at another who was looked at longest ago. */
  #removeSomeExpired(holder: SessionHolder | undefined, elapsedMs: number): void {
    if (holder !== undefined) this.#removeExpired(holder, elapsedMs);
    const [oldest] = this.#holders.values();
    if (oldest === undefined) return;
    this.#holders.delete(oldest.user);
    this.#holders.set(oldest.user, oldest);
    this.#removeExpired(oldest, elapsedMs);
  }

  #removeExpired({ gone }: SessionHolder, elapsedMs: number): void {
    let left = expiredAtOnce;
    for (const session of gone) {
      if (!isExpired(session, elapsedMs) || left-- === 0) break;
      this.drop(session);
    }
  }
}

export function isExpired({ goneMs, goneElapsedMs }: RememberedSession, elapsedMs: number): boolean {
  return goneMs !== undefined && elapsedMs - goneElapsedMs >= limits.duplicateGoneMs;
}
