// Stored messages (retained, or queued for an absent client) pass the same permission check at delivery as others. The
// check needs the device in memory, so it is loaded before the message is handed out.
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PublishPacket } from 'aedes';
import type { MqttSessions, PacketClient, StoredPacket } from '../domain/ports/mqtt-sessions.ts';
import type { Published } from './publishing.ts';
import type { ClientSession } from './sessions.ts';
import { isOfDevice, withIdsOf } from './topics.ts';

/** A filter that no client can subscribe to. */
export const placeholder = '\0session';

/** A stored message; a PUBREL has no topic. */
interface Stored {
  readonly topic?: string;
  readonly device?: number;
  readonly part?: number;
  readonly user?: number;
  readonly brokerCounter?: number;
}

export interface StoredRules {
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
  /** Whether the message is held, and must stay stored. */
  readonly isHeld: (clientId: string, packet: object) => boolean;
}

/** The stored messages that are being read: an engine may have to ask for each page of them. */
export class StoredReads {
  #underWay = 0;
  #whenNone: (() => void)[] = [];

  /** Resolves when none is being read, because all were handed on, or whoever gets them does not take more now. */
  async idle(): Promise<void> {
    while (this.#underWay > 0) {
      await new Promise<void>((resolve) => this.#whenNone.push(resolve));
      // The next one is asked for within a turn of the event loop.
      await nextTurn();
    }
  }

  /** The messages that `take` accepts. */
  async *filtered(
    messages: AsyncIterable<unknown>,
    take: (message: Stored) => Promise<boolean>,
  ): AsyncGenerator<unknown> {
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

  #end(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) for (const resolve of this.#whenNone.splice(0)) resolve();
  }
}

/** Wraps the store for aedes, which reads streams of Node.js: each message is prepared before it is returned. */
export function prepareStored(
  stored: MqttSessions,
  { prepare, presentFilter, mayReplay, sessionOf, isHeld }: StoredRules,
): StoredReads {
  const reads = new StoredReads();
  const outgoing = stored.outgoingStream.bind(stored);
  const retained = stored.createRetainedStreamCombi.bind(stored);
  const update = stored.outgoingUpdate.bind(stored);
  const clear = stored.outgoingClearMessageId.bind(stored);
  const subscriptions = stored.subscriptionsByClient.bind(stored);
  const wills = stored.streamWill.bind(stored);
  stored.streamWill = (brokers) => readable(wills(brokers));
  stored.outgoingStream = (client) => {
    const session = sessionOf(client.id);
    const numbers = session?.replay?.numbers;
    const take = async (message: Stored) => {
      if (message.brokerCounter !== undefined) numbers?.add(message.brokerCounter);
      // A PUBREL is sent whatever became of its message.
      if (message.topic === undefined) return true;
      const waiting = message as { topic: string };
      if ((await prepare(waiting)) && (await mayReplay(session, waiting.topic))) return true;
      await clear(client, message);
      return false;
    };
    return readable(reads.filtered(outgoing(client), take));
  };
  const prepared = (filters: readonly string[]) =>
    reads.filtered(retained(filters), (message) => prepare(message as { topic: string }));
  stored.createRetainedStreamCombi = (filters) => readable(withFormer(filters, { prepared, presentFilter }));
  stored.outgoingClearMessageId = async (client, packet) =>
    isHeld(client.id, packet) ? undefined : clear(client, packet);
  // A message sent with QoS 0 was not stored, whatever its publisher's QoS.
  stored.outgoingUpdate = async (client, packet) => {
    if (packet.cmd !== 'publish' || packet.qos !== 0) await update(client, packet);
  };
  // aedes takes a session without subscriptions for no session, but it may hold messages under way. A subscription to
  // `placeholder`, which is refused, makes CONNACK report the session [MQTT-3.2.2-2].
  stored.subscriptionsByClient = async (client) => {
    const list = await subscriptions(client);
    return list.length === 0 && sessionOf(client.id)?.isResumed ? [{ topic: placeholder, qos: 0 }] : list;
  };
  return reads;
}

/**
 * Reading goes on when the client has gone, until the store closes or fails: who still reads hears of that by a listener of its
 * own, and where nobody does it must not end the process.
 */
function readable(messages: AsyncIterable<unknown>): Readable {
  return Readable.from(messages).on('error', () => {});
}

/**
 * Retained messages are retained under present ids. Who subscribes by a former one gets them under that.
 */
async function* withFormer(
  filters: readonly string[],
  {
    prepared,
    presentFilter,
  }: Pick<StoredRules, 'presentFilter'> & { readonly prepared: (filters: readonly string[]) => AsyncIterable<unknown> },
): AsyncGenerator<unknown> {
  yield* prepared(filters);
  for (const filter of filters) {
    const present = await presentFilter(filter);
    if (present === undefined) continue;
    for await (const message of prepared([present]) as AsyncIterable<Stored>) {
      const { topic = '' } = message;
      // Other topics below the same id are those of a gateway, which has not got another id.
      if (isOfDevice(topic)) yield { ...message, topic: withIdsOf(filter, topic) };
    }
  }
}

/** Whether an identical QoS 2 message came before and awaits its PUBREL. */
export async function isUnderWay(stored: MqttSessions, client: PacketClient, published: Published): Promise<boolean> {
  if (!published.dup || published.qos !== 2) return false;
  const first = await stored.incomingGetPacket(client, published).catch(() => undefined);
  if (first?.topic !== published.topic || first.payload === undefined) return false;
  return Buffer.from(published.payload).equals(Buffer.from(first.payload));
}

/** Whether a QoS 2 packet of this id was stored and awaits its PUBREL. */
export function isReceived(stored: MqttSessions, client: PacketClient, packet: PublishPacket): Promise<boolean> {
  return stored.incomingGetPacket(client, packet as StoredPacket).then(
    () => true,
    () => false,
  );
}
