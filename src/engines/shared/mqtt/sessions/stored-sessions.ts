// The stored MQTT sessions, their owners and subscriptions, in memory and in the tables. Memory changes at once, the
// tables in the order of the calls; a promise resolves when its change is on disk (I1). Bounded by each user's quota,
// limits.sessionsMax, limits.sessionFiltersMax and limits.storedSessionBytesMax (I4).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal } from '../../../../base/refusal.ts';
import { limits } from '../../../../config/limits.ts';
import type {
  JoinedWrites,
  PacketClient,
  StoredSessionFacts,
  Subscription,
  SubscriptionOptions,
} from '../../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import {
  clearRowsMax,
  type LoadedSessions,
  type MqttChange,
  type MqttTables,
  type SessionHandover,
  type TakenSession,
} from '../mqtt-tables.ts';
import type { MqttUsage } from '../mqtt-usage.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import { inFlightBytesOf, isSame, optionsOf, StoredSession } from './mqtt-session.ts';
import { MqttSubscriptions, type SubscriptionRules } from './mqtt-subscriptions.ts';
import { putAway, putSubscription, rowOf, rowsOf } from './session-changes.ts';

/** The connection that is signed in under a client id. */
export type ConnectionOf = (clientId: string) => object | undefined;

export interface SessionRules extends SubscriptionRules {
  /** Whether a client is connected or connecting under this id. */
  readonly isInUse: (clientId: string) => boolean;
  /** How long a session of this user is kept after its client went away; undefined: for ever. */
  readonly expiryMsOf: (user: UserKey | undefined) => number | undefined;
}

export class StoredSessions {
  readonly #writes: MqttWrites;
  readonly #rules: SessionRules;
  readonly #usage: MqttUsage;
  readonly #byClient = new Map<string, StoredSession>();
  readonly #byUser = new Map<UserKey, Set<StoredSession>>();
  readonly subscriptions: MqttSubscriptions;
  /** Connections whose session was ended while they were open: packets they still send must not create it again. */
  readonly #ended = new WeakSet<object>();
  /** By client id: sessions that are being let go, and that are being taken. Bounded by the connections that begin. */
  readonly #leaving = new Set<string>();
  readonly #coming = new Map<string, Promise<void>>();
  /** By client id: sessions that have ended, and whose rows are not deleted yet. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Called when a session ends; what waits for it is deleted when the result has resolved. */
  onEnded: (session: StoredSession) => Promise<void> | undefined = () => undefined;
  /** Called when a session is one of another process. */
  onLetGo: (clientId: string) => void = () => {};
  /** Called when a session has come from another process. */
  onTaken: (clientId: string) => void = () => {};
  #connectionOf: ConnectionOf = () => undefined;
  #lastKey = 0;
  #closed = false;

  constructor(writes: MqttWrites, rules: SessionRules, usage: MqttUsage) {
    this.#writes = writes;
    this.#rules = rules;
    this.#usage = usage;
    this.subscriptions = new MqttSubscriptions(rules, usage);
  }

