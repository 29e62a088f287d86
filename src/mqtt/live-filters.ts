// The filters of clients that are connected: how many and how long they may be, and whose share of memory they take. Asked
// by mqtt-server.ts when a client subscribes, unsubscribes and goes. Bounded by limits.sessionFiltersMax a session and
// limits.liveFilterBytesMax in all, of which a caller has at most as much as is free (I4).
import { FairBudget } from '../base/memory/fair-budget.ts';
import { limits } from '../config/limits.ts';
import { remembered } from '../domain/remembered.ts';
import type { ClientSession, QoS } from './sessions.ts';

export class LiveFilters {
  readonly #budget = new FairBudget<string>(limits.liveFilterBytesMax, { pool: remembered });
  /** What each session has of the budget; nothing once its client has gone. */
  readonly #bytes = new WeakMap<ClientSession, number>();

  /** False where the filter is not granted: SUBACK 128. One that is held already is no further one. */
  take(session: ClientSession, filter: string, qos: QoS): boolean {
    if (!session.filters.has(filter)) {
      if (session.filters.size >= limits.sessionFiltersMax) return false;
      if (Buffer.byteLength(filter) > limits.topicFilterBytesMax) return false;
      const weight = weightOf(filter);
      if (!this.#budget.take(session.actor.caller.key, weight)) return false;
      this.#bytes.set(session, (this.#bytes.get(session) ?? 0) + weight);
    }
    session.filters.set(filter, qos);
    return true;
  }

  giveBack(session: ClientSession | undefined, filter: string): void {
    if (session?.filters.delete(filter)) this.#giveBytes(session, weightOf(filter));
  }

  /** The client has gone. The filters stay, because what is still under way to it is judged by them. */
  giveBackAll(session: ClientSession): void {
    this.#giveBytes(session, this.#bytes.get(session) ?? 0);
  }

  #giveBytes(session: ClientSession, wanted: number): void {
    const held = this.#bytes.get(session) ?? 0;
    const bytes = Math.min(wanted, held);
    this.#bytes.set(session, held - bytes);
    this.#budget.giveBack(session.actor.caller.key, bytes);
  }
}

/** Bytes of memory, measured: the broker holds it in two trees of maps, one for each level. */
function weightOf(filter: string): number {
  let levels = 1;
  for (let at = filter.indexOf('/'); at >= 0; at = filter.indexOf('/', at + 1)) levels += 1;
  return 1_024 + 4 * filter.length + 512 * levels;
}
