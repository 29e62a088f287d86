// Has PUBACK and PUBREC leave in the order of their PUBLISHes [MQTT-4.6.0-2, MQTT-4.6.0-3], although some messages are
// stored, others dropped or relayed, and take their time. Each PUBLISH takes a place when it is read; its answer is
// written once all answers before it are. Used by incoming-publishes.ts and usual-publishes.ts.
import type { Client } from './client.ts';

/** The place of one PUBLISH, or of several that are answered together. */
export interface AnswerPlace {
  /** Writes the answer as soon as it is its turn; without `write` there is no answer. Call it once. */
  end(write?: () => void): void;
}

interface Place extends AnswerPlace {
  readonly messageIds: Iterable<number>;
  write: (() => void) | undefined;
  hasEnded: boolean;
}

const none: readonly number[] = [];

/**
 * The places of one kind of answer on one connection, in order. As many as publishes are under way, which the reader of
 * packets bounds.
 */
class AnswerQueue {
  #places: Place[] = [];
  #isWriting = false;
  /** How many places wait for each packet id. */
  readonly #waiting = new Map<number, number>();

  /** Takes the next place. `messageIds`: of PUBLISHes that may be repeated while they wait; not to change until it ends. */
  open(messageIds: Iterable<number> = none): AnswerPlace {
    for (const id of messageIds) this.#waiting.set(id, (this.#waiting.get(id) ?? 0) + 1);
    const place: Place = {
      messageIds,
      write: undefined,
      hasEnded: false,
      end: (write) => {
        place.write = write;
        place.hasEnded = true;
        this.#advance();
      },
    };
    this.#places.push(place);
    return place;
  }

  /** How many packet ids wait for their answers. */
  get waitingIds(): number {
    return this.#waiting.size;
  }

  /** Whether a PUBLISH of this id waits for its answer. */
  has(messageId: number | undefined): boolean {
    return messageId !== undefined && this.#waiting.has(messageId);
  }

  /** Resolves when it is the turn of this place. */
  turnOf(place: AnswerPlace): Promise<void> {
    const index = this.#places.indexOf(place as Place);
    if (index <= 0) return Promise.resolve();
    const before = this.#places[index - 1] as Place;
    return new Promise((resolve) => {
      // A place of its own right before, which ends when all before it have been answered.
      const turn: Place = { messageIds: none, write: resolve, hasEnded: true, end: () => {} };
      this.#places.splice(this.#places.indexOf(before) + 1, 0, turn);
    });
  }

  #advance(): void {
    // A write may end other places.
    if (this.#isWriting) return;
    this.#isWriting = true;
    let count = 0;
    for (; this.#places[count]?.hasEnded === true; count++) this.#places[count]?.write?.();
    for (const { messageIds } of this.#places.splice(0, count)) for (const id of messageIds) this.#answered(id);
    this.#isWriting = false;
  }

  #answered(id: number): void {
    const places = this.#waiting.get(id) ?? 0;
    if (places > 1) this.#waiting.set(id, places - 1);
    else this.#waiting.delete(id);
  }
}

interface Orders {
  readonly pubacks: AnswerQueue;
  readonly pubrecs: AnswerQueue;
}

/** The two orders of each connection: of its PUBACKs, and of its PUBRECs. */
export class AnswerOrder {
  readonly #ofClients = new WeakMap<Client, Orders>();

  of(client: Client): Orders {
    let orders = this.#ofClients.get(client);
    if (orders === undefined) {
      orders = { pubacks: new AnswerQueue(), pubrecs: new AnswerQueue() };
      this.#ofClients.set(client, orders);
    }
    return orders;
  }
}
