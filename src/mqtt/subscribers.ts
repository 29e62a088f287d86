// Who is to get what goes out: the filters of all who are connected, in one tree, in place of aedes's own emitter. A filter
// that is given up gets nothing more from that moment, and is taken out of the tree within a bounded part of each turn of the
// event loop, so that a thousand clients that go at once hold up nobody. Used by broker.ts. Bounded by the filters there
// are (live-filters.ts), and by as many that are being taken out: that has as much time as adding has (fast-path.ts).
import type { AedesPublishPacket } from 'aedes';
import { Qlobber } from 'qlobber';
import { limits } from '../config/limits.ts';

export type Deliver = (packet: AedesPublishPacket, done: () => void) => void;

export class Subscribers {
  readonly #tree = new Qlobber<Deliver>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    match_empty_levels: true,
  });
  /** What is given up and still in the tree, with its filter. Nothing is given twice: aedes makes a function for each. */
  readonly #givenUp = new Map<Deliver, string>();
  /** Milliseconds of this turn that taking out has had. */
  #takenMs = 0;
  #isNextAsked = false;
  #isClosed = false;

  /** aedes calls this for each filter. */
  on(filter: string, deliver: Deliver, done?: () => void): void {
    this.#tree.add(filter, deliver);
    done?.();
  }

  /** aedes calls this for each filter that is given up. */
  removeListener(filter: string, deliver: Deliver, done?: () => void): void {
    this.#givenUp.set(deliver, filter);
    this.#takeOut();
    done?.();
  }

  /** Hands a message to all who asked for it; `done` is called when each has it, or will not have it. */
  emit(packet: AedesPublishPacket, done: (error?: Error) => void): void {
    if (this.#isClosed) {
      done(new Error('The broker is closed.'));
      return;
    }
    const takers = this.#takersOf(packet.topic);
    let left = takers.length;
    if (left === 0) done();
    const delivered = () => {
      left -= 1;
      if (left === 0) done();
    };
    for (const deliver of takers) deliver(packet, delivered);
  }

  /** aedes calls this at its end. */
  close(done: () => void): void {
    this.#isClosed = true;
    setImmediate(done);
  }

  /** Whether anybody asked for a topic. */
  has(topic: string): boolean {
    return this.#takersOf(topic).length > 0;
  }

  #takersOf(topic: string): readonly Deliver[] {
    const takers = this.#tree.match(topic);
    return this.#givenUp.size === 0 ? takers : takers.filter((deliver) => !this.#givenUp.has(deliver));
  }

  /** Takes out what there is time for. */
  #takeOut(): void {
    for (const [deliver, filter] of this.#givenUp) {
      if (this.#takenMs >= limits.turnMsMax) return;
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
