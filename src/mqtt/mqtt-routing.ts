// Makes the parts through which messages leave, and connects them: who receives a message, what is stored for whom, and what is
// sent. Several need each other, so they are handed functions. Made once by mqtt-server.ts, which brings messages in.
import { limits } from '../config/limits.ts';
import type { ClientMessage } from '../domain/ports/commit-log.ts';
import type { MessageSource } from '../domain/ports/mqtt-sessions.ts';
import type { Actor } from '../domain/users/user.ts';
import { Access } from './access.ts';
import type { MqttParts } from './mqtt-parts.ts';
import { Delivery } from './routing/delivery.ts';
import { Forwarding } from './routing/forwarding.ts';
import { GatewayDownlinks } from './routing/gateway-downlinks.ts';
import { LiveFilters } from './routing/live-filters.ts';
import { MissedMessages } from './routing/missed-messages.ts';
import { OwedBytes } from './routing/owed-bytes.ts';
import type { Receipt } from './routing/receipt.ts';
import { Router } from './routing/router.ts';
import { SessionDelivery } from './routing/session-delivery.ts';
import { SharedSubscriptions } from './routing/shared/shared-subscriptions.ts';
import { SubscriberBacklog } from './routing/subscriber-backlog.ts';
import { UnreadPackets } from './routing/unread-packets.ts';
import type { RelayedPacket } from './session/incoming-publishes.ts';
import { type ClientSession, Sessions } from './sessions.ts';
import { StoredMessages } from './stored-messages.ts';
import { BrokerCounts } from './sys/broker-counts.ts';
import { SysTopics } from './sys/sys-topics.ts';

export class MqttRouting {
  readonly #parts: MqttParts;
  readonly sessions: Sessions;
  readonly access: Access;
  readonly counts = new BrokerCounts();
  readonly liveFilters = new LiveFilters();
  readonly owed: OwedBytes;
  readonly messages: StoredMessages;
  readonly forwarding: Forwarding;
  readonly sessionDelivery: SessionDelivery;
  readonly router: Router;
  readonly shared: SharedSubscriptions;
  readonly downlinks: GatewayDownlinks;
  readonly sys: SysTopics;
  readonly unread: UnreadPackets;
  readonly delivery: Delivery;

  constructor(parts: MqttParts) {
    this.#parts = parts;
    this.owed = new OwedBytes(parts.passing);
    this.sessions = new Sessions({ ...parts, clock: parts.clocks.forExpiry });
    this.access = new Access({ ...parts, sessions: this.sessions });
    this.messages = this.#makeMessages();
    this.forwarding = this.#makeForwarding();
    this.sessionDelivery = new SessionDelivery({
      ...{ sessions: this.sessions, messages: this.messages, forwarding: this.forwarding, counts: this.counts },
      nowMs: () => parts.clocks.forExpiry.now(),
      shared: () => this.shared,
      owed: this.owed,
    });
    this.router = new Router({
      stored: parts.stored,
      handOut: (message, recipients, done) => this.forwarding.handOut(message, recipients, done),
      flush: () => this.forwarding.flush(),
      load: (topic) => this.messages.load(topic),
    });
    this.shared = new SharedSubscriptions({
      ...{ sessions: this.sessions, access: this.access, stored: parts.stored },
      ...{ delivery: this.sessionDelivery, tree: this.router, owed: this.owed, guest: parts.guest },
      cut: (session) => this.forwarding.cut(session),
      load: (topic) => this.messages.load(topic),
    });
    this.downlinks = this.#makeDownlinks();
    this.sys = this.#makeSysTopics();
    this.unread = new UnreadPackets({
      passing: parts.passing,
      sessionOf: (client) => this.sessions.of(client),
      onSlow: (session) => this.#onSlow(session),
      onHeld: () => this.delivery.share.lookForCapacity(),
    });
    this.delivery = new Delivery({
      ages: parts.clocks.forAge,
      router: this.router,
      directory: parts.directory,
      bounds: limits,
      unreadBytes: () => this.unread.bytes,
      onCapacity: () => parts.writer.capacityReturned(),
      onUnreadable: (topic, error) =>
        parts.log.warn({ topic, err: error }, 'a message was dropped, because its device cannot be read'),
    });
  }

  /** Passes a message of a client on to others, of this process and of all others. */
  async relay(packet: RelayedPacket, publisher: Actor, receipt?: Receipt): Promise<void> {
    const gateway = this.access.gatewayKeyOf(packet.topic);
    // In the order in which those of all processes are stored, so that all have the same one retained.
    const told = this.#parts.relays.relay(() => toClientMessage(packet, { gateway, user: publisher.key }));
    if (told !== undefined) await told;
    await this.delivery.relay(packet, { gateway, publisher, receipt });
  }

