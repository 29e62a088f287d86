// What clients publish, but for usual readings: each message is stored, dropped or relayed (publishing.ts decides which),
// and then acknowledged, in the order in which the messages came. A failure cuts the client, so that it sends again what was
// not stored. Wills go the same way, in the name of the user who left them.
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Gateways } from '../../domain/gateways/gateways.ts';
import type { Presence } from '../../domain/gateways/presence.ts';
import type { JoinedWrites, MqttSessions, StoredPacket } from '../../domain/ports/mqtt-sessions.ts';
import type { Actor } from '../../domain/users/user.ts';
import { acknowledgement } from '../protocol/answers.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import type { Dropped } from '../publish-refusals.ts';
import type { PublishDecision, Publishing } from '../publishing.ts';
import type { OwedBytes } from '../routing/owed-bytes.ts';
import { Receipt } from '../routing/receipt.ts';
import type { ClientSession, Sessions } from '../sessions.ts';
import type { SignIn } from '../sign-in.ts';
import type { StoredMessages } from '../stored-messages.ts';
import type { BrokerCounts } from '../sys/broker-counts.ts';
import type { AnswerOrder, AnswerPlace } from './answer-order.ts';
import type { Client } from './client.ts';
import { ClientFault } from './client-fault.ts';
import type { PublishPacket } from './publish-packet.ts';
import type { Undecided } from './undecided.ts';
import type { Will } from './will.ts';

export interface IncomingPublishesParts {
  readonly publishing: Publishing;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly presence: Presence;
  readonly gateways: Gateways;
  readonly counts: BrokerCounts;
  readonly answers: AnswerOrder;
  readonly owed: OwedBytes;
  readonly undecided: Undecided;
  readonly stored: Pick<MqttSessions, 'incomingIds' | 'incomingReserve' | 'incomingDelPacket'>;
  readonly messages: StoredMessages;
  /** Resolves when the subscribers of a relayed message have it, or it is queued for them. */
  readonly relay: (packet: RelayedPacket, publisher: Actor, receipt?: Receipt) => Promise<void>;
  /** The clock by which messages expire. */
  readonly nowMs: () => number;
  readonly log: Log;
}

/** A message of a client to other clients. */
export type RelayedPacket = Pick<PublishPacket, 'topic' | 'payload' | 'qos' | 'retain' | 'properties' | 'expiresMs'> & {
  /** The client that published it. */
  readonly publisherId: string;
};

/** A message that is to be answered. */
interface Received {
  readonly packet: PublishPacket;
  readonly place: AnswerPlace;
  readonly mayRepeat: boolean;
  /** Resolves when the message of QoS 2 that came before it has been relayed. */
  readonly before: Promise<void> | undefined;
}

export class IncomingPublishes {
  readonly #parts: IncomingPublishesParts;

  constructor(parts: IncomingPublishesParts) {
    this.#parts = parts;
  }

