// The MQTT server: connects the broker (aedes) with the parts of this folder and with the ports (contract 8). sign-in.ts
// decides who may connect, incoming-publishes.ts and publishing.ts what becomes of a message, forwarding.ts and access.ts who receives it.

import type { Server as HttpServer, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AuthenticateError, Client, PublishPacket, Subscription } from 'aedes';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import type { SessionRevocation } from '../domain/users/session-revocation.ts';
import type { Actor } from '../domain/users/user.ts';
import { Access } from './access.ts';
import { AnswerOrder } from './answer-order.ts';
import { Broker, brokerBounds } from './broker.ts';
import { ClientList } from './client-list.ts';
import { FastPath } from './fast-path.ts';
import { IncomingPublishes } from './incoming-publishes.ts';
import { Listeners } from './listeners.ts';
import type { MqttPorts } from './mqtt-options.ts';
import type { MqttParts } from './mqtt-parts.ts';
import { requireLawfulPackets } from './packets/lawful-packets.ts';
import { budgetPackets } from './packets/packet-bound.ts';
import { holdReading } from './packets/reading.ts';
import { StalledPackets } from './packets/stalled-packets.ts';
import { addressOf, noteAddress } from './proxy/client-address.ts';
import { Publishing } from './publishing.ts';
import { type ClientSession, Sessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import { isReceived, isUnderWay, placeholder, prepareStored, type StoredReads } from './stored-messages.ts';
import { Delivery } from './subscribers/delivery.ts';
import { Forwarding } from './subscribers/forwarding.ts';
import { GatewayDownlinks } from './subscribers/gateway-downlinks.ts';
import { LiveFilters } from './subscribers/live-filters.ts';
import { tellsClient } from './subscribers/recipients.ts';
import { SubscriberBacklog } from './subscribers/subscriber-backlog.ts';
import { UnreadPackets } from './subscribers/unread-packets.ts';
import { BrokerCounts } from './sys/broker-counts.ts';
import { SysTopics } from './sys/sys-topics.ts';
import { ownTopicsOf } from './topics.ts';
import { Undecided } from './undecided.ts';
import { WebSockets } from './websockets.ts';

export class MqttServer {
  readonly #parts: MqttParts;
  readonly #broker: Broker;
  readonly sessions: Sessions;
  readonly #delivery: Delivery;
  readonly #incoming: IncomingPublishes;
  /** Public, because stored sessions ask it which messages they may keep (wiring/wire-mqtt.ts). */
  readonly access: Access;
  readonly #fastPath: FastPath;
  readonly #forwarding: Forwarding;
  #storedReads: StoredReads | undefined;
  readonly #downlinks: GatewayDownlinks;
  readonly #unread: UnreadPackets;
  readonly #stalled: StalledPackets;
  readonly #signIn: SignIn;
  readonly #sys: SysTopics;
  readonly #liveFilters = new LiveFilters();
  /** Public, because certificates are read anew for its ports (server.ts). */
  readonly listeners: Listeners;
  readonly #webSockets: WebSockets;
  readonly counts = new BrokerCounts();
  #stopFollowing: () => void = () => {};
  readonly #answers: AnswerOrder;
  /** Publishes of which it is not known yet whether they are stored, dropped or relayed. */
  readonly #undecided = new Undecided();

  constructor(parts: MqttParts) {
    this.#parts = parts;
    this.#answers = new AnswerOrder((client, packet) => isReceived(parts.stored, client, packet));
    this.sessions = new Sessions({ ...parts, clock: parts.clocks.forExpiry });
    this.access = new Access({ ...parts, sessions: this.sessions });
    this.#forwarding = new Forwarding({
      sessions: this.sessions,
      access: this.access,
      forget: (client, packet) => parts.stored.outgoingClearMessageId(client, packet),
      backlog: new SubscriberBacklog(parts.passing),
      counts: this.counts,
      onSlow: (session) => this.#onSlow(session),
      settings: () => this.#downlinks,
    });
    this.#downlinks = new GatewayDownlinks({
      ages: parts.clocks.forAge,
      ...parts,
      sessions: this.sessions,
      access: this.access,
      isUnderWay: (setting) => this.#delivery.isUnderWay(setting),
      send: (session, message) => this.#forwarding.send(session, message),
      flush: () => this.#forwarding.flush(),
    });
    parts.downlinks.setConnections(this.#downlinks);
    const publishing = new Publishing({
      ...parts,
      retained: parts.stored,
      access: this.access,
      clear: (topic, device) => this.#delivery.clear(topic, device),
      isUnderWay: (client, published) => isUnderWay(parts.stored, client, published),
    });
    this.#fastPath = this.#makeFastPath();
    this.#webSockets = new WebSockets({
      ...parts,
      accept: (stream, address, request) => this.#accept(stream, address, request),
      callerOf: (client) => this.sessions.of(client)?.actor.caller,
      turnsOf: (client) => this.#callerOf(client),
    });
    this.#signIn = new SignIn({
      ...parts,
      sessions: this.sessions,
      onGone: (session) => {
        this.#liveFilters.releaseAll(session);
        this.#downlinks.released(session);
        this.#sys.released(session);
      },
    });
    this.#incoming = new IncomingPublishes({
      ...parts,
      ...{ publishing, sessions: this.sessions, signIn: this.#signIn, counts: this.counts },
      ...{ answers: this.#answers, undecided: this.#undecided },
      broker: () => this.#broker,
      relay: (packet, publisher) => this.#relay(packet, publisher),
    });
    parts.clientIds.follow(this.#signIn);
    parts.mqttClients.follow(new ClientList({ sessions: this.sessions, stored: parts.stored }));
    this.#sys = new SysTopics({
      ...parts,
      ...{ counts: this.counts, sessions: this.sessions },
      liveFilters: () => this.#liveFilters.ofClean,
      send: (session, message, options) => this.#forwarding.send(session, message, options),
      flush: () => this.#forwarding.flush(),
    });
    this.#broker = this.#makeBroker();
    this.#stalled = new StalledPackets({
      clock: parts.clock,
      clients: () => Object.values(this.#broker.connections),
      hasBegun: (client) => this.#fastPath.hasBegun(client) || this.#webSockets.hasBegun(client),
      onCut: ({ id }) =>
        parts.log.info({ client: id }, 'a client that had begun a packet and sent no more of it was cut'),
    });
    this.#unread = new UnreadPackets({
      passing: parts.passing,
      sessionOf: (client) => this.sessions.of(client),
      onSlow: (session) => this.#onSlow(session),
      onHeld: () => this.#delivery.lookForCapacity(),
    });
    this.listeners = new Listeners({ ...parts, accept: (socket, address) => this.#accept(socket, address) });
    this.#delivery = new Delivery({
      ages: parts.clocks.forAge,
      router: this.#broker,
      directory: parts.directory,
      bounds: limits,
      unreadBytes: () => this.#unread.bytes,
      onCapacity: () => parts.writer.capacityReturned(),
    });
  }

  /** Opens the ports and, on the HTTP server given, WebSocket at `/mqtt`. @throws Error when a port is in use. */
  async start(http: HttpServer): Promise<MqttPorts> {
    const { stored, writer, feed } = this.#parts;
    this.#storedReads = prepareStored(stored, {
      prepare: (message) => this.access.prepare(message),
      presentFilter: (filter) => this.access.presentFilter(filter),
      mayReplay: (session, topic) => this.#downlinks.mayReplay(session, topic),
      sessionOf: (clientId) => this.sessions.holderOf(clientId),
      isHeld: (clientId, packet) => this.#forwarding.isHeld(clientId, packet),
    });
    await this.#broker.listen();
    this.#stalled.start();
    this.#sys.start();
    await this.sessions.learn(this.#parts.stored.sessionUsers());
    const stops = [
      this.#delivery.follow(feed),
      this.#downlinks.follow(feed),
      this.#parts.revocations.subscribe((revocation) => this.#endSignIns(revocation)),
    ];
    this.#stopFollowing = () => {
      for (const stop of stops) stop();
    };
    writer.setFanOut(this.#delivery);
    http.on('upgrade', (request, socket, head) => this.#webSockets.upgrade(request, socket, head));
    return this.listeners.start();
  }

  /** Resolves when all published messages are stored or dropped, and have been delivered. */
  async idle(): Promise<void> {
    for (const part of [this.#undecided, this.#parts.writer, this.#delivery]) await part.idle();
    await this.#storedReads?.idle();
    await this.#downlinks.idle();
    await this.#parts.drops.idle();
    // A will is deleted one turn after it was published.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#parts.stored.idle();
  }

  /** Accepts no new connections; commits, acknowledges and delivers what was accepted; then closes the rest. */
  async close(): Promise<void> {
    for (const part of [this.listeners, this.#stalled, this.#sys]) part.close();
    // Stops reading, so that accepted work comes to an end; senders get no answer to the rest and send it again.
    for (const client of Object.values(this.#broker.connections)) holdReading(client);
    const timeIsUp = new Promise<void>((resolve) => setTimeout(resolve, limits.drainMsMax).unref());
    await Promise.race([this.idle(), timeIsUp]);
    // One turn of the event loop lets the acknowledgements reach their sockets.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => this.#broker.close(resolve));
    this.#webSockets.close();
    // Connections that have not signed in are not known to the broker yet.
    this.listeners.cutAll();
    // Wills of clients cut just now are stored like any publish.
    await this.idle();
    this.#stopFollowing();
    await this.#parts.stored.destroy();
  }

  /** Ends the sessions of a revoked sign-in. Connections are ended first, so that they store nothing new. */
  async #endSignIns(revocation: SessionRevocation): Promise<void> {
    await this.sessions.endAll(revocation);
    const { isRemoval, userKey, username } = revocation;
    if (!isRemoval) return;
    this.#parts.duplicates.forgetUser(userKey);
    await this.#parts.stored.forgetUser(userKey, ownTopicsOf(username));
  }

  #makeBroker(): Broker {
    const { stored } = this.#parts;
    const broker = new Broker(
      {
        persistence: stored,
        ...brokerBounds(),
        preConnect: (client, packet, done) => {
          this.#signIn.look(client, packet);
          done(null, true);
        },
        authenticate: (client, username, password, done) => this.#authenticate(client, username, password, done),
        authorizePublish: (client, packet, done) => this.#incoming.authorize(client, packet, done),
        authorizeSubscribe: (client, subscription, done) => done(null, this.#authorizeSubscribe(client, subscription)),
        authorizeForward: (client, packet) => this.#forwarding.forward(client, packet),
      },
      {
        sessionMessages: stored,
        relay: (packet, publisher) => this.#relay(packet, publisher),
        answers: this.#answers,
        handOut: (packet, recipients, done) => this.#forwarding.handOut(packet, recipients, done),
        flush: () => this.#forwarding.flush(),
      },
    );
    broker.on('ping', (_packet: unknown, client: Client) => void this.#onPing(client));
    broker.on('unsubscribe', (filters: string[], client: Client) => {
      for (const filter of filters) this.#liveFilters.release(this.sessions.of(client), filter);
    });
    broker.on('clientReady', (client: Client) => {
      const session = this.sessions.of(client);
      const replayed = session?.replay?.actuators ?? [];
      this.#forwarding.resume(client);
      void this.#downlinks.resumed(session, [...replayed]);
      this.#sys.subscribed(session);
    });
    broker.on('subscribe', (subscriptions: readonly Subscription[], client: Client) => {
      const session = this.sessions.of(client);
      this.#downlinks.subscribed(session);
      this.#sys.subscribed(session, subscriptions);
    });
    broker.logFaults(this.#parts.log);
    return broker;
  }

  #makeFastPath(): FastPath {
    return new FastPath({
      ...this.#parts,
      answers: this.#answers,
      counts: this.counts,
      sessionOf: (client) => this.sessions.of(client),
      callerOf: (client) => this.#callerOf(client),
      begun: () => this.#undecided.begin(),
      ended: () => this.#undecided.end(),
      failed: (session, error) => this.#incoming.noteUnstored(session, error),
    });
  }

  /** Who signed in; before that, who shares the address. */
  #callerOf(client: Client): Caller {
    return this.sessions.of(client)?.actor.caller ?? this.#parts.byteBudget.callerAt(addressOf(client));
  }

  #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
    done: AuthenticateDone,
  ): void {
    this.#signIn.verify(client, username, password).then(
      () => done(null, true),
      (error: unknown) => {
        const returnCode = this.#signIn.returnCodeOf(error);
        if (!(error instanceof Refusal)) this.#parts.log.error({ err: error }, 'signing in over MQTT failed');
        done(Object.assign(error as Error, { returnCode }) as AuthenticateError, false);
      },
    );
  }

  #relay(packet: PublishPacket, publisher: Actor | undefined): Promise<void> {
    return this.#delivery.relay(packet, { gateway: this.access.gatewayKeyOf(packet.topic), publisher });
  }

  /** A PINGREQ counts as a gateway's heartbeat, also of a gateway that was declared after the client connected. */
  async #onPing(client: Client): Promise<void> {
    const session = this.sessions.of(client);
    if (session === undefined) return;
    const gateway = await this.#parts.gateways.find(session.clientId).catch(() => undefined);
    this.#parts.presence.noteActivity(session, gateway);
  }

  #authorizeSubscribe(client: Client, subscription: Subscription): Subscription | null {
    const session = this.sessions.of(client);
    if (session === undefined || subscription.topic === placeholder) return null;
    const { topic: filter, qos } = subscription;
    const isTaken =
      (client.clean || this.#parts.stored.hasCapacityForFilter(client.id, filter)) &&
      this.#liveFilters.take(session, filter, qos);
    if (!isTaken) session.noteRefusal('subscription');
    // The broker keeps one QoS for each filter: with 2 it lowers none, and forwarding.ts applies the QoS granted.
    return isTaken ? { ...subscription, qos: 2 } : null;
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

  #accept(stream: Socket | Duplex, address: string, request?: IncomingMessage): Client {
    noteAddress(stream, address);
    this.counts.opened(stream);
    const client = this.#broker.handle(stream, request);
    requireLawfulPackets(client);
    tellsClient(client);
    this.#unread.watch(client);
    budgetPackets(client, this.#parts.byteBudget, () => this.#callerOf(client));
    this.#fastPath.attach(client);
    return client;
  }
}

type AuthenticateDone = (error: AuthenticateError | null, success: boolean | null) => void;
