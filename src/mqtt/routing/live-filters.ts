// Bounds the filters of connected clients: their number, their length, and each caller's share of their memory. Asked
// by subscribing.ts when a client subscribes, unsubscribes and leaves. Bounded by limits.sessionFiltersMax a session
// and limits.liveFilterBytesMax in all, of which a caller may have at most as much as is free (I4). All callers without
// an account together leave a part to users: they can come from any number of addresses.
import { FairBudget } from '../../base/memory/fair-budget.ts';
import { limits } from '../../config/limits.ts';
import { remembered } from '../../domain/remembered.ts';
import type { ClientSession } from '../sessions.ts';
import { type FilterOptions, LiveFilter } from './live-filter.ts';

export class LiveFilters {
  readonly #budget = new FairBudget<string>(limits.liveFilterBytesMax, { pool: remembered });
  /** The part of it that guests hold; a single address may hold as much as a single user. */
  readonly #ofGuests = new FairBudget<string>(limits.liveFilterBytesMax * guestShare, { multiple: 2 });
  /** Bytes that each session holds; no entry once its client has gone. */
  readonly #bytes = new WeakMap<ClientSession, number>();
  #ofClean = 0;

  /** Filters of connected clients with a clean session. */
  get ofClean(): number {
    return this.#ofClean;
  }

  /**
   * Reserves memory for a filter of the session, or changes the options of one that it has. Undefined: it may have no more
   * filters, SUBACK 128.
   */
  take(session: ClientSession, filter: string, options: FilterOptions): LiveFilter | undefined {
    const known = session.filters.get(filter);
    if (known === undefined && !this.#reserve(session, filter)) return undefined;
    session.filterChanges += 1;
    if (known !== undefined) {
      known.options = options;
      return known;
    }
    const live = new LiveFilter(session.client, filter, options);
    session.filters.set(filter, live);
    return live;
  }

  #reserve(session: ClientSession, filter: string): boolean {
    if (session.filters.size >= limits.sessionFiltersMax) return false;
    if (Buffer.byteLength(filter) > limits.topicFilterBytesMax) return false;
    const weight = weightOf(filter);
    const { caller, guest } = session.actor;
    if (guest && !this.#ofGuests.hasCapacityFor(caller.key, weight)) return false;
    if (!this.#budget.take(caller.key, weight)) return false;
    if (guest) this.#ofGuests.count(caller.key, weight);
    this.#bytes.set(session, (this.#bytes.get(session) ?? 0) + weight);
    if (session.client.clean) this.#ofClean += 1;
    return true;
  }

  release(session: ClientSession | undefined, filter: string): void {
    if (!session?.filters.delete(filter)) return;
    session.filterChanges += 1;
    if (session.client.clean && this.#bytes.has(session)) this.#ofClean -= 1;
    this.#releaseBytes(session, weightOf(filter));
  }

  /** Call when the client has gone. Its filters stay in the session: messages still on their way are checked by them. */
  releaseAll(session: ClientSession): void {
    if (session.client.clean && this.#bytes.has(session)) this.#ofClean -= session.filters.size;
    this.#releaseBytes(session, this.#bytes.get(session) ?? 0);
    this.#bytes.delete(session);
  }

  #releaseBytes(session: ClientSession, wanted: number): void {
    const held = this.#bytes.get(session);
    if (held === undefined) return;
    const bytes = Math.min(wanted, held);
    this.#bytes.set(session, held - bytes);
    const { caller, guest } = session.actor;
    this.#budget.release(caller.key, bytes);
    if (guest) this.#ofGuests.release(caller.key, bytes);
  }
}

/**
 * The part of the memory that all guests together may use. A caller may hold twice what is free, so one address gets at
 * most two thirds of this part: half of all memory.
 */
const guestShare = 0.75;

/** Measured bytes of memory: the broker holds a filter in two trees of maps, one map for each level. */
function weightOf(filter: string): number {
  let levels = 1;
  for (let at = filter.indexOf('/'); at >= 0; at = filter.indexOf('/', at + 1)) levels += 1;
  return 1_024 + 4 * filter.length + 512 * levels;
}