  /** Begins to deliver what clients of other processes relay; returns the function that ends it. */
  followRelays(): () => void {
    const { relays } = this.#parts;
    relays.onRelayed = (messages) => this.#followRelayed(messages);
    return () => {
      relays.onRelayed = async () => {};
    };
  }

  /** What brings messages to stored sessions that pass from one process to another. */
  source(): MessageSource {
    const missed = new MissedMessages({
      ...{ stored: this.#parts.stored, committedPushesOf: this.#parts.committedPushesOf, delivery: this.delivery },
      prepared: (messages) => this.#prepared(messages),
    });
    return {
      keepMissed: (commits) => missed.keep(commits),
      handedOn: (msMax) => this.delivery.queue.handedOn(msMax),
    };
  }

  /** Resolves when what all processes had committed at the call is kept for the stored sessions of this one. */
  async settled(): Promise<void> {
    await this.#parts.relays.caughtUp();
    await this.delivery.queue.handedOn();
  }

  /** All are handed on in one turn, so that none is twice where this fails and is called again. */
  async #followRelayed(messages: readonly ClientMessage[]): Promise<void> {
    await this.#parts.writer.roomForOthers();
    for (const message of await this.#prepared(messages)) this.delivery.relayed(message);
  }

  /** A message to one that was removed meanwhile is not delivered. */
  async #prepared(messages: readonly ClientMessage[]): Promise<readonly ClientMessage[]> {
    const known: ClientMessage[] = [];
    for (const message of messages) {
      const { topic, gateway, user } = message;
      const of = gateway === undefined ? { user } : { user, device: gateway };
      if (await this.access.prepare({ topic, ...of })) known.push(message);
    }
    return known;
  }

  /** What waited for the session has been sent: what came meanwhile follows. */
  resume(session: ClientSession | undefined): void {
    const replayed = session?.replay?.actuators ?? [];
    this.forwarding.resume(session);
    void this.downlinks.resumed(session, [...replayed]);
    this.sys.subscribed(session);
  }

  /** The connection of a session has ended. */
  released(session: ClientSession): void {
    this.liveFilters.releaseAll(session);
    this.downlinks.released(session);
    this.sys.released(session);
  }

  #makeMessages(): StoredMessages {
    return new StoredMessages({
      stored: this.#parts.stored,
      prepare: (message) => this.access.prepare(message),
      presentFilter: (filter) => this.access.presentFilter(filter),
      mayReplay: (session, topic) => this.downlinks.mayReplay(session, topic),
      sessionOf: (clientId) => this.sessions.holderOf(clientId),
    });
  }

  #makeForwarding(): Forwarding {
    return new Forwarding({
      sessions: this.sessions,
      access: this.access,
      delivery: () => this.sessionDelivery,
      shared: () => this.shared,
      backlog: new SubscriberBacklog(this.#parts.passing),
      owed: this.owed,
      counts: this.counts,
      nowMs: () => this.#parts.clocks.forExpiry.now(),
      onSlow: (session) => this.#onSlow(session),
      settings: () => this.downlinks,
    });
  }

  #makeDownlinks(): GatewayDownlinks {
    return new GatewayDownlinks({
      ages: this.#parts.clocks.forAge,
      ...this.#parts,
      sessions: this.sessions,
      access: this.access,
      isUnderWay: (setting) => this.delivery.queue.isUnderWay(setting),
      send: (session, message) => this.forwarding.send(session, message),
      flush: () => this.forwarding.flush(),
    });
  }

  #makeSysTopics(): SysTopics {
    return new SysTopics({
      ...this.#parts,
      ...{ counts: this.counts, sessions: this.sessions },
      liveFilters: () => this.liveFilters.ofClean,
      send: (session, message, options) => this.forwarding.send(session, message, options),
      flush: () => this.forwarding.flush(),
    });
  }

  /** Called before the subscriber is cut, and again for each message that was already on its way to it: counts it once. */
  #onSlow({ client, clientId }: ClientSession): void {
    if (client.conn.destroyed) return;
    this.counts.slowCut += 1;
    this.#parts.log.warn(
      { client: clientId, bytes: limits.subscriberBytesMax },
      'a subscriber that does not keep up was cut',
    );
  }
}

function toClientMessage(
  { topic, payload, qos, retain, properties, expiresMs, publisherId }: RelayedPacket,
  of: Pick<ClientMessage, 'gateway' | 'user'>,
): ClientMessage {
  return { topic, payload: Buffer.from(payload), qos, retain, properties, expiresMs, publisherId, ...of };
}
