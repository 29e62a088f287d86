// The sessions of signed-in connections, and which client ids are in use. A session belongs to a user and a client id;
// no other user gets it while it is connected or stored (contract 8).
import { LruCache } from '../base/memory/lru-cache.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import type { ClientRefusal, ClientWill } from '../domain/clients/mqtt-client.ts';
import type { Presence } from '../domain/gateways/presence.ts';
import type { Keys } from '../domain/keys/keys.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { SessionRevocation } from '../domain/users/session-revocation.ts';
import { type Actor, actorOf, type KeyScopes, type User, type UserKey } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import { reasonCodes } from './protocol/reason-codes.ts';
import type { DuplicateDetector } from './repeats/duplicate-detector.ts';
import type { RememberedSession } from './repeats/remembered-sessions.ts';
import type { FrameRun } from './routing/frame-run.ts';
import type { LiveFilter } from './routing/live-filter.ts';
import type { SessionReplay } from './routing/replay.ts';
import type { Client } from './session/client.ts';
import { ClientFault } from './session/client-fault.ts';

export type QoS = 0 | 1 | 2;

/** What the CONNECT packet said, for those who look at clients. */
export interface ConnectFacts {
  /** When it was let in, in milliseconds since 1970 UTC. */
  readonly sinceMs: number;
  readonly protocolLevel: number;
  readonly keepAliveS: number;
  readonly will: ClientWill | undefined;
}

/** The user who signed in, and the API key, if one was used. */
export interface SignedIn {
  readonly user: User;
  /** Whose share of scarce things it uses: the user, or for guests their address. */
  readonly caller: Caller;
  readonly keyScopes?: KeyScopes;
  /** When the key or the certificate expires, in milliseconds since 1970 UTC. */
  readonly expiresMs?: number;
  /** Whether the client came by a certificate, which never acts as admin (decision 50). */
  readonly byCertificate?: boolean;
}

/** On whose behalf a client acts that has signed in. */
export function actorOfSignIn({ user, caller, keyScopes, byCertificate = false }: SignedIn): Actor {
  if (!byCertificate) return actorOf(user, caller, keyScopes);
  const whole = keyScopes?.whole === true && !user.admin;
  return actorOf({ ...user, admin: false }, caller, keyScopes && { ...keyScopes, admin: false, metrics: false, whole });
}

/** A connection that has signed in. */
export class ClientSession {
  readonly client: Client;
  readonly clientId: string;
  actor: Actor;
  readonly passwordVersion: number;
  readonly #byCertificate: boolean;
  /** When its key or certificate expires, in milliseconds since 1970 UTC. */
  readonly expiresMs: number;
  /** True once its sign-in has ended: nothing passes from then on. */
  isEnded = false;
  /** True once its connection has closed. */
  isReleased = false;
  /** The filters with the QoS granted; they decide in which forms and QoS messages are sent. */
  readonly filters = new Map<string, LiveFilter>();
  /** Increases with every change of these. */
  filterChanges = 0;
  /** What it was handed and is written at the next flush (joined-writes.ts). */
  unwritten: FrameRun | undefined;
  /** Messages that are on a longer way to it: while there are any, others take the same way, and none overtakes. */
  onLongWay = 0;
  /** What is remembered of its publishes; undefined for a will, which has no packet id. */
  repeats: RememberedSession | undefined;
  /** Whether a stored session existed when it connected [MQTT-3.2.2-2]. */
  isResumed = false;
  /** The last actuator setting it began. */
  setting: Promise<void> | undefined;
  /** Set while the retained message of an actuator is being removed: later settings wait. */
  clearing: Promise<void> | undefined;
  /** Set while a message waits for the answer whether it may be retained, and until it is decided: later messages wait. */
  deciding: Promise<void> | undefined;
  /** The last message of QoS 2 that came from it, until it is relayed: later ones are relayed behind it. */
  receiving: Promise<void> | undefined;
  /** Set while retained messages are sent to it. */
  sendingRetained: Promise<void> | undefined;
  /** Packets that wait for the end of that: nothing is read until then, and so no acknowledgement. */
  retainedAwaited = 0;
  /** Whether a later connection has its client id. */
  isTakenOver = false;
  /** Set while stored messages are replayed. */
  replay: SessionReplay | undefined;
  /** When the user was last looked up, by the monotonic clock. */
  checkedMs: number;
  /** Undefined for a will. */
  connect: ConnectFacts | undefined;
  /** Publishes received from it and written to it. */
  messagesIn = 0;
  messagesOut = 0;
  #refused: Map<ClientRefusal, number> | undefined;

  constructor(client: Client, signedIn: SignedIn, nowMs: number) {
    const { user, expiresMs, byCertificate = false } = signedIn;
    this.client = client;
    this.clientId = client.id;
    this.actor = actorOfSignIn(signedIn);
    this.#byCertificate = byCertificate;
    this.expiresMs = expiresMs ?? Number.POSITIVE_INFINITY;
    this.passwordVersion = user.passwordVersion;
    this.checkedMs = nowMs;
  }

