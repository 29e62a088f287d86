// Stores what SUBSCRIBE and UNSUBSCRIBE change of a stored session: in memory at once, then in the tables; what cannot be written
// is taken back. A session has limits.sessionFiltersMax filters at most, and what the quota of its user allows (I4).
import { limits } from '../../../../config/limits.ts';
import type { PacketClient, Subscription, SubscriptionOptions } from '../../../../domain/ports/mqtt-sessions.ts';
import type { MqttUsage } from '../mqtt-usage.ts';
import { isSame, optionsOf, type StoredSession } from './mqtt-session.ts';
import { putSubscription } from './session-changes.ts';
import type { SessionIndex } from './session-index.ts';
import type { StoredSessions } from './stored-sessions.ts';

export class SubscriptionWrites {
  readonly #index: SessionIndex;
  readonly #sessions: Pick<StoredSessions, 'hasEnded' | 'write'>;
  readonly #usage: MqttUsage;

  constructor(parts: {
    readonly index: SessionIndex;
    readonly sessions: Pick<StoredSessions, 'hasEnded' | 'write'>;
    readonly usage: MqttUsage;
  }) {
    this.#index = parts.index;
    this.#sessions = parts.sessions;
    this.#usage = parts.usage;
  }

  /** Whether the session may have this filter; a filter that it has already is always allowed. */
  hasCapacityFor(clientId: string, filter: string): boolean {
    const session = this.#index.find(clientId);
    if (session?.filters.has(filter)) return true;
    if (Buffer.byteLength(filter) > limits.topicFilterBytesMax) return false;
    if (session === undefined) return true;
    return session.filters.size < limits.sessionFiltersMax && this.#usage.hasCapacityForFilter(session, filter);
  }

  /** Stores subscriptions. A filter beyond the session's bound is left out; it was refused before. */
  async subscribe(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void> {
    if (this.#sessions.hasEnded(client)) return;
    const session = this.#index.getOrCreate(client.id);
    const changed: { filter: string; before: SubscriptionOptions | undefined; now: SubscriptionOptions }[] = [];
    for (const subscription of subscriptions) {
      const { topic: filter } = subscription;
      const now = optionsOf(subscription);
      const before = session.filters.get(filter);
      if (before === undefined ? !this.#reserve(session, filter) : isSame(before, now)) continue;
      this.#index.subscriptions.put(session, filter, now);
      changed.push({ filter, before, now });
    }
    if (changed.length === 0) {
      // The same may still be on its way to the disk.
      await session.subscribing;
      return;
    }
    const write = this.#sessions.write(
      session,
      changed.map(({ filter, now }) => putSubscription(session.key, filter, now)),
    );
    session.subscribing = write;
    try {
      await write;
    } catch (error) {
      for (const { filter, before, now } of changed.reverse()) {
        if (session.filters.get(filter) !== now) continue;
        if (before === undefined) this.#index.subscriptions.remove(session, filter);
        else this.#index.subscriptions.put(session, filter, before);
      }
      throw error;
    } finally {
      if (session.subscribing === write) session.subscribing = undefined;
    }
  }

  async unsubscribe(client: PacketClient, filters: readonly string[]): Promise<void> {
    const session = this.#index.find(client.id);
    if (session === undefined || this.#sessions.hasEnded(client)) return;
    const known = filters.filter((filter) => session.filters.has(filter));
    if (known.length === 0) return;
    for (const filter of known) this.#index.subscriptions.remove(session, filter);
    await this.#sessions.write(
      session,
      known.map((filter) => ({ kind: 'filter-removed', session: session.key, filter })),
    );
  }

  #reserve(session: StoredSession, filter: string): boolean {
    return this.hasCapacityFor(session.clientId, filter) && this.#usage.takeFilter(session, filter);
  }
}
