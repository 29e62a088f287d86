// Stored messages (retained, or queued for an absent client) pass the same permission check at delivery as others. The
// check needs the device in memory, so it is loaded before the message is handed out.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MqttSessions, PacketClient, QueueRecipient, StoredPacket } from '../domain/ports/mqtt-sessions.ts';
import type { Published } from './published.ts';
import type { ClientSession } from './sessions.ts';
import { isOfDevice, withIdsOf } from './topics.ts';

/** A stored message; a PUBREL has no topic. */
interface Stored extends StoredPacket {
  readonly device?: number;
  readonly part?: number;
}

export interface StoredMessagesParts {
  readonly stored: MqttSessions;
  /** Loads what the permission check needs; false: the message is not delivered any more. */
  readonly prepare: (message: {
    readonly topic: string;
    readonly device?: number;
    readonly part?: number;
    readonly user?: number;
  }) => Promise<boolean>;
  /** The filter by present ids, where it names a device by a former one. */
  readonly presentFilter: (filter: string) => Promise<string | undefined>;
  /** Whether a message that waits may still be given to the session. */
  readonly mayReplay: (session: ClientSession | undefined, topic: string) => Promise<boolean>;
  readonly sessionOf: (clientId: string) => ClientSession | undefined;
}

export class StoredMessages {
  readonly #parts: StoredMessagesParts;
  /** Messages that are being read, or stored before they are sent: an engine may have to ask for each page of them. */
  #underWay = 0;
  #whenNone: (() => void)[] = [];

  constructor(parts: StoredMessagesParts) {
    this.#parts = parts;
  }

  /** Resolves when none is being read, because all were handed on, or whoever gets them does not take more now. */
  async idle(): Promise<void> {
    while (this.#underWay > 0) {
      await new Promise<void>((resolve) => this.#whenNone.push(resolve));
      // The next one is asked for within two turns of the event loop: it is handed on in the first.
      await nextTurn();
      await nextTurn();
    }
  }

  /** What waits for the session, the oldest first. */
  outgoing(client: PacketClient): AsyncIterable<StoredPacket> {
    const { stored, prepare, mayReplay, sessionOf } = this.#parts;
    const session = sessionOf(client.id);
    const numbers = session?.replay?.numbers;
    const take = async (message: Stored) => {
      if (message.brokerCounter !== undefined) numbers?.add(message.brokerCounter);
      // A PUBREL is sent whatever became of its message.
      if (message.topic === undefined) return true;
      const waiting = message as Stored & { readonly topic: string };
      if ((await prepare(waiting as { topic: string })) && (await mayReplay(session, waiting.topic))) return true;
      await stored.outgoingClearMessageId(client, message);
      return false;
    };
    return this.#filtered(stored.outgoingStream(client), take);
  }

  /** The retained messages of these filters. */
  async *retained(filters: readonly string[]): AsyncGenerator<StoredPacket & { readonly topic: string }> {
    const { presentFilter } = this.#parts;
    yield* this.#prepared(filters);
    // Retained messages are retained under present ids. Who subscribes by a former one gets them under that.
    for (const filter of filters) {
      const present = await presentFilter(filter);
      if (present === undefined) continue;
      for await (const message of this.#prepared([present])) {
        const { topic } = message;
        // Other topics below the same id are those of a gateway, which has not got another id.
        if (isOfDevice(topic)) yield { ...message, topic: withIdsOf(filter, topic) };
      }
    }
  }

  /** Loads what decides about messages on the topic; false where it is there no more. */
  load(topic: string): Promise<boolean> {
    return this.#parts.prepare({ topic });
  }

  /** Keeps a message for one session; gives it its number. */
  enqueue(recipient: QueueRecipient, packet: StoredPacket): Promise<void> {
    return this.#underWayUntil(this.#parts.stored.outgoingEnqueue(recipient, packet));
  }

  /** The message was acknowledged, or is not to be delivered. */
  async clear(client: PacketClient, packet: StoredPacket): Promise<void> {
    await this.#parts.stored.outgoingClearMessageId(client, packet);
  }

  /** The message is sent under its packet id, which may be changed here. */
  async update(client: PacketClient, packet: StoredPacket): Promise<void> {
    // A message sent with QoS 0 was not stored, whatever its publisher's QoS.
    if (packet.cmd === 'publish' && packet.qos === 0) return;
    await this.#underWayUntil(this.#parts.stored.outgoingUpdate(client, packet));
  }

  /** Whether a QoS 2 packet of this id was stored and awaits its PUBREL. */
  isReceived(client: PacketClient, packet: StoredPacket): Promise<boolean> {
    return this.#parts.stored.incomingGetPacket(client, packet).then(
      () => true,
      () => false,
    );
  }

  /** Whether an identical QoS 2 message came before and awaits its PUBREL. */
  async isUnderWay(client: PacketClient, published: Published): Promise<boolean> {
    if (!published.dup || published.qos !== 2) return false;
    const first = await this.#parts.stored.incomingGetPacket(client, published).catch(() => undefined);
    if (first?.topic !== published.topic || first.payload === undefined) return false;
    return Buffer.from(published.payload).equals(Buffer.from(first.payload));
  }

  #prepared(filters: readonly string[]): AsyncIterable<StoredPacket & { readonly topic: string }> {
    const { stored, prepare } = this.#parts;
    const messages = stored.createRetainedStreamCombi(filters);
    return this.#filtered(messages, (message) => prepare(message as { topic: string })) as AsyncIterable<
      StoredPacket & { readonly topic: string }
    >;
  }

  /** The messages that `take` accepts. */
  async *#filtered(
    messages: AsyncIterable<unknown>,
    take: (message: Stored) => Promise<boolean>,
  ): AsyncGenerator<StoredPacket> {
    let isReading = true;
    this.#underWay += 1;
    try {
      for await (const message of messages as AsyncIterable<Stored>) {
        if (!(await take(message))) continue;
        isReading = false;
        this.#end();
        yield message;
        isReading = true;
        this.#underWay += 1;
      }
    } finally {
      if (isReading) this.#end();
    }
  }

  /** A message that was read is on its way to the disk before it is sent. */
  async #underWayUntil(work: Promise<void>): Promise<void> {
    this.#underWay += 1;
    try {
      await work;
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) for (const resolve of this.#whenNone.splice(0)) resolve();
  }
}