  /** Takes the user and the key as they are now. */
  renew(user: User, keyScopes: KeyScopes | undefined): void {
    const { caller } = this.actor;
    const byCertificate = this.#byCertificate;
    this.actor = actorOfSignIn({ user, caller, byCertificate, ...(keyScopes === undefined ? {} : { keyScopes }) });
  }

  /** What was refused, and how often; undefined: nothing. */
  get refused(): ReadonlyMap<ClientRefusal, number> | undefined {
    return this.#refused;
  }

  noteRefusal(reason: ClientRefusal): void {
    this.#refused ??= new Map();
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }
}

/** A user as of the last look-up. */
interface CachedUser {
  readonly actor: Actor | undefined;
  /** By the monotonic clock. */
  readonly checkedMs: number;
}

export class Sessions {
  readonly #users: Users;
  readonly #keys: Keys;
  readonly #presence: Presence;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #duplicates: DuplicateDetector;
  readonly #guest: { readonly key: UserKey };
  readonly #stored: { sessionOwner(clientId: string): UserKey | undefined };
  readonly #byClient = new WeakMap<object, ClientSession>();
  /** By client id: the connected session. Bounded by the number of connections. */
  readonly #holders = new Map<string, ClientSession>();
  /** The same by user. Guests are left out: they share one user, and nobody asks for its connections alone. */
  readonly #byUser = new Map<UserKey, Set<ClientSession>>();
  #kept = 0;
  /** Most clients that were connected at a time, and how many have connected since the start. */
  countMax = 0;
  countEver = 0;
  /** Users of connected and stored sessions; slightly out of date, but renewed while they are asked for. */
  readonly #known = new LruCache<UserKey, CachedUser>({ weightMax: limits.usersCachedMax });

  constructor(parts: {
    readonly users: Users;
    readonly keys: Keys;
    readonly presence: Presence;
    readonly permissions: Permissions;
    /** The clock by which keys expire. */
    readonly clock: Clock;
    readonly duplicates: DuplicateDetector;
    readonly guest: { readonly key: UserKey };
    readonly stored: { sessionOwner(clientId: string): UserKey | undefined };
  }) {
    this.#guest = parts.guest;
    this.#stored = parts.stored;
    this.#users = parts.users;
    this.#keys = parts.keys;
    this.#presence = parts.presence;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
    this.#duplicates = parts.duplicates;
  }

  /** Clients that are connected, and how many of them have a session that is kept. */
  get count(): number {
    return this.#holders.size;
  }

  get keptCount(): number {
    return this.#kept;
  }

  /** The connected session of this client id. */
  holderOf(clientId: string): ClientSession | undefined {
    return this.#holders.get(clientId);
  }

  /** The connected sessions of a user, or of all, in the order in which they came. */
  connected(user?: UserKey): Iterable<ClientSession> {
    return user === undefined ? this.#holders.values() : (this.#byUser.get(user) ?? []);
  }

  /** Whether a client is connected or connecting under this id. */
  isInUse(clientId: string): boolean {
    return this.#holders.has(clientId);
  }

