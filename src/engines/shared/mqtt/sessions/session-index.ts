// The stored MQTT sessions of this process in memory, by client id and by user, counted for the quotas of their users. Used by
// what changes them and writes the tables (stored-sessions.ts, subscription-writes.ts, session-transfer.ts). Bounded by each
// user's quota, limits.sessionsMax and limits.storedSessionBytesMax (I4).
import { Refusal } from '../../../../base/refusal.ts';
import type { Subscription } from '../../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import type { MqttUsage } from '../mqtt-usage.ts';
import { inFlightBytesOf, StoredSession } from './mqtt-session.ts';
import { MqttSubscriptions, type SubscriptionRules } from './mqtt-subscriptions.ts';

export class SessionIndex {
  readonly #usage: MqttUsage;
  readonly #byClient = new Map<string, StoredSession>();
  readonly #byUser = new Map<UserKey, Set<StoredSession>>();
  readonly subscriptions: MqttSubscriptions;
  /** Filters of sessions that have missed messages, and get none of those that come until they have them (session-catch-up.ts). */
  readonly behind: MqttSubscriptions;
  /** The highest key that a session of this process has had. */
  lastKey = 0;

  constructor(rules: SubscriptionRules, usage: MqttUsage) {
    this.#usage = usage;
    this.subscriptions = new MqttSubscriptions(rules, usage);
    this.behind = new MqttSubscriptions(rules, usage);
  }

  get size(): number {
    return this.#byClient.size;
  }

  find(clientId: string): StoredSession | undefined {
    return this.#byClient.get(clientId);
  }

  /** Users with sessions, each once. */
  users(): Iterable<UserKey> {
    return [...this.#byUser.keys()];
  }

  /** A user's sessions, or all. */
  list(user: UserKey | undefined): Iterable<StoredSession> {
    return user === undefined ? this.#byClient.values() : (this.#byUser.get(user) ?? []);
  }

  subscriptionsOf(clientId: string): Subscription[] {
    const filters = this.#byClient.get(clientId)?.filters ?? [];
    return Array.from(filters, ([topic, options]) => ({ topic, ...options }));
  }

  /** Client ids of the sessions that have this filter. */
  *clientsOf(filter: string): Iterable<string> {
    for (const [clientId, { filters }] of this.#byClient) if (filters.has(filter)) yield clientId;
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
    const session = new StoredSession(++this.lastKey, clientId, { user });
    this.#put(session);
    return session;
  }

  /** Adds a session that is stored already, without filters; beyond the bounds as well. */
  add(session: StoredSession): void {
    this.#put(session);
    this.#usage.countSession(session.user, session.clientId);
  }

  /** Removes a session that ends here, with its filters; it still lists them. */
  remove(session: StoredSession): void {
    session.ended = true;
    this.#byClient.delete(session.clientId);
    const theirs = session.user === undefined ? undefined : this.#byUser.get(session.user);
    theirs?.delete(session);
    if (session.user !== undefined && theirs?.size === 0) this.#byUser.delete(session.user);
    this.#usage.giveSession(session.user, session.clientId);
    this.#usage.releaseBytes(session.user, inFlightBytesOf(session));
    this.#filtersOf(session).removeAll(session);
  }

  /** Messages that come are not kept for the session: it has missed those behind this row of the log. */
  fallBehind(session: StoredSession, row: number): void {
    if (session.ended) return;
    this.#filtersOf(session).removeAll(session);
    session.behindRow = row;
    this.behind.addAll(session);
  }

  /** Messages that come are kept for the session again. */
  catchUp(session: StoredSession): void {
    if (session.behindRow === undefined) return;
    if (!session.ended) this.behind.removeAll(session);
    session.behindRow = undefined;
    if (!session.ended) this.subscriptions.addAll(session);
  }

  #filtersOf({ behindRow }: StoredSession): MqttSubscriptions {
    return behindRow === undefined ? this.subscriptions : this.behind;
  }

  /** Adds a session again that was removed, with its filters and what it has in flight. */
  restore(session: StoredSession): void {
    session.ended = false;
    this.add(session);
    this.#usage.countBytes(session.user, inFlightBytesOf(session));
    this.#filtersOf(session).addAll(session);
  }

  giveTo(session: StoredSession, user: UserKey): void {
    this.remove(session);
    session.user = user;
    this.restore(session);
  }

  #put(session: StoredSession): void {
    this.#byClient.set(session.clientId, session);
    if (session.user === undefined) return;
    const theirs = this.#byUser.get(session.user);
    if (theirs === undefined) this.#byUser.set(session.user, new Set([session]));
    else theirs.add(session);
  }
}