  /**
   * Loads the sessions and begins to delete rows of ended ones. Filters that are too long, or for which there is no
   * memory, are left out and removed; only earlier releases stored such filters.
   */
  async load(tables: Pick<MqttTables, 'load'>, connectionOf: ConnectionOf, nowMs: number): Promise<LoadedSessions> {
    this.#connectionOf = connectionOf;
    const loaded = await tables.load({
      add: (session) => {
        this.#index(session);
        this.#usage.countSession(session.user, session.clientId);
        // The client was connected when the service stopped.
        session.awayMs ??= nowMs;
      },
      addFilter: (session, filter, options) => {
        if (!this.#usage.countFilter(session.user, filter)) return false;
        this.subscriptions.put(session, filter, options);
        return true;
      },
      addBytes: (session, bytes) => this.#usage.countBytes(session.user, bytes),
      clearQueue: (key) => this.#clearInSlices({ kind: 'queue-cleared', session: key }),
    });
    this.#lastKey = loaded.lastKey;
    this.#writes.write([{ kind: 'all-away', awayMs: nowMs }]).catch(() => {});
    for (const { session, filter } of loaded.overQuota)
      this.#clearInSlices({ kind: 'filter-removed', session, filter });
    if (loaded.overlong > 0) this.#clearInSlices({ kind: 'overlong-filters-cleared' });
    return loaded;
  }

  get size(): number {
    return this.#byClient.size;
  }

  find(clientId: string): StoredSession | undefined {
    return this.#byClient.get(clientId);
  }

  /** How long the session is kept after its client went away; undefined: for ever. */
  expiryMsOf({ user, expiryS }: StoredSession): number | undefined {
    const expiryMs = this.#rules.expiryMsOf(user);
    return expiryS === undefined ? expiryMs : Math.min(expiryS * 1_000, expiryMs ?? Number.POSITIVE_INFINITY);
  }

  isExpired(session: StoredSession, nowMs: number): boolean {
    const { awayMs, clientId } = session;
    const expiryMs = this.expiryMsOf(session);
    if (awayMs === undefined || expiryMs === undefined || nowMs - awayMs < expiryMs) return false;
    return !this.#rules.isInUse(clientId);
  }

  /**
   * Ends sessions whose clients have been away for too long, and returns their number; yields to other work between
   * groups.
   */
  async endExpired(nowMs: number): Promise<number> {
    let looked = 0;
    let count = 0;
    let expirations: Promise<void>[] = [];
    const pause = async () => {
      await Promise.all(expirations);
      expirations = [];
      await nextTurn();
    };
    for (const session of this.#byClient.values()) {
      if (this.#closed) break;
      looked += 1;
      // It went away while the clock was ahead, and would be kept for too long.
      if ((session.awayMs ?? 0) > nowMs + limits.clockDifferenceMsMax) this.#beginAway(session, nowMs);
      if (this.isExpired(session, nowMs)) {
        expirations.push(this.end(session.clientId));
        count += 1;
      }
      if (looked % expiryStep === 0 || expirations.length >= expiredAtOnceMax) await pause();
    }
    await pause();
    return count;
  }

  /** @throws Refusal `busy` when there are too many sessions. */
  getOrCreate(clientId: string, user?: UserKey): StoredSession {
    const session = this.findOrCreate(clientId, user);
    if (session !== undefined) return session;
    throw new Refusal('busy', 'No more MQTT sessions can be stored for this user; connect with a clean session.');
  }

  /** The session of this client id, created where there is none; undefined where there may be no more sessions. */
  findOrCreate(clientId: string, user?: UserKey): StoredSession | undefined {
    const known = this.#byClient.get(clientId);
    if (known !== undefined) return known;
    if (!this.#usage.takeSession(user, clientId)) return undefined;
    const session = new StoredSession(++this.#lastKey, clientId, { user });
    this.#index(session);
    return session;
  }

  /** Users with sessions, each once. */
  users(): Iterable<UserKey> {
    return [...this.#byUser.keys()];
  }

  /** Client ids of a user's sessions, or of all, without expired ones. */
  *idsOf(user: UserKey | undefined, nowMs: number): Iterable<string> {
    const sessions = user === undefined ? this.#byClient.values() : (this.#byUser.get(user) ?? []);
    for (const session of sessions) if (!this.isExpired(session, nowMs)) yield session.clientId;
  }

  factsOf(clientId: string, nowMs: number): StoredSessionFacts | undefined {
    const session = this.#byClient.get(clientId);
    if (session === undefined || this.isExpired(session, nowMs)) return undefined;
    const { user, awayMs, queued, queuedBytes, notKept, filters } = session;
    const expiryMs = this.expiryMsOf(session);
    return {
      user,
      awayMs,
      expiresMs: awayMs === undefined || expiryMs === undefined ? undefined : awayMs + expiryMs,
      waitingMessages: queued,
      waitingBytes: queuedBytes,
      notKept,
      filters,
    };
  }

  hasEnded(connection: object): boolean {
    return this.#ended.has(connection);
  }

  /** Stores changes of a session, after its row where that is not stored yet. */
  async write(session: StoredSession, changes: readonly MqttChange[], joined?: JoinedWrites): Promise<void> {
    await this.#writes.write([...rowsOf([session]), ...changes], joined);
    session.stored = true;
  }

  /**
   * Makes the session of this client id the user's own; creates it where there is none.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many.
   */
  async claim(clientId: string, user: UserKey, expiryS?: number): Promise<void> {
    await this.#ending.get(clientId);
    const known = this.#byClient.get(clientId);
    if (known?.user !== undefined && known.user !== user) {
      throw new Refusal('exists', `The client id ${clientId} belongs to a session of somebody else.`);
    }
    if (known?.stored && known.user === user && known.expiryS === expiryS) {
      this.#resume(known);
      return;
    }
    const session = known ?? this.getOrCreate(clientId, user);
    if (session.user !== user) this.#giveTo(session, user);
    session.awayMs = undefined;
    session.expiryS = expiryS;
    session.stored = false;
    try {
      await this.write(session, []);
    } catch (error) {
      if (known === undefined && !session.stored && this.#byClient.get(clientId) === session) this.#drop(session);
      throw error;
    }
  }

  /** Called when the client has gone; the session's expiry begins. */
  leave(clientId: string, nowMs: number, expiryS?: number): void {
    const session = this.#byClient.get(clientId);
    if (session === undefined || session.awayMs !== undefined) return;
    if (session.expiryS === expiryS) this.#beginAway(session, nowMs);
    else {
      session.awayMs = nowMs;
      session.expiryS = expiryS;
      if (session.stored) this.#writes.finish([rowOf(session)]).catch(() => {});
    }
  }

  #beginAway(session: StoredSession, nowMs: number): void {
    session.awayMs = nowMs;
    // If this cannot be written, the expiry begins at the next start.
    if (session.stored) this.#writes.finish([putAway(session)]).catch(() => {});
  }

  /** Removes the session and everything stored for it. */
  async end(clientId: string): Promise<void> {
    const connection = this.#connectionOf(clientId);
    if (connection !== undefined) this.#ended.add(connection);
    const session = this.#byClient.get(clientId);
    if (session === undefined) return this.#ending.get(clientId);
    this.#drop(session);
    const ended = this.#delete(session);
    const ending = ended.catch(() => {});
    this.#ending.set(clientId, ending);
    void ending.then(() => {
      if (this.#ending.get(clientId) === ending) this.#ending.delete(clientId);
    });
    await ended;
  }

  /** Deletes the rows of a session that has ended. */
  async #delete(session: StoredSession): Promise<void> {
    const { clientId } = session;
    const handedOver = this.onEnded(session);
    try {
      // A crash before the rows are gone has somebody get the messages a second time, rather than nobody.
      if (handedOver !== undefined) await handedOver;
      const [cleared = 0] = await this.#writes.write([{ kind: 'session-ended', session: session.key, clientId }]);
      if (cleared === clearRowsMax) this.#clearInSlices({ kind: 'queue-cleared', session: session.key });
    } catch (error) {
      if (!this.#byClient.has(clientId)) this.#adopt(session);
      throw error;
    }
  }

  /** Lets a session go to another process. Tried again where it fails. */
  async letGo(clientId: string, handover: SessionHandover): Promise<void> {
    const connection = this.#connectionOf(clientId);
    if (connection !== undefined) this.#ended.add(connection);
    const session = this.#byClient.get(clientId);
    if (session !== undefined) {
      this.#leaving.add(clientId);
      this.#drop(session);
      this.onLetGo(clientId);
    }
    if (!this.#leaving.has(clientId)) return;
    // Behind all that was to be stored of it.
    await this.#writes.finish([]);
    await handover.letGo(clientId);
    this.#leaving.delete(clientId);
  }

  /** Takes a session that no other process has; nothing where this one has it. */
  take(clientId: string, take: () => Promise<TakenSession | undefined>): Promise<void> {
    if (this.#byClient.has(clientId)) return Promise.resolve();
    const known = this.#coming.get(clientId);
    if (known !== undefined) return known;
    const coming = this.#take(take).finally(() => this.#coming.delete(clientId));
    this.#coming.set(clientId, coming);
    return coming;
  }

  async #take(take: () => Promise<TakenSession | undefined>): Promise<void> {
    const taken = await take();
    if (taken === undefined) return;
    const { key, clientId, user, awayMs, expiryS, filters, queued, queuedBytes, sent, incoming } = taken;
    this.#leaving.delete(clientId);
    const session = new StoredSession(key, clientId, { user, awayMs, expiryS, stored: true });
    this.#index(session);
    this.#usage.countSession(user, clientId);
    for (const { filter, options } of filters)
      if (this.#usage.countFilter(user, filter)) this.subscriptions.put(session, filter, options);
    session.queued = queued;
    session.queuedBytes = queuedBytes;
    for (const { packetId, isReleased, ...rest } of sent)
      session.putSent(packetId, { ...rest, ...(isReleased && { released: Promise.resolve() }) });
    for (const { packetId, bytes } of incoming) session.putIncoming(packetId, { stored: Promise.resolve(), bytes });
    this.#usage.countBytes(user, inFlightBytesOf(session));
    this.onTaken(clientId);
  }

  /** Ends all sessions of a user. */
  async endAllOf(user: UserKey): Promise<void> {
    const theirs = [...(this.#byUser.get(user) ?? [])];
    await Promise.all(theirs.map((session) => this.end(session.clientId)));
  }

  /** Whether the session may have this filter; a filter that it has already is always allowed. */
  hasCapacityFor(clientId: string, filter: string): boolean {
    const session = this.#byClient.get(clientId);
    if (session?.filters.has(filter)) return true;
    if (Buffer.byteLength(filter) > limits.topicFilterBytesMax) return false;
    if (session === undefined) return true;
    return session.filters.size < limits.sessionFiltersMax && this.#usage.hasCapacityForFilter(session, filter);
  }

  /** Stores subscriptions. A filter beyond the session's bound is left out; it was refused before. */
  async subscribe(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void> {
    if (this.#ended.has(client)) return;
    const session = this.getOrCreate(client.id);
    const changed: { filter: string; before: SubscriptionOptions | undefined; now: SubscriptionOptions }[] = [];
    for (const subscription of subscriptions) {
      const { topic: filter } = subscription;
      const now = optionsOf(subscription);
      const before = session.filters.get(filter);
      if (before === undefined ? !this.#reserveFilter(session, filter) : isSame(before, now)) continue;
      this.subscriptions.put(session, filter, now);
      changed.push({ filter, before, now });
    }
    if (changed.length === 0) {
      // The same may still be on its way to the disk.
      await session.subscribing;
      return;
    }
    const write = this.write(
      session,
      changed.map(({ filter, now }) => putSubscription(session.key, filter, now)),
    );
    session.subscribing = write;
    try {
      await write;
    } catch (error) {
      for (const { filter, before, now } of changed.reverse()) {
        if (session.filters.get(filter) !== now) continue;
        if (before === undefined) this.subscriptions.remove(session, filter);
        else this.subscriptions.put(session, filter, before);
      }
      throw error;
    } finally {
      if (session.subscribing === write) session.subscribing = undefined;
    }
  }

  async unsubscribe(client: PacketClient, filters: readonly string[]): Promise<void> {
    const session = this.#byClient.get(client.id);
    if (session === undefined || this.#ended.has(client)) return;
    const known = filters.filter((filter) => session.filters.has(filter));
    if (known.length === 0) return;
    for (const filter of known) this.subscriptions.remove(session, filter);
    await this.write(
      session,
      known.map((filter) => ({ kind: 'filter-removed', session: session.key, filter })),
    );
  }

  listOf(clientId: string): Subscription[] {
    const filters = this.#byClient.get(clientId)?.filters ?? [];
    return Array.from(filters, ([topic, options]) => ({ topic, ...options }));
  }

  *clientsOf(filter: string): Iterable<string> {
    for (const [clientId, { filters }] of this.#byClient) if (filters.has(filter)) yield clientId;
  }

  /** Stops deleting rows; the next start continues. */
  close(): void {
    this.#closed = true;
  }

  #resume(session: StoredSession): void {
    if (session.awayMs === undefined) return;
    session.awayMs = undefined;
    // A crash before this is written makes the session expire earlier, by the length of this connection.
    this.#writes.finish([putAway(session)]).catch(() => {});
  }

  /** Deletes rows in slices until a slice is not full. */
  #clearInSlices(slice: MqttChange): void {
    if (this.#closed) return;
    this.#writes.write([slice]).then(
      ([rows = 0]) => {
        if (rows === clearRowsMax) this.#clearInSlices(slice);
      },
      // The next start deletes them.
      () => {},
    );
  }

  #reserveFilter(session: StoredSession, filter: string): boolean {
    return this.hasCapacityFor(session.clientId, filter) && this.#usage.takeFilter(session, filter);
  }

  #giveTo(session: StoredSession, user: UserKey): void {
    this.#drop(session);
    session.user = user;
    this.#adopt(session);
  }

  #adopt(session: StoredSession): void {
    session.ended = false;
    this.#index(session);
    this.#usage.countSession(session.user, session.clientId);
    this.#usage.countBytes(session.user, inFlightBytesOf(session));
    this.subscriptions.addAll(session);
  }

  #index(session: StoredSession): void {
    this.#byClient.set(session.clientId, session);
    if (session.user === undefined) return;
    const theirs = this.#byUser.get(session.user);
    if (theirs === undefined) this.#byUser.set(session.user, new Set([session]));
    else theirs.add(session);
  }

  #drop(session: StoredSession): void {
    session.ended = true;
    this.#byClient.delete(session.clientId);
    const theirs = session.user === undefined ? undefined : this.#byUser.get(session.user);
    theirs?.delete(session);
    if (session.user !== undefined && theirs?.size === 0) this.#byUser.delete(session.user);
    this.#usage.giveSession(session.user, session.clientId);
    this.#usage.releaseBytes(session.user, inFlightBytesOf(session));
    this.subscriptions.removeAll(session);
  }
}

/** Sessions examined, and ended, before other work has its turn. */
const expiryStep = 2_000;
const expiredAtOnceMax = 50;
