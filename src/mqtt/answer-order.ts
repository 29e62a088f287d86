// Has PUBACK and PUBREC leave in the order of their PUBLISHes [MQTT-4.6.0-2, MQTT-4.6.0-3], although some messages are
// stored, others dropped or relayed, and take their time. Each PUBLISH takes a place when it is read; its answer is
// written once all answers before it are. Used by mqtt-server.ts, broker.ts and fast-path.ts.
import type { Client, PublishPacket } from 'aedes';

/** The place of one PUBLISH, or of several that are answered together. */
export interface AnswerPlace {
  /** Writes the answer as soon as it is its turn; without `write` there is no answer. Call it once. */
  end(write?: () => void): void;
}

interface Place extends AnswerPlace {
  readonly messageId: number | undefined;
  write: (() => void) | undefined;
  hasEnded: boolean;
}

/**
 * The places of one kind of answer on one connection, in order. As many as publishes are under way, which the reader of
 * packets bounds.
 */
class AnswerQueue {
  #places: Place[] = [];
  #isWriting = false;

  /** Takes the next place. `messageId`: of a PUBLISH that may be repeated while it waits. */
  open(messageId?: number): AnswerPlace {
    const place: Place = {
      messageId,
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

  /** Whether a PUBLISH of this id waits for its answer. */
  has(messageId: number | undefined): boolean {
    return this.#places.some((place) => place.messageId === messageId);
  }

  /** Resolves when it is the turn of this place. */
  turnOf(place: AnswerPlace): Promise<void> {
    const index = this.#places.indexOf(place as Place);
    if (index <= 0) return Promise.resolve();
    const before = this.#places[index - 1] as Place;
    return new Promise((resolve) => {
      // A place of its own right before, which ends when all before it have been answered.
      const turn: Place = { messageId: undefined, write: resolve, hasEnded: true, end: () => {} };
      this.#places.splice(this.#places.indexOf(before) + 1, 0, turn);
    });
  }

  #advance(): void {
    // A write may end other places.
    if (this.#isWriting) return;
    this.#isWriting = true;
    let count = 0;
    for (; this.#places[count]?.hasEnded === true; count++) this.#places[count]?.write?.();
    this.#places.splice(0, count);
    this.#isWriting = false;
  }
}

interface Orders {
  readonly pubacks: AnswerQueue;
  readonly pubrecs: AnswerQueue;
}

/** The two orders of each connection: of its PUBACKs, and of its PUBRECs. */
export class AnswerOrder {
  readonly #isReceived: (client: Client, packet: PublishPacket) => Promise<boolean>;
  readonly #ofClients = new WeakMap<Client, Orders>();
  /** Places of QoS 2 packets that the broker is storing or routing. */
  readonly #places = new WeakMap<object, AnswerPlace>();

  /** @param isReceived whether a QoS 2 packet of this id was stored and awaits its PUBREL. */
  constructor(isReceived: (client: Client, packet: PublishPacket) => Promise<boolean>) {
    this.#isReceived = isReceived;
  }

  of(client: Client): Orders {
    let orders = this.#ofClients.get(client);
    if (orders === undefined) {
      orders = { pubacks: new AnswerQueue(), pubrecs: new AnswerQueue() };
      this.#ofClients.set(client, orders);
    }
    return orders;
  }

  /**
   * Takes the place of a PUBLISH. Returns what has the broker go on with it once it is decided. With QoS 1 the broker then
   * writes the PUBACK. With QoS 2 it stores the packet first, and writes the PUBREC when `Broker.publish` calls back; for a
   * packet that it knows it does so at once, so such a one waits for its turn here.
   */
  inOrder(client: Client, packet: PublishPacket, done: () => void): () => void {
    const { pubacks, pubrecs } = this.of(client);
    if (packet.qos === 1) {
      const place = pubacks.open();
      return () => place.end(done);
    }
    if (packet.qos !== 2) return done;
    const mayRepeat = packet.dup === true || pubrecs.has(packet.messageId);
    const place = pubrecs.open(packet.messageId);
    return () => void this.#receive(client, { packet, place, mayRepeat }).then(done);
  }

  /** Writes the answer of a routed packet in its turn; at once where it has no place. */
  answer(packet: object, write: () => void): void {
    const place = this.#places.get(packet);
    if (place === undefined) write();
    else place.end(write);
  }

  /** Resolves when the broker may store a QoS 2 packet, or answer one that it has stored before. */
  async #receive(
    client: Client,
    received: { readonly packet: PublishPacket; readonly place: AnswerPlace; readonly mayRepeat: boolean },
  ): Promise<void> {
    const { packet, place, mayRepeat } = received;
    if (mayRepeat || (await this.#isReceived(client, packet))) {
      await this.of(client).pubrecs.turnOf(place);
      if (await this.#isReceived(client, packet)) {
        // The broker writes this PUBREC in a moment, without a call of `Broker.publish`.
        setImmediate(() => place.end());
        return;
      }
    }
    this.#places.set(packet, place);
  }
}
