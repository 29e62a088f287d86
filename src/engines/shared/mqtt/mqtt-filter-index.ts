// Finds the stored sessions that subscribe to a topic with QoS above 0. Each filter is held once, however many sessions
// have it, and its sessions are grouped by user, so that permission is asked once for each user. Used by
// mqtt-subscriptions.ts; subscription-writes.ts bounds the filters by number and weight (I4).
import { Qlobber } from 'qlobber';
import { entryBytes, textHeapBytes } from '../../../base/memory/heap-bytes.ts';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import { limits } from '../../../config/limits.ts';
import { remembered } from '../../../domain/remembered.ts';
import type { UserKey } from '../../../domain/users/user.ts';

/** What this index needs to know of a session. */
export interface IndexedSession {
  readonly user: UserKey | undefined;
}

/** A filter and its sessions. Most filters belong to one session, which is held without a map. */
export class IndexedFilter<S extends IndexedSession> {
  readonly filter: string;
  #only: S | undefined;
  #byUser: Map<UserKey | undefined, Set<S>> | undefined;

  constructor(filter: string) {
    this.filter = filter;
  }

  get isEmpty(): boolean {
    return this.#only === undefined && this.#byUser === undefined;
  }

  /** Adds a session; false where it was there already. */
  add(session: S): boolean {
    if (this.#byUser === undefined) {
      if (this.#only === session) return false;
      if (this.#only === undefined) {
        this.#only = session;
        return true;
      }
      this.#byUser = new Map([[this.#only.user, new Set([this.#only])]]);
      this.#only = undefined;
    }
    const theirs = this.#byUser.get(session.user);
    if (theirs?.has(session)) return false;
    if (theirs === undefined) this.#byUser.set(session.user, new Set([session]));
    else theirs.add(session);
    return true;
  }

  /** Removes a session; false where it was not there. */
  remove(session: S): boolean {
    if (this.#only === session) {
      this.#only = undefined;
      return true;
    }
    const theirs = this.#byUser?.get(session.user);
    if (!theirs?.delete(session)) return false;
    if (theirs.size === 0) this.#byUser?.delete(session.user);
    if (this.#byUser?.size === 0) this.#byUser = undefined;
    return true;
  }

  /** Whether `isTaker` is true for any user with a session. */
  some(isTaker: (user: UserKey | undefined) => boolean): boolean {
    if (this.#only !== undefined) return isTaker(this.#only.user);
    for (const user of this.#byUser?.keys() ?? []) if (isTaker(user)) return true;
    return false;
  }

  /** The sessions of the users for whom `isTaker` is true. */
  *of(isTaker: (user: UserKey | undefined) => boolean): Generator<S> {
    if (this.#only !== undefined) {
      if (isTaker(this.#only.user)) yield this.#only;
      return;
    }
    for (const [user, theirs] of this.#byUser ?? []) if (isTaker(user)) yield* theirs;
  }
}

export class MqttFilterIndex<S extends IndexedSession> {
  readonly #byFilter = new Map<string, IndexedFilter<S>>();
  /** Filters with wildcards; filters without one are found by their text. */
  readonly #wild = new Qlobber<IndexedFilter<S>>(filterGrammar);
  /** The filters that match a topic; cleared when a filter is added or removed. */
  readonly #matches = new LruCache<string, readonly IndexedFilter<S>[]>({
    weightMax: limits.storedMatchesBytesMax,
    pool: remembered,
    entriesMax: limits.storedMatchesCachedMax,
    weigh: (filters, topic) => entryBytes + textHeapBytes(topic) + 8 * filters.length,
  });
  #size = 0;

  /** The number of pairs of a filter and a session. */
  get size(): number {
    return this.#size;
  }

  add(filter: string, session: S): void {
    let indexed = this.#byFilter.get(filter);
    if (indexed === undefined) {
      indexed = new IndexedFilter(filter);
      this.#byFilter.set(filter, indexed);
      if (hasWildcard(filter)) this.#wild.add(filter, indexed);
      this.#matches.clear();
    }
    if (indexed.add(session)) this.#size += 1;
  }

  remove(filter: string, session: S): void {
    const indexed = this.#byFilter.get(filter);
    if (!indexed?.remove(session)) return;
    this.#size -= 1;
    if (!indexed.isEmpty) return;
    this.#byFilter.delete(filter);
    if (hasWildcard(filter)) this.#wild.remove(filter, indexed);
    this.#matches.clear();
  }

  /** The filters that match this topic, each once. */
  match(topic: string): readonly IndexedFilter<S>[] {
    if (this.#size === 0) return none;
    const known = this.#matches.get(topic);
    if (known !== undefined) return known;
    const exact = this.#byFilter.get(topic);
    const wild = this.#wild.match(topic);
    // A topic that is published has no wildcards, so a filter that equals it has none either.
    const found = exact === undefined ? [...wild] : [...wild, exact];
    const matches = found.length === 0 ? none : found;
    if (topic.length <= limits.topicFilterBytesMax) this.#matches.set(topic, matches);
    return matches;
  }
}

/** The grammar of filters; `+` matches an empty level too [MQTT-4.7.1-3]. */
export const filterGrammar = { separator: '/', wildcard_one: '+', wildcard_some: '#', match_empty_levels: true };

function hasWildcard(filter: string): boolean {
  return filter.includes('+') || filter.includes('#');
}

const none: readonly never[] = [];
