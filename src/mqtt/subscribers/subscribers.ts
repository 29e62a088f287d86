// The filters of all connected clients in one tree; replaces aedes's own emitter. A removed filter gets nothing from
// that moment on, and is taken out of the tree within a bounded part of each turn of the event loop, so that a thousand
// clients leaving at once hold up nobody. Used by broker.ts. Bounded by the live filters (live-filters.ts) and as many
// that are still being taken out: removing may take as much time of each turn as adding (packet-reader.ts).
import type { AedesPublishPacket } from 'aedes';
import { Qlobber } from 'qlobber';
import { limits } from '../../config/limits.ts';

export type Deliver = (packet: AedesPublishPacket, done: () => void) => void;

export class Subscribers {
  readonly #tree = new Qlobber<Deliver>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    match_empty_levels: true,
  });
  /** Removed and still in the tree, with the filter. Functions are unique: aedes creates one for each filter. */
  readonly #givenUp = new Map<Deliver, string>();
  /** Milliseconds spent on taking out in this turn. */
  #takenMs = 0;
  #isNextAsked = false;
  #isClosed = false;
  /** Messages handed out since the start, each counted for each of its subscribers. */
  handedOut = 0;

  /** aedes calls this for each added filter. */
  on(filter: string, deliver: Deliver, done?: () => void): void {
    this.#tree.add(filter, deliver);
    done?.();
  }

  /** aedes calls this for each removed filter. */
  removeListener(filter: string, deliver: Deliver, done?: () => void): void {
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
    const takers = this.#takersOf(packet.topic);
    let left = takers.length;
    this.handedOut += left;
    if (left === 0) done();
    const delivered = () => {
      left -= 1;
      if (left === 0) done();
    };
    for (const deliver of takers) deliver(packet, delivered);
  }

  /** aedes calls this when it closes. */
  close(done: () => void): void {
    this.#isClosed = true;
    setImmediate(done);
  }

  /** How many subscriptions of connected clients match a topic. */
  count(topic: string): number {
    return this.#takersOf(topic).length;
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
