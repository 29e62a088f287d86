// Searches that wait for their turn: callers in rotation, bounded in total and for each caller. For the searches of every
// engine.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { SearchOptions } from './registry.ts';

export interface WaitingSearch extends SearchOptions {
  readonly reject: (error: Error) => void;
}

export class SearchQueue<Search extends WaitingSearch> {
  /** By caller; the first caller is the next to be served. */
  readonly #waiting = new Map<string, Search[]>();
  #count = 0;

  /** @throws Refusal `busy` when too many wait. */
  assertRoom(caller: string): void {
    const ownCount = this.#waiting.get(caller)?.length ?? 0;
    const isFull = this.#count >= limits.searchesWaitingMax;
    if (ownCount >= limits.searchesPerCallerMax || (isFull && !this.#freeSlotFor(ownCount))) throw tooMany();
  }

  add(search: Search): void {
    const own = this.#waiting.get(search.caller);
    if (own === undefined) this.#waiting.set(search.caller, [search]);
    else own.push(search);
    this.#count += 1;
  }

  /** The next one whose asker is still there; the others are refused. */
  next(): Search | undefined {
    let search = this.#take();
    while (search?.isGone?.() === true) {
      search.reject(searchRefusal('The connection ended before the search began.'));
      search = this.#take();
    }
    return search;
  }

  rejectAll(error: Error): void {
    for (const searches of this.#waiting.values()) for (const { reject } of searches) reject(error);
    this.#waiting.clear();
    this.#count = 0;
  }

  #take(): Search | undefined {
    const [turn] = this.#waiting;
    if (turn === undefined) return undefined;
    const [caller, searches] = turn;
    const search = searches.shift();
    this.#waiting.delete(caller);
    // The caller goes to the end of the order.
    if (searches.length > 0) this.#waiting.set(caller, searches);
    this.#count -= 1;
    return search;
  }

  /** Refuses the last search of the caller with the most, if that has more than the new search's caller would have. */
  #freeSlotFor(ownCount: number): boolean {
    let most: Search[] | undefined;
    for (const searches of this.#waiting.values()) {
      if (searches.length > (most?.length ?? ownCount + 1)) most = searches;
    }
    const last = most?.pop();
    if (last === undefined) return false;
    this.#count -= 1;
    last.reject(tooMany());
    return true;
  }
}

export function searchRefusal(message: string): Refusal {
  return new Refusal('busy', message, { retryAfterS: limits.busyRetryAfterS });
}

/** For a search that took more than its time. */
export function searchTooLong(): Refusal {
  return searchRefusal('The list took too long to find. Ask with a narrower filter, or later.');
}

function tooMany(): Refusal {
  return searchRefusal('More lists are asked for than can be answered. Send the request again.');
}
