// The longer way of a message to one session: retained messages, those that are also stored for it, and whatever comes
// while such are on their way. Its packet id is stored before it is written, so that a repeat after a crash is recognised;
// a client that does not read, or acknowledge, holds up its own messages alone. Also replays what waited for a session.
import type { StoredPacket } from '../../domain/ports/mqtt-sessions.ts';
import type { Match } from '../access.ts';
import { acknowledgement } from '../protocol/answers.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import { aliasBytesMax, type PublishForm, PublishForms, packetBytesOf, patched } from '../protocol/publish-forms.ts';
import type { Client } from '../session/client.ts';
import type { ClientSession, QoS, Sessions } from '../sessions.ts';
import type { StoredMessages } from '../stored-messages.ts';
import { type Delivered, secondsLeft } from './delivered.ts';
import type { Forwarding } from './forwarding.ts';
import type { OwedBytes } from './owed-bytes.ts';
import type { SharedSubscriptions } from './shared/shared-subscriptions.ts';

export interface SessionDeliveryParts {
  readonly sessions: Sessions;
  readonly messages: StoredMessages;
  readonly forwarding: Forwarding;
  /** The clock by which messages expire. */
  readonly nowMs: () => number;
  readonly shared: () => SharedSubscriptions;
  readonly owed: OwedBytes;
  readonly counts: { encoded: number };
}

/** A message as it is kept in the store: with the packet id under which it is sent. */
type Sent = Delivered & {
  cmd: 'publish';
  dup: boolean;
  messageId?: number | undefined;
  /** The filter of the group for which it was stored. */
  ofGroup?: string | undefined;
};

export class SessionDelivery {
  readonly #parts: SessionDeliveryParts;

  constructor(parts: SessionDeliveryParts) {
    this.#parts = parts;
  }

  /** Sends a message, unless the session may not have it; calls `done` when nobody has to wait for it any more. */
  deliver(session: ClientSession, message: Delivered, done: () => void): void {
    session.onLongWay += 1;
    const ended = () => {
      session.onLongWay -= 1;
      done();
    };
    const { client } = session;
    const forwarded = this.#parts.forwarding.judge(session, message);
    if (forwarded === 'denied') {
      this.#forget(client, message);
      this.#refused(message);
    }
    // In a later turn of the event loop, so that messages to many sessions do not come on top of each other.
    if (forwarded === 'held' || forwarded === 'denied') setImmediate(ended);
    else setImmediate(() => this.#send(session, message, { match: forwarded, ended }));
  }

  /**
   * Sends a retained message, which a session that is kept has until it acknowledges it [MQTT-4.4.0-1]: where its connection has
   * closed, the message waits for the next one. Resolves when nobody has to wait for it any more.
   * @param origin as it is retained.
   * @returns false where there is no room to keep it.
   */
  async deliverRetained(session: ClientSession, message: Delivered, origin: StoredPacket): Promise<boolean> {
    const { client, clientId } = session;
    const granted = this.#parts.forwarding.matchOf(session, message);
    const qos = Math.min(message.qos, granted?.qos ?? 0);
    const isKept = qos > 0 && !client.clean;
    // One by one, as it acknowledges: all at once would be more than may wait for it.
    if (qos > 0 && session.retainedAwaited === 0 && !client.closed) await client.v5?.window.opened();
    if (client.closed && !isKept) return true;
    let kept: Delivered = message;
    if (isKept) {
      const packet = { ...origin, givenRetained: true };
      await this.#parts.messages.enqueue({ clientId, qos }, packet);
      kept = { ...message, brokerId: packet.brokerId, brokerCounter: packet.brokerCounter };
    }
    if (client.closed) return kept.brokerCounter !== undefined;
    await new Promise<void>((resolve) => this.deliver(session, kept, resolve));
    return true;
  }

  /** Sends what waits for the session; resolves when it has been sent, or the connection has closed. */
  async replay(client: Client): Promise<void> {
    for await (const packet of this.#parts.messages.outgoing(client)) {
      if (client.closed) return;
      if (packet.cmd === 'pubrel') await this.#replayRelease(client, packet);
      else await this.#replayMessage(client, sentOf(packet, this.#parts.sessions.of(client)));
    }
  }

  async #replayRelease(client: Client, packet: StoredPacket): Promise<void> {
    if (packet.messageId !== undefined) client.noteId(packet.messageId);
    const messageId = packet.messageId ?? client.takeId();
    // Its client may have no other message under that id until PUBCOMP [MQTT-2.2.1-3].
    client.v5?.window.keep(messageId);
    await this.#parts.messages.update(client, { ...packet, messageId });
    await client.send(acknowledgement(packetTypes.pubrel, messageId, client.version));
  }

