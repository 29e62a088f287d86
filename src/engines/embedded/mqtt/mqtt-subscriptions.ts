// What stored sessions subscribe to, and which of them take a message. Part of mqtt-sessions.ts, which keeps the tables.
// Keeps true: whether a message may be kept for a user is judged once, however many sessions and filters they have.
import type { UserKey } from '../../../domain/users/user.ts';
import { MqttFilterIndex } from './mqtt-filter-index.ts';
import type { StoredSession, SubscriptionOptions } from './mqtt-session.ts';
import type { MqttUsage } from './mqtt-usage.ts';

export interface TopicSubscription extends SubscriptionOptions {
  readonly clientId: string;
  readonly topic: string;
}

/** A message as far as it decides who may have it. */
export interface RoutedMessage {
  readonly topic?: string | undefined;
  /** Who published it, where that matters. */
  readonly user?: UserKey | undefined;
}

export interface SubscriptionRules {
  /** Whether a filter takes topics of this form. */
  readonly matchesForm: (filter: string, topic: string) => boolean;
  /** Whether a message is kept for sessions of this user. */
  readonly mayReceive: (user: UserKey | undefined, message: RoutedMessage) => boolean;
}

export class MqttSubscriptions {
  readonly #rules: SubscriptionRules;
  readonly #usage: MqttUsage;
  readonly #index = new MqttFilterIndex<StoredSession>();
  #subscribers = 0;

  constructor(rules: SubscriptionRules, usage: MqttUsage) {
    this.#rules = rules;
    this.#usage = usage;
  }

  /** Room for a new filter has been taken before. */
  put(session: StoredSession, filter: string, options: SubscriptionOptions): void {
    if (options.qos > 0) this.#index.add(filter, session);
    else this.#index.remove(filter, session);
    if (session.filters.size === 0) this.#subscribers += 1;
    session.putFilter(filter, options);
  }

  remove(session: StoredSession, filter: string): void {
    this.#index.remove(filter, session);
    this.#usage.giveFilter(session.user, filter);
    session.removeFilter(filter);
    if (session.filters.size === 0) this.#subscribers -= 1;
  }

  /** All of a session that comes back into memory. */
  addAll(session: StoredSession): void {
    for (const [filter, { qos }] of session.filters) {
      this.#usage.countFilter(session.user, filter);
      if (qos > 0) this.#index.add(filter, session);
    }
    if (session.filters.size > 0) this.#subscribers += 1;
  }

  /** All of a session that is ended; it still knows its filters. */
  removeAll(session: StoredSession): void {
    for (const filter of session.filters.keys()) {
      this.#usage.giveFilter(session.user, filter);
      this.#index.remove(filter, session);
    }
    if (session.filters.size > 0) this.#subscribers -= 1;
  }

  /** Is there a session for which this message is to be kept? */
  hasSubscribers(message: RoutedMessage): boolean {
    const { topic = '' } = message;
    const mayReceive = this.#judge(message);
    return this.#index.match(topic).some((found) => this.#takesForm(found.filter, topic) && found.some(mayReceive));
  }

  /** The sessions for which this message is to be kept, each with the highest QoS of its filters [MQTT-3.3.5-1]. */
  takersOf(message: RoutedMessage): Map<StoredSession, number> {
    const { topic = '' } = message;
    const takers = new Map<StoredSession, number>();
    const mayReceive = this.#judge(message);
    for (const found of this.#index.match(topic)) {
      if (!this.#takesForm(found.filter, topic)) continue;
      for (const session of found.of(mayReceive)) {
        const qos = session.filters.get(found.filter)?.qos ?? 0;
        if (qos > (takers.get(session) ?? 0)) takers.set(session, qos);
      }
    }
    return takers;
  }

  /** The subscriptions of QoS 1 and 2 that take messages of this topic; a client with several is there several times. */
  match(topic: string): TopicSubscription[] {
    const mayReceive = this.#judge({ topic });
    return this.#index.match(topic).flatMap((found) => {
      if (!this.#takesForm(found.filter, topic)) return [];
      return Array.from(found.of(mayReceive), ({ clientId, filters }) => {
        return { clientId, topic: found.filter, ...(filters.get(found.filter) as SubscriptionOptions) };
      });
    });
  }

  count(): { readonly subsCount: number; readonly clientsCount: number } {
    return { subsCount: this.#index.size, clientsCount: this.#subscribers };
  }

  /** Judges each user once for a message, however many filters and sessions they have. */
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

  #takesForm(filter: string, topic: string): boolean {
    // A wildcard in front does not take topics of the server [MQTT-4.7.2-1].
    if (topic.startsWith('$') && (filter.startsWith('#') || filter.startsWith('+'))) return false;
    return this.#rules.matchesForm(filter, topic);
  }
}