  /** Takes a message of a client. @param alias that stands for its topic, or is set for it; 0: none. */
  take(client: Client, packet: PublishPacket, alias: number): void {
    const { sessions, presence, gateways, counts, answers } = this.#parts;
    const session = sessions.of(client);
    // Its sign-in has ended, and with it the connection.
    if (session === undefined) return;
    const fault = alias > 0 ? this.#resolveAlias(session, packet, alias) : undefined;
    if (fault !== undefined || isTooDeep(packet.topic)) {
      client.fail(fault ?? new ClientFault(reasonCodes.topicNameInvalid, 'the topic has too many levels'));
      return;
    }
    presence.noteActivity(session, gateways.peek(session.clientId));
    counts.received(session, 1);
    if (packet.qos > 0 && !client.mayAsk(1)) return;
    const { pubacks, pubrecs } = answers.of(client);
    const before = session.receiving;
    if (packet.qos === 0) client.handling(this.#whileUndecided(session, this.#publish(session, packet, before)));
    else if (packet.qos === 1) {
      const place = pubacks.open();
      client.handling(this.#whileUndecided(session, this.#acknowledge(session, { packet, place, before }), place));
    } else {
      const mayRepeat = packet.dup || pubrecs.has(packet.messageId);
      const place = pubrecs.open([packet.messageId ?? 0]);
      client.handling(
        this.#whileUndecided(session, this.#inTurn(session, { packet, place, mayRepeat, before }), place),
      );
    }
  }

  /** Puts the topic into the packet that its alias stands for. @returns what is wrong with the alias [MQTT-3.3.2-8]. */
  #resolveAlias(session: ClientSession, packet: PublishPacket, alias: number): ClientFault | undefined {
    const { client } = session;
    const resolved = client.v5?.inbound.resolve(alias, packet.topic);
    if (resolved === undefined) return undefined;
    if ('reasonCode' in resolved) return new ClientFault(resolved.reasonCode, `the topic alias ${alias} is not known`);
    packet.topic = resolved.topic;
    if (this.#parts.owed.hasRoomForAliases(client, session)) return undefined;
    return new ClientFault(reasonCodes.quotaExceeded, 'there is no room for more topic aliases');
  }

  /** Publishes a will; resolves when it was published or dropped, whatever the outcome. */
  async takeWill(will: Will, session: ClientSession | undefined): Promise<void> {
    const { undecided } = this.#parts;
    undecided.begin();
    try {
      await this.#publishWill(will, session);
    } catch (error) {
      this.noteUnstored(session, error as Error);
    } finally {
      undecided.end();
    }
  }

  noteUnstored(session: ClientSession | undefined, error: Error): void {
    this.#parts.log.warn({ client: session?.clientId, reason: error.message }, 'a message could not be stored');
  }

  async #whileUndecided(session: ClientSession, work: Promise<unknown>, place?: AnswerPlace): Promise<void> {
    const { undecided } = this.#parts;
    undecided.begin();
    try {
      await work;
    } catch (error) {
      this.noteUnstored(session, error as Error);
      // Behind the end of the connection: what waits for its turn has it, and nothing is written.
      setImmediate(() => place?.end());
      throw error;
    } finally {
      undecided.end();
    }
  }

  /** QoS 1. */
  async #acknowledge(
    session: ClientSession,
    { packet, place, before }: Pick<Received, 'packet' | 'place' | 'before'>,
  ): Promise<void> {
    const answer = { type: packetTypes.puback, place, packet, dropped: await this.#publish(session, packet, before) };
    await this.#answer(session.client, answer);
    session.client.answered(1);
  }

  /**
   * QoS 2: stores the packet with what its receivers are stored, so that a repeat is recognised. One that may be a repeat waits
   * for its turn, because the first must have been stored. A client of version 5 that is told of a failure does not release the
   * packet.
   */
  async #receive(session: ClientSession, received: Received & { readonly onRelayed: () => void }): Promise<void> {
    const { packet, place, mayRepeat, before, onRelayed } = received;
    const { client } = session;
    const { answers, messages, stored } = this.#parts;
    const answer = { type: packetTypes.pubrec, place, packet, dropped: undefined };
    const wasReceived = async () => {
      await answers.of(client).pubrecs.turnOf(place);
      return messages.isReceived(client, packet as StoredPacket);
    };
    // What is known by its packet id is not decided about again, however long ago it came.
    const isKnown = packet.dup && stored.incomingIds(client)?.has(packet.messageId ?? 0) === true;
    if (isKnown && (await wasReceived())) return this.#answer(client, answer);
    const decision = await this.#decide(session, packet);
    if (mayRepeat || (await messages.isReceived(client, packet as StoredPacket))) {
      if (await wasReceived()) return this.#answer(client, answer);
    }
    const dropped = typeof decision === 'object' ? decision : undefined;
    const store = client.v5 !== undefined && dropped !== undefined ? undefined : this.#reserve(client, packet);
    const kept = typeof store === 'object' ? store : undefined;
    const refused = client.v5 === undefined ? undefined : (dropped ?? (decision === 'taken' ? undefined : kept));
    // What is stored is not said to be refused, or it comes again under another id; a repeat is known by its fingerprint.
    if (refused !== undefined || typeof store !== 'function') {
      await this.#answer(client, { ...answer, dropped: refused });
      client.answered(1);
      return;
    }
    await this.#relayReceived(
      session,
      { packet, before, onRelayed, receipt: new Receipt(store) },
      decision === 'relay',
    );
    await this.#answer(client, answer);
  }

  /** Stores that a packet of QoS 2 has come, with what is stored of it for its receivers where it is relayed. */
  async #relayReceived(
    session: ClientSession,
    received: Pick<Received, 'packet' | 'before'> & { readonly onRelayed: () => void; readonly receipt: Receipt },
    isRelay: boolean,
  ): Promise<void> {
    const { packet, before, onRelayed, receipt } = received;
    const { relay, stored } = this.#parts;
    try {
      if (!isRelay) void receipt.store().catch(() => {});
      await before;
      if (isRelay) {
        const relayed = relay({ ...packet, publisherId: session.clientId }, session.actor, receipt);
        onRelayed();
        await relayed;
      }
      await receipt.store();
    } catch (error) {
      // It comes again, and would be taken for a message that its receivers have.
      await stored.incomingDelPacket(session.client, packet as StoredPacket).catch(() => {});
      throw error;
    }
  }

  /** Messages of the session that come behind this one are relayed behind it, though it is stored first. */
  async #inTurn(session: ClientSession, received: Received): Promise<void> {
    let onRelayed = (): void => {};
    const receiving = new Promise<void>((resolve) => {
      onRelayed = resolve;
    });
    session.receiving = receiving;
    try {
      await this.#receive(session, { ...received, onRelayed });
    } finally {
      onRelayed();
      if (session.receiving === receiving) session.receiving = undefined;
    }
  }

  /**
   * Takes the room of a packet of QoS 2. @returns what stores it, or what a client of version 5 is told where its quota keeps the
   * packet out.
   */
  #reserve(client: Client, packet: PublishPacket): ((joined: JoinedWrites) => Promise<void>) | Dropped {
    try {
      return this.#parts.stored.incomingReserve(client, packet as StoredPacket);
    } catch (error) {
      if (client.v5 === undefined) throw error;
      return beyondQuota(error);
    }
  }

  /** Resolves when the answer has been written, in its turn, and the socket takes more. */
  #answer(
    client: Client,
    answer: {
      readonly type: typeof packetTypes.puback | typeof packetTypes.pubrec;
      readonly place: AnswerPlace;
      readonly packet: PublishPacket;
      readonly dropped: Dropped | undefined;
    },
  ): Promise<void> {
    const { type, place, packet, dropped } = answer;
    const { v5, version } = client;
    // Older versions are told nothing of what was dropped (contract 8).
    const reasonCode = v5 === undefined ? undefined : dropped?.reasonCode;
    const words = v5 === undefined || dropped === undefined ? {} : v5.words(dropped.reason);
    return new Promise((resolve) => {
      place.end(() => {
        const written = client.send(acknowledgement(type, packet.messageId ?? 0, version, reasonCode, words));
        if (written === undefined) resolve();
        else void written.then(resolve);
      });
    });
  }

  /** Stores, drops or relays a message of QoS 0 or 1. @returns why it was dropped. */
  async #publish(session: ClientSession, packet: PublishPacket, before?: Promise<void>): Promise<Dropped | undefined> {
    const decision = await this.#decide(session, packet);
    if (decision === 'relay') await before;
    if (decision === 'relay') await this.#parts.relay({ ...packet, publisherId: session.clientId }, session.actor);
    return typeof decision === 'object' ? decision : undefined;
  }

  /** @throws Refusal where the message could not be stored, or a quota keeps it out, of which version 5 alone is told. */
  async #decide(session: ClientSession, packet: PublishPacket): Promise<PublishDecision> {
    try {
      return await this.#parts.publishing.decide(session, { ...packet, publisherId: session.clientId });
    } catch (error) {
      // Nobody waits for the answer to QoS 0.
      if (session.client.v5 === undefined || packet.qos === 0) throw error;
      return beyondQuota(error);
    }
  }

  /** Permission is checked now, in the name of the user who left the will. */
  async #publishWill(will: Will, session: ClientSession | undefined): Promise<void> {
    const { sessions, signIn } = this.#parts;
    const own = session?.actor.key === will.user ? session : await signIn.sessionOfWill(will);
    if (own === undefined || !(await sessions.isStillGood(own))) return;
    const { topic, payload, qos, retain, properties, expiryS } = will;
    const expiresMs = expiryS === undefined ? undefined : this.#parts.nowMs() + expiryS * 1_000;
    await this.#publish(own, { cmd: 'publish', topic, payload, qos, retain, dup: false, properties, expiresMs });
  }
}

function isTooDeep(topic: string): boolean {
  return topic.split('/', limits.topicLevelsMax + 1).length > limits.topicLevelsMax;
}

/** @throws the error, unless it says that a quota is used up. */
function beyondQuota(error: unknown): Dropped {
  if (error instanceof Refusal && error.code === 'quota')
    return { reasonCode: reasonCodes.quotaExceeded, reason: error.message };
  throw error;
}