  async #replayMessage(client: Client, packet: Sent): Promise<void> {
    await roomFor(client, packet.qos);
    if (client.closed) return;
    if (packet.messageId === undefined) packet.messageId = client.takeId();
    else client.noteId(packet.messageId);
    await this.#parts.messages.update(client, packet);
    // It may have waited for long: the device has to be in memory for its right to be judged.
    if (packet.topic !== undefined) await this.#parts.messages.load(packet.topic);
    const session = this.#parts.sessions.of(client);
    const forwarded = session && this.#parts.forwarding.judge(session, packet);
    const match = typeof forwarded === 'string' ? undefined : forwarded;
    // Room was kept for it as it is stored.
    if (packet.qos > 0 && (match === undefined || match.qos === 0)) client.v5?.window.giveBack();
    const isSent = match !== undefined && (await this.#write(client, packet, match));
    if (isSent) return;
    // Of a group, somebody else gets what this member never had.
    if (packet.ofGroup !== undefined && packet.wasSent !== true)
      await this.#parts.shared().passOnStored(client.id, packet.ofGroup, packet);
    await this.#parts.messages.clear(client, packet);
  }

  #refused({ shared }: Delivered): void {
    if (typeof shared === 'object') this.#parts.shared().deliveries.refused(shared);
  }

  /** A kept session has the message stored: it must not come again. */
  #forget(client: Client, message: Delivered): void {
    if (client.clean) return;
    this.#parts.messages.clear(client, message).catch(() => {});
  }

  /** Sends the message when the client may have one more that it has not acknowledged; `ended` is called at once then. */
  #send(
    session: ClientSession,
    message: Delivered,
    { match, ended }: { readonly match: Match; readonly ended: () => void },
  ): void {
    const { client } = session;
    const { v5 } = client;
    // Of a group, the fewest unacknowledged messages choose who gets the next.
    if (v5 === undefined || match.qos === 0) {
      void this.#sendNow(client, message, match).then(ended);
      return;
    }
    if (v5.window.isOpen) {
      v5.window.run(0, () => void this.#sendNow(client, message, match).then(ended));
      return;
    }
    const held = client.closed ? undefined : this.#parts.owed.ofMessage(session, message);
    const mayWait =
      held !== undefined &&
      v5.window.run(held.bytes, () => {
        this.#parts.owed.release(held);
        void this.#sendWaited(session, message, match);
      });
    ended();
    if (!mayWait) this.#parts.forwarding.cut(session);
  }

  /** Sends a message that has waited, unless the session may not have it any more. */
  async #sendWaited(session: ClientSession, message: Delivered, match: Match): Promise<void> {
    const { client } = session;
    try {
      if (await this.#mayStillHave(session, message)) return await this.#sendNow(client, message, match);
      client.v5?.window.giveBack();
      this.#forget(client, message);
      this.#refused(message);
    } catch (error) {
      client.fail(error as Error);
    }
  }

  /** Its right is judged as it is now; the device may have left the memory meanwhile. */
  async #mayStillHave(session: ClientSession, { topic }: Delivered): Promise<boolean> {
    const { forwarding, messages } = this.#parts;
    return forwarding.mayHave(session, topic) || ((await messages.load(topic)) && forwarding.mayHave(session, topic));
  }

  async #sendNow(client: Client, message: Delivered, match: Match): Promise<void> {
    const packet: Sent = { ...message, cmd: 'publish', qos: match.qos, dup: false };
    if (match.qos > 0) packet.messageId = client.takeId();
    try {
      const isStored = match.qos > 0 && !client.clean;
      if (isStored) await this.#parts.messages.update(client, packet);
      if (await this.#write(client, packet, match)) return;
      this.#refused(message);
      if (isStored) await this.#parts.messages.clear(client, packet);
    } catch (error) {
      client.fail(error as Error);
    }
  }

  /** False where the client may not have it any more: it has expired, or is larger than the client takes. */
  async #write(client: Client, packet: Sent, match: Match): Promise<boolean> {
    const { v5 } = client;
    const { messageId = 0, dup: isDup } = packet;
    const { qos } = match;
    const expiryS = secondsLeft(packet.expiresMs, this.#parts.nowMs);
    const { shared } = packet;
    const isKept = typeof shared === 'object' ? this.#parts.shared().deliveries.mayHave(shared) : true;
    const form = expiryS === 0 || !isKept ? undefined : this.#formOf(client, packet, { match, expiryS });
    if (form === undefined) {
      if (qos > 0) v5?.window.giveBack();
      return false;
    }
    if (qos > 0) v5?.window.take(messageId);
    if (qos > 0 && typeof shared === 'object') this.#parts.shared().deliveries.sent(client, shared, messageId);
    const head = client.send(patched(form, { packetId: messageId, isDup }));
    const written = form.tail === undefined ? head : (client.send(form.tail) ?? head);
    await written;
    return true;
  }

  /** Undefined where the client takes no packet so large [MQTT-3.1.2-24]. */
  #formOf(
    client: Client,
    packet: Sent,
    { match, expiryS }: { readonly match: Match; readonly expiryS: number | undefined },
  ): PublishForm | undefined {
    this.#parts.counts.encoded += 1;
    const { v5, version } = client;
    const { topic, payload, properties, retain } = packet;
    const forms = new PublishForms({ topic, payload, expiryS, ...(properties && { properties }) });
    if (v5 === undefined) return forms.of(version, match.qos, retain);
    const isRetain = retain || (packet.publishedRetain === true && match.retainAsPublished);
    const subscriptionIds = packet.identifiers ?? match.identifiers;
    const plain = forms.ofReceiver(match.qos, isRetain, { subscriptionIds });
    const { packetBytesMax = Number.POSITIVE_INFINITY } = v5.options;
    if (packetBytesOf(plain) > packetBytesMax) return undefined;
    if (packetBytesOf(plain) + aliasBytesMax > packetBytesMax) return plain;
    const alias = v5.outbound.aliasOf(topic);
    this.#parts.forwarding.countAliases(client);
    return alias === undefined ? plain : forms.ofReceiver(match.qos, isRetain, { subscriptionIds, alias });
  }
}

