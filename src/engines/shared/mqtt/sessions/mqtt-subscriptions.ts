// The subscriptions of stored sessions, and which sessions get a message. Part of session-index.ts; subscription-writes.ts
// writes the tables. Permission to keep a message is asked once for each user, however many sessions and filters they have.
import type { RoutedMessage, SubscriptionOptions, TopicSubscription } from '../../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { MqttFilterIndex } from '../mqtt-filter-index.ts';
import type { MqttUsage } from '../mqtt-usage.ts';
import type { StoredSession } from './mqtt-session.ts';

export interface SubscriptionRules {
  /** Whether a filter matches topics of this form. */
  readonly matchesForm: (filter: string, topic: string, exactLevels?: readonly number[]) => boolean;
  /** Whether the message may be kept for sessions of this user. */
  readonly mayReceive: (user: UserKey | undefined, message: RoutedMessage) => boolean;
}

export class MqttSubscriptions {
  readonly #rules: SubscriptionRules;
  readonly #usage: MqttUsage;
  readonly #index = new MqttFilterIndex<StoredSession>();
  #subscribers = 0;
  #filterCount = 0;

  constructor(rules: SubscriptionRules, usage: MqttUsage) {
    this.#rules = rules;
    this.#usage = usage;
  }

  /** Adds a filter; the caller has reserved memory for it. */
  put(session: StoredSession, filter: string, options: SubscriptionOptions): void {
    if (options.qos > 0) this.#index.add(filter, session);
    else this.#index.remove(filter, session);
    if (session.filters.size === 0) this.#subscribers += 1;
    if (!session.filters.has(filter)) this.#filterCount += 1;
    session.putFilter(filter, options);
  }

  remove(session: StoredSession, filter: string): void {
    this.#index.remove(filter, session);
    this.#usage.giveFilter(session.user, filter);
    if (session.filters.has(filter)) this.#filterCount -= 1;
    session.removeFilter(filter);
    if (session.filters.size === 0) this.#subscribers -= 1;
  }

  /** Adds all filters of a session again: its removal failed, or it gets another owner. */
  addAll(session: StoredSession): void {
    for (const [filter, { qos }] of session.filters) {
      this.#usage.countFilter(session.user, filter);
      if (qos > 0) this.#index.add(filter, session);
    }
    this.#filterCount += session.filters.size;
    if (session.filters.size > 0) this.#subscribers += 1;
  }

  /** Removes all filters of a session that was ended; the session still lists them. */
  removeAll(session: StoredSession): void {
    for (const filter of session.filters.keys()) {
      this.#usage.giveFilter(session.user, filter);
      this.#index.remove(filter, session);
    }
    this.#filterCount -= session.filters.size;
    if (session.filters.size > 0) this.#subscribers -= 1;
  }

  /** Filters of all sessions, in any QoS. */
  get filterCount(): number {
    return this.#filterCount;
  }

  /** Whether any session is to get this message. */
  hasSubscribers(message: RoutedMessage): boolean {
    const { topic = '' } = message;
    const mayReceive = this.#judge(message);
    return this.#index.match(topic).some((found) => this.#takes(found.filter, message) && found.some(mayReceive));
  }

  /** Whether the session under this client id is to get this message. */
  takes(clientId: string, message: RoutedMessage): boolean {
    for (const session of this.takersOf(message).keys()) if (session.clientId === clientId) return true;
    return false;
  }

  /**
   * The sessions that are to get this message, each with the highest QoS of its matching filters [MQTT-3.3.5-1], but for those
   * that ask for no messages of their own client [MQTT-3.8.3-3].
   */
  takersOf(message: RoutedMessage): Map<StoredSession, number> {
    const { topic = '', publisherId } = message;
    const takers = new Map<StoredSession, number>();
    const mayReceive = this.#judge(message);
    for (const found of this.#index.match(topic)) {
      if (!this.#takes(found.filter, message)) continue;
      for (const session of found.of(mayReceive)) {
        const { qos = 0, nl = false } = session.filters.get(found.filter) ?? {};
        if (nl && session.clientId === publisherId) continue;
        if (qos > (takers.get(session) ?? 0)) takers.set(session, qos);
      }
    }
    return takers;
  }

  /** The QoS 1 and 2 subscriptions that match this topic; a client is listed once for each of its subscriptions. */
  match(topic: string): TopicSubscription[] {
    const mayReceive = this.#judge({ topic });
    return this.#index.match(topic).flatMap((found) => {
      if (!this.#takes(found.filter, { topic })) return [];
      return Array.from(found.of(mayReceive), ({ clientId, filters }) => {
        return { clientId, topic: found.filter, ...(filters.get(found.filter) as SubscriptionOptions) };
      });
    });
  }

  count(): { readonly subsCount: number; readonly clientsCount: number } {
    return { subsCount: this.#index.size, clientsCount: this.#subscribers };
  }

  /** Returns a function that asks for permission once for each user, however many filters and sessions they have. */
  #judge(message: RoutedMessage): (user: UserKey | undefined) => boolean {
    const judged = new Map<UserKey | undefined, boolean>();
    return (user) => {
      let may = judged.get(user);
      if (may === undefined) {
        may = this.#rules.mayReceive(user, message);
        judged.set(user, may);
      }
      return may;
    };
  }

  #takes(filter: string, { topic = '', exactLevels }: RoutedMessage): boolean {
    // A leading wildcard does not match topics that begin with `$` [MQTT-4.7.2-1].
    if (topic.startsWith('$') && (filter.startsWith('#') || filter.startsWith('+'))) return false;
    return this.#rules.matchesForm(filter, topic, exactLevels);
  }
}