  /** The users of a client id, apart from guest: of the connected and of the stored session. */
  holdersOf(clientId: string): readonly UserKey[] {
    const keys = [this.#holders.get(clientId)?.actor.key, this.#stored.sessionOwner(clientId)];
    return keys.filter((key): key is UserKey => key !== undefined && key !== this.#guest.key);
  }

  /** Gives the client id to the connection, unless another user's connection has it and `mayStay`. */
  claim(client: Client, signedIn: SignedIn, mayStay: (holder: ClientSession) => boolean): ClientSession | undefined {
    const { user } = signedIn;
    const holder = this.#holders.get(client.id);
    if (holder !== undefined && holder.actor.key !== user.key && mayStay(holder)) return undefined;
    const session = new ClientSession(client, signedIn, this.#clock.elapsedMs());
    if (holder !== undefined) {
      holder.isTakenOver = true;
      this.#drop(holder);
    }
    this.#holders.set(client.id, session);
    this.#addToUser(session);
    if (!client.clean) this.#kept += 1;
    this.countEver += 1;
    this.countMax = Math.max(this.countMax, this.#holders.size);
    session.repeats = this.#duplicates.arrive(user, client.id);
    this.#presence.arrive(client.id, session);
    this.#known.set(user.key, { actor: this.#users.actorOf(user), checkedMs: session.checkedMs });
    this.#byClient.set(client, session);
    return session;
  }

  /** The session of the connection is kept, though its client did not say so. */
  keep(session: ClientSession): void {
    const { client, clientId } = session;
    if (!client.clean || this.#holders.get(clientId) !== session) return;
    client.clean = false;
    this.#kept += 1;
  }

  /** Frees the client id; false where another connection has taken it over. May be called twice. */
  release(session: ClientSession): boolean {
    if (!session.isReleased && session.repeats !== undefined) this.#duplicates.leave(session.repeats);
    session.isReleased = true;
    this.#presence.leave(session.clientId, session);
    if (this.#holders.get(session.clientId) !== session) return false;
    this.#drop(session);
    return true;
  }

  #addToUser(session: ClientSession): void {
    const { key, guest } = session.actor;
    if (guest) return;
    const theirs = this.#byUser.get(key);
    if (theirs === undefined) this.#byUser.set(key, new Set([session]));
    else theirs.add(session);
  }

  /** Removes the session from what is connected. A later holder of its id comes last, in order of arrival. */
  #drop(session: ClientSession): void {
    this.#holders.delete(session.clientId);
    if (!session.client.clean) this.#kept -= 1;
    const { key } = session.actor;
    const theirs = this.#byUser.get(key);
    theirs?.delete(session);
    if (theirs?.size === 0) this.#byUser.delete(key);
  }

  /**
   * The session of a client. Its user may be a moment out of date: a removed user or a changed password is found by a
   * look-up in the background, which cuts the connection.
   */
  of(client: Client): ClientSession | undefined {
    const session = this.#byClient.get(client);
    return session !== undefined && this.isOpen(session) ? session : undefined;
  }

  /** Whether anything may pass to and from the session: as `of`. */
  isOpen(session: ClientSession): boolean {
    if (session.isEnded) return false;
    if (this.#clock.elapsedMs() - session.checkedMs >= limits.userFreshMs) this.#recheck(session);
    if (session.expiresMs === Number.POSITIVE_INFINITY || this.#clock.now() < session.expiresMs) return true;
    this.#end(session);
    return false;
  }

  /** The session of a client, whether or not anything may pass. */
  known(client: Client): ClientSession | undefined {
    return this.#byClient.get(client);
  }

  /** Whether the client had signed in and its sign-in has ended. */
  hasEnded(client: Client): boolean {
    return this.#byClient.get(client)?.isEnded === true;
  }

  /** Cuts all connections of a revoked sign-in. */
  endAll({ userId, keyId, withKeys, keysOnly, isRemoval }: SessionRevocation): void {
    const ended = [...this.#holders.values()].filter(({ actor }) => {
      if (actor.userId !== userId) return false;
      // A new password does not affect API keys.
      const isKeyed = actor.keyScopes !== undefined;
      if (keysOnly) return isKeyed;
      return keyId === undefined ? isRemoval || withKeys || !isKeyed : actor.keyScopes?.keyId === keyId;
    });
    for (const session of ended) this.#end(session);
  }

  #end(session: ClientSession): void {
    session.isEnded = true;
    session.client.fail(new ClientFault(reasonCodes.administrativeAction, 'The sign-in has ended.'));
  }

  /**
   * Looks up the users of stored sessions at start: for an unknown user messages are kept in all of their sessions, and
   * the first messages may be many.
   */
  async learn(keys: Iterable<UserKey>): Promise<void> {
    for (const key of keys) {
      const user = await this.#users.findByKey(key);
      this.#known.set(key, { actor: user && this.#users.actorOf(user), checkedMs: this.#clock.elapsedMs() });
    }
  }

  /** The user, at most a moment out of date; undefined where there is none, or it is not known yet. */
  actorByKey(key: UserKey): Actor | undefined {
    const known = this.#known.get(key);
    const now = this.#clock.elapsedMs();
    if (known === undefined || now - known.checkedMs >= limits.userFreshMs) {
      // Stored whatever the result, so that it is asked once; the next request after it has expired asks again.
      this.#known.set(key, { actor: known?.actor, checkedMs: now });
      this.#users.findByKey(key).then(
        (user) => this.#known.set(key, { actor: user && this.#users.actorOf(user), checkedMs: now }),
        () => {},
      );
    }
    return known?.actor;
  }

  /** Looks the user up again; false when the session's sign-in has ended. */
  async isStillGood(session: ClientSession): Promise<boolean> {
    if (session.actor.guest) return !this.#permissions.refusesGuests;
    if (session.isEnded) return false;
    const { keyScopes: before } = session.actor;
    // As stored now: a key loses a device that is handed over.
    const keyScopes = before && (await this.#keys.check(before.keyId))?.keyScopes;
    if (before !== undefined && keyScopes === undefined) return false;
    const user = await this.#users.findById(session.actor.userId);
    if (user === undefined) return false;
    if (keyScopes === undefined && user.passwordVersion !== session.passwordVersion) return false;
    session.renew(user, keyScopes);
    return true;
  }

  #recheck(session: ClientSession): void {
    session.checkedMs = this.#clock.elapsedMs();
    this.isStillGood(session).then(
      (isGood) => {
        if (!isGood) this.#end(session);
      },
      () => session.client.close(),
    );
  }
}
