// The filters of all connected clients in one tree; replaces aedes's own emitter. A removed filter gets nothing from
// that moment on, and is taken out of the tree within a bounded part of each turn of the event loop, so that a thousand
// clients leaving at once hold up nobody. Whom a topic's messages go to is remembered until any filter is added or
// removed. Used by broker.ts. Bounded by the live filters (live-filters.ts) and as many that are still being taken out:
// removing may take as much time of each turn as adding (packet-reader.ts).
import type { AedesPublishPacket, Client } from 'aedes';
import { Qlobber } from 'qlobber';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import { remembered } from '../../domain/remembered.ts';
import { keyOf, type Levels, matchesForm, parseTopic } from '../topics.ts';
import { clientOf, type Deliver, type Recipients, type TopicSubscriber, weightOfRecipients } from './recipients.ts';

/** A packet of the broker that may say which levels of its topic filters must name. */
type RoutedPacket = AedesPublishPacket & { readonly exactLevels?: Levels };

/** Hands a message to its recipients; calls `done` when each has taken or dropped it. */
export type HandOut = (packet: AedesPublishPacket, recipients: Recipients, done: () => void) => void;

export class Subscribers {
  readonly #handOut: HandOut;
  readonly #tree = new Qlobber<Deliver>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    match_empty_levels: true,
  });
  /** Removed and still in the tree, with the filter. Functions are unique: aedes creates one for each filter. */
  readonly #givenUp = new Map<Deliver, string>();
  /** Whose function it is, and for which filter. Each has an entry from when it is added until it is removed. */
  readonly #filters = new Map<Deliver, { readonly client: Client; readonly filter: string }>();
  /** By topic; cleared with every change of a filter. */
  readonly #recipients = new LruCache<string, Recipients>({
    weightMax: limits.recipientsCachedBytesMax,
    pool: remembered,
    weigh: weightOfRecipients,
  });
  /** Milliseconds spent on taking out in this turn. */
  #takenMs = 0;
  #isNextAsked = false;
  #isClosed = false;
  /** Messages handed out since the start, each counted for each of its subscribers. */
  handedOut = 0;

  constructor(handOut: HandOut) {
    this.#handOut = handOut;
  }

  /** aedes calls this for each added filter. */
  on(filter: string, deliver: Deliver, done?: () => void): void {
    this.#forgetRecipients();
    // The broker's own functions would take the question for a message.
    const client = filter.startsWith('$SYS/') ? undefined : clientOf(deliver);
    if (client !== undefined) this.#filters.set(deliver, { client, filter });
    this.#tree.add(filter, deliver);
    done?.();
  }

  /** aedes calls this for each removed filter. */
  removeListener(filter: string, deliver: Deliver, done?: () => void): void {
    this.#forgetRecipients();
    this.#filters.delete(deliver);
    this.#givenUp.set(deliver, filter);
    this.#takeOut();
    done?.();
  }

  /** Hands a message to all matching subscribers; `done` is called when each has taken or dropped it. */
  emit(packet: AedesPublishPacket, done: (error?: Error) => void): void {
    if (this.#isClosed) {
      done(new Error('The broker is closed.'));
      return;
    }
    const recipients = this.#recipientsOf(packet.topic, (packet as RoutedPacket).exactLevels);
    this.handedOut += recipients.all.length;
    this.#handOut(packet, recipients, done);
  }

  /** aedes calls this when it closes. */
  close(done: () => void): void {
    this.#isClosed = true;
    setImmediate(done);
  }

  /** How many subscriptions of connected clients match a topic, and name the levels that must be named. */
  count(topic: string, exactLevels?: Levels): number {
    return this.#recipientsOf(topic, exactLevels).all.length;
  }

  #forgetRecipients(): void {
    // Clearing takes time for as many as there ever were, and filters come in thousands.
    if (this.#recipients.size > 0) this.#recipients.clear();
  }

  #recipientsOf(topic: string, exactLevels?: Levels): Recipients {
    const key = keyOf(topic, exactLevels);
    const known = this.#recipients.get(key);
    if (known !== undefined) return known;
    const found: Recipients = { topic: parseTopic(topic), all: this.#find(topic, exactLevels) };
    this.#recipients.set(key, found);
    return found;
  }

  /** A client with several filters for the topic is found once; filters that ask for its other form do not count. */
  #find(topic: string, exactLevels: Levels | undefined): TopicSubscriber[] {
    const found: TopicSubscriber[] = [];
    const clients = new Set<Client>();
    for (const deliver of this.#takersOf(topic)) {
      const { client, filter } = this.#filters.get(deliver) ?? { client: undefined, filter: topic };
      if (!matchesForm(filter, topic, exactLevels)) continue;
      if (client !== undefined && clients.has(client)) continue;
      if (client !== undefined) clients.add(client);
      found.push({ client, deliver, grant: undefined });
    }
    return found;
  }

  #takersOf(topic: string): readonly Deliver[] {
    const takers = this.#tree.match(topic);
    return this.#givenUp.size === 0 ? takers : takers.filter((deliver) => !this.#givenUp.has(deliver));
  }

  /** Takes removed filters out of the tree while there is time in this turn. */
  #takeOut(): void {
    for (const [deliver, filter] of this.#givenUp) {
      if (this.#takenMs >= limits.turnMsMin) return;
      const fromMs = performance.now();
      this.#givenUp.delete(deliver);
      this.#tree.remove(filter, deliver);
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