function sentOf(stored: StoredPacket, session: ClientSession | undefined): Sent {
  const { properties, ofGroup, givenRetained, ...packet } = stored as Sent & { readonly givenRetained?: boolean };
  const payload = bufferOf(packet.payload);
  return {
    ...packet,
    ...{ payload, retain: givenRetained === true, isNew: false },
    ...{ settledQos: packet.qos, wasSent: packet.messageId !== undefined },
    ...(ofGroup === undefined ? {} : { ofGroup, ...ofMember(session, ofGroup, packet.publishedRetain === true) }),
    ...(properties === undefined ? {} : { properties: bufferOf(properties) }),
  };
}

/** A message of a group, by what its member asks for with this filter. */
function ofMember(
  session: ClientSession | undefined,
  filter: string,
  publishedRetain: boolean,
): Pick<Delivered, 'shared' | 'identifiers' | 'publishedRetain'> {
  const { identifier, retainAsPublished = false } = session?.filters.get(filter)?.options ?? {};
  const identifiers = identifier === undefined ? [] : [identifier];
  return { shared: 'not-kept', identifiers, publishedRetain: publishedRetain && retainAsPublished };
}

function bufferOf(bytes: string | Uint8Array): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Resolves when the client may be sent one more message of this QoS that it has not acknowledged; room is reserved then. */
function roomFor({ v5 }: Client, qos: QoS): Promise<void> | undefined {
  if (v5 === undefined || qos === 0) return undefined;
  return new Promise((resolve) => v5.window.run(0, resolve));
}
