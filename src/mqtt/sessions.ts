// Who is behind each connection, and which client ids are taken. A session belongs to a user and a client id; nobody
// else gets it while it is in use or stored (contract 8).
import type { Client } from 'aedes';
import type { Clock } from '../base/clock.ts';
import { LruCache } from '../base/lru-cache.ts';
import { limits } from '../config/limits.ts';
import type { Presence } from '../domain/gateways/presence.ts';
import type { Keys } from '../domain/keys/keys.ts';
import type { Ending } from '../domain/users/endings.ts';
import { type Actor, actorOf, guestUsername, type KeyLimits, type User } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { Replay } from './replay.ts';

export type QoS = 0 | 1 | 2;

/** Who signed in, and with which API key, if with one. */
export interface SignedIn {
  readonly user: User;
  readonly limits?: KeyLimits;
  /** When the key expires, milliseconds since 1970 UTC. */
  readonly expiresMs?: number;
}

/** One connection that has signed in. */
export class Session {
  readonly client: Client;
  readonly clientId: string;
  actor: Actor;
  readonly passwordVersion: number;
  /** When what it signed in with expires, milliseconds since 1970 UTC. */
  readonly expiresMs: number;
  /** True once its sign-in is good no more: nothing passes from then on. */
  isEnded = false;
  /** Filters held with the QoS granted, for their number and for the form and QoS in which messages go out. */
  readonly filters = new Map<string, QoS>();
  /** Of user and client id; made when first needed (repeats.ts). */
  number: number | undefined;
  /** Whether something was stored of it when it connected [MQTT-3.2.2-2]. */
  isResumed = false;
  /** The last setting of an actuator that it began. */
  setting: Promise<void> | undefined;
  /** While what is retained for an actuator is taken away: settings that follow wait. */
  clearing: Promise<void> | undefined;
  /** While it gets what was kept for it. */
  replay: Replay | undefined;
  /** When the user was looked up last, milliseconds since 1970 UTC. */
  checkedMs: number;

  constructor(client: Client, { user, limits, expiresMs }: SignedIn, nowMs: number) {
    this.client = client;
    this.clientId = client.id;
    this.actor = actorOf(user, limits);
    this.expiresMs = expiresMs ?? Number.POSITIVE_INFINITY;
    this.passwordVersion = user.passwordVersion;
    this.checkedMs = nowMs;
  }
}

/** A user as last looked up. */
interface Known {
  readonly actor: Actor | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly checkedMs: number;
}

export class Sessions {
  readonly #users: Users;
  readonly #keys: Keys;
  readonly #presence: Presence;
  readonly #clock: Clock;
  readonly #byClient = new WeakMap<object, Session>();
  /** The connection that holds each client id. Bounded by the number of connections. */
  readonly #holders = new Map<string, Session>();
  /** Users of sessions, also of those that are away; not fresh, but never long out of date while they are asked for. */
  readonly #known = new LruCache<string, Known>({ weightMax: limits.usersCachedMax });

  constructor(parts: {
    readonly users: Users;
    readonly keys: Keys;
    readonly presence: Presence;
    readonly clock: Clock;
  }) {
    this.#users = parts.users;
    this.#keys = parts.keys;
    this.#presence = parts.presence;
    this.#clock = parts.clock;
  }

  /** Who holds the client id now. */
  holderOf(clientId: string): Session | undefined {
    return this.#holders.get(clientId);
  }

  /** Gives the client id to the connection, unless another user's connection holds it and `mayStay`. */
  claim(client: Client, signedIn: SignedIn, mayStay: (holder: Session) => boolean): Session | undefined {
    const { user } = signedIn;
    const holder = this.#holders.get(client.id);
    if (holder !== undefined && holder.actor.username !== user.username && mayStay(holder)) return undefined;
    const session = new Session(client, signedIn, this.#clock.now());
    this.#holders.set(client.id, session);
    this.#presence.arrive(client.id, session);
    this.#known.set(user.username, { actor: actorOf(user), checkedMs: session.checkedMs });
    this.#byClient.set(client, session);
    return session;
  }

  /** Frees the client id, if this connection (and not one that took over) holds it. */
  release(session: Session): void {
    if (this.#holders.get(session.clientId) === session) this.#holders.delete(session.clientId);
    this.#presence.leave(session.clientId, session);
  }

  /**
   * The session of a client, with its user as of a moment ago: a user who is gone or has a new password is found out
   * by a look in the background and cut.
   */
  of(client: Client): Session | undefined {
    const session = this.#byClient.get(client);
    if (session === undefined || session.isEnded) return undefined;
    const nowMs = this.#clock.now();
    if (nowMs - session.checkedMs >= limits.userFreshMs) this.#recheck(session);
    if (nowMs < session.expiresMs) return session;
    void this.#end(session);
    return undefined;
  }

  /** Was the client's sign-in good once, and is good no more? */
  hasEnded(client: Client): boolean {
    return this.#byClient.get(client)?.isEnded === true;
  }

  /** Cuts whoever stands on a sign-in that has ended; resolves when they are gone. */
  async endAll({ userId, keyId, isRemoval }: Ending): Promise<void> {
    const ended = [...this.#holders.values()].filter(({ actor }) => {
      if (actor.userId !== userId) return false;
      // A new password leaves keys as they are.
      return keyId === undefined ? isRemoval || actor.limits === undefined : actor.limits?.keyId === keyId;
    });
    await Promise.all(ended.map((session) => this.#end(session)));
  }

  #end(session: Session): Promise<void> {
    session.isEnded = true;
    return new Promise((resolve) => session.client.close(resolve));
  }

  /** The user as of a moment ago; undefined where that is not known yet, or there is none. */
  actorNamed(username: string): Actor | undefined {
    const known = this.#known.get(username);
    const now = this.#clock.now();
    if (known === undefined || now - known.checkedMs >= limits.userFreshMs) {
      // Asked once, whatever comes of it; the next who asks when that is out of date asks again.
      this.#known.set(username, { actor: known?.actor, checkedMs: now });
      this.#users.findByName(username).then(
        (user) => this.#known.set(username, { actor: user && actorOf(user), checkedMs: now }),
        () => {},
      );
    }
    return known?.actor;
  }

  /** Looks the user up; false when the session's sign-in is good no more. */
  async isStillGood(session: Session): Promise<boolean> {
    if (session.actor.username === guestUsername) return true;
    if (session.isEnded) return false;
    const { limits: keyLimits } = session.actor;
    if (keyLimits !== undefined && (await this.#keys.check(keyLimits.keyId)) === undefined) return false;
    const user = await this.#users.findById(session.actor.userId);
    if (user === undefined) return false;
    if (keyLimits === undefined && user.passwordVersion !== session.passwordVersion) return false;
    session.actor = actorOf(user, keyLimits);
    return true;
  }

  #recheck(session: Session): void {
    session.checkedMs = this.#clock.now();
    this.isStillGood(session).then(
      (isGood) => {
        if (!isGood) void this.#end(session);
      },
      () => session.client.close(),
    );
  }
}
