// The filters of all connected clients in one tree. A removed filter gets nothing from that moment on, and is taken out of
// the tree within a bounded part of each turn of the event loop, so that a thousand clients leaving at once hold up nobody.
// Whom a topic's messages go to is remembered until any filter is added or removed. Used by router.ts. Bounded by the live
// filters (live-filters.ts) and as many that are still being taken out: removing may take as much time of each turn as adding
// (packet-reader.ts).
import { Qlobber } from 'qlobber';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import { remembered } from '../../domain/remembered.ts';
import type { Client } from '../session/client.ts';
import { keyOf, type Levels, matchesForm, parseTopic } from '../topics.ts';
import type { LiveFilter } from './live-filter.ts';
import { type Recipients, type TopicSubscriber, weightOfRecipients } from './recipients.ts';
import { SharedGroup } from './shared/shared-delivery.ts';

export class Subscribers {
  readonly #tree = new Qlobber<LiveFilter | SharedGroup>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    match_empty_levels: true,
  });
  /** Removed and still in the tree. */
  readonly #givenUp = new Set<LiveFilter | SharedGroup>();
  /** By topic; cleared with every change of a filter. */
  readonly #recipients = new LruCache<string, Recipients>({
    weightMax: limits.recipientsCachedBytesMax,
    pool: remembered,
    weigh: weightOfRecipients,
  });
  #size = 0;
  /** Milliseconds spent on taking out in this turn. */
  #takenMs = 0;
  #isNextAsked = false;

  /** How many filters there are. */
  get size(): number {
    return this.#size;
  }

  add(live: LiveFilter | SharedGroup): void {
    this.#size += 1;
    this.#forgetRecipients();
    this.#tree.add(live.filter, live);
  }

  /** Each filter once. */
  remove(live: LiveFilter | SharedGroup): void {
    this.#size -= 1;
    this.#forgetRecipients();
    this.#givenUp.add(live);
    this.#takeOut();
  }

  /** The clients with a filter for a topic that names the levels that must be named. */
  recipientsOf(topic: string, exactLevels?: Levels): Recipients {
    const key = keyOf(topic, exactLevels);
    const known = this.#recipients.get(key);
    if (known !== undefined) return known;
    const found: Recipients = { topic: parseTopic(topic), ...this.#find(topic, exactLevels) };
    this.#recipients.set(key, found);
    return found;
  }

  #forgetRecipients(): void {
    // Clearing takes time for as many as there ever were, and filters come in thousands.
    if (this.#recipients.size > 0) this.#recipients.clear();
  }

  /** A client with several filters for the topic is found once; filters that ask for its other form do not count. */
  #find(topic: string, exactLevels: Levels | undefined): Pick<Recipients, 'all' | 'groups'> {
    const all: TopicSubscriber[] = [];
    const groups: SharedGroup[] = [];
    const clients = new Set<Client>();
    for (const taker of this.#takersOf(topic)) {
      if (!matchesForm(taker.filter, topic, exactLevels)) continue;
      if (taker instanceof SharedGroup) groups.push(taker);
      else if (!clients.has(taker.client)) {
        clients.add(taker.client);
        all.push({ client: taker.client, grant: undefined });
      }
    }
    return { all, groups };
  }

  #takersOf(topic: string): readonly (LiveFilter | SharedGroup)[] {
    const takers = this.#tree.match(topic);
    return this.#givenUp.size === 0 ? takers : takers.filter((live) => !this.#givenUp.has(live));
  }

  /** Takes removed filters out of the tree while there is time in this turn. */
  #takeOut(): void {
    for (const live of this.#givenUp) {
      if (this.#takenMs >= limits.turnMsMin) return;
      const fromMs = performance.now();
      this.#givenUp.delete(live);
      this.#tree.remove(live.filter, live);
      this.#takenMs += performance.now() - fromMs;
      this.#askNext();
    }
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => {
      this.#isNextAsked = false;
      this.#takenMs = 0;
      this.#takeOut();
    });
  }
}
