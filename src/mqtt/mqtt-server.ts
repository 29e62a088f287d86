// The MQTT server: makes the parts that bring messages in and connects them with the ports (contract 8); mqtt-routing.ts makes
// those through which they leave. session/ has what becomes of connections and packets, sign-in.ts who may connect,
// publishing.ts what becomes of a message, routing/ and access.ts who receives it.

import { randomUUID } from 'node:crypto';
import type { Server as HttpServer, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import type { SessionRevocation } from '../domain/users/session-revocation.ts';
import type { Access } from './access.ts';
import { ClientList } from './client-list.ts';
import { Listeners } from './listeners.ts';
import type { MqttPorts } from './mqtt-options.ts';
import type { MqttParts } from './mqtt-parts.ts';
import { MqttRouting } from './mqtt-routing.ts';
import { packetTypes } from './protocol/packet-types.ts';
import { reasonCodes } from './protocol/reason-codes.ts';
import { addressOf, noteAddress } from './proxy/client-address.ts';
import { Publishing } from './publishing.ts';
import type { SharedSubscriptions } from './routing/shared/shared-subscriptions.ts';
import { Acknowledgements } from './session/acknowledgements.ts';
import { AnswerOrder } from './session/answer-order.ts';
import { Client, type ClientOwner } from './session/client.ts';
import { ClientFault, shutdownFault } from './session/client-fault.ts';
import { ConnectionEnds } from './session/connection-ends.ts';
import { Connections } from './session/connections.ts';
import { Handshake } from './session/handshake.ts';
import { IncomingPublishes } from './session/incoming-publishes.ts';
import { PacketHandler } from './session/packet-handler.ts';
import { PacketReader } from './session/packet-reader.ts';
import type { PublishGroup } from './session/publish-group.ts';
import { SilenceWatch } from './session/silence.ts';
import { StalledPackets } from './session/stalled-packets.ts';
import { Subscribing } from './session/subscribing.ts';
import { Undecided } from './session/undecided.ts';
import { UsualPublishes } from './session/usual-publishes.ts';
import { Wills } from './session/wills.ts';
import type { Sessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import type { BrokerCounts } from './sys/broker-counts.ts';
import { ownTopicsOf } from './topics.ts';
import { WebSockets } from './websockets.ts';

export class MqttServer implements ClientOwner {
  readonly #parts: MqttParts;
  readonly #id = randomUUID();
  readonly #connections = new Connections();
  readonly sessions: Sessions;
  /** Public, because stored sessions ask it which messages they may keep (wiring/wire-mqtt.ts). */
  readonly access: Access;
  /** Public, because certificates are read anew for its ports (server.ts). */
  readonly listeners: Listeners;
  readonly counts: BrokerCounts;
  readonly #routing: MqttRouting;
  readonly #shared: SharedSubscriptions;
  readonly #subscribing: Subscribing;
  readonly #incoming: IncomingPublishes;
  readonly #wills: Wills;
  readonly #ends: ConnectionEnds;
  readonly #usual: UsualPublishes;
  readonly #reader: PacketReader<PublishGroup>;
  readonly #silence: SilenceWatch;
  readonly #stalled: StalledPackets;
  readonly #signIn: SignIn;
  readonly #webSockets: WebSockets;
  /** Publishes of which it is not known yet whether they are stored, dropped or relayed. */
  readonly #undecided = new Undecided();
  #stopFollowing: () => void = () => {};

  constructor(parts: MqttParts) {
    this.#parts = parts;
    const answers = new AnswerOrder();
    const routing = new MqttRouting(parts);
    this.#routing = routing;
    this.#shared = routing.shared;
    this.sessions = routing.sessions;
    this.access = routing.access;
    this.counts = routing.counts;
    parts.downlinks.setConnections(routing.downlinks);
    this.#subscribing = new Subscribing({
      ...{ sessions: this.sessions, stored: parts.stored, messages: routing.messages, shared: routing.shared },
      ...{ liveFilters: routing.liveFilters, router: routing.router, delivery: routing.sessionDelivery },
      onSubscribed: (session, filters) => {
        routing.downlinks.subscribed(session);
        routing.sys.subscribed(session, filters);
      },
    });
    this.#signIn = this.#makeSignIn();
    this.#silence = new SilenceWatch((client) =>
      client.fail(new ClientFault(reasonCodes.keepAliveTimeout, 'nothing was heard of the client in time')),
    );
    this.#incoming = this.#makeIncoming(answers);
    this.#wills = new Wills({
      ...{ stored: parts.stored, brokerId: this.#id, log: parts.log },
      publish: (will, session) => this.#incoming.takeWill(will, session),
      sessionOf: (clientId) => this.sessions.holderOf(clientId),
      nowMs: () => parts.clocks.forExpiry.now(),
    });
    this.#ends = new ConnectionEnds({
      ...{ sessions: this.sessions, connections: this.#connections, silence: this.#silence, owed: routing.owed },
      ...{ subscribing: this.#subscribing, wills: this.#wills, stored: parts.stored, log: parts.log },
    });
    this.#usual = this.#makeUsual(answers);
    this.#reader = this.#makeReader();
    parts.clientIds.follow(this.#signIn);
    parts.ownClients.follow(new ClientList({ sessions: this.sessions, stored: parts.stored }));
    this.#webSockets = new WebSockets({
      ...parts,
      accept: (stream, address, request) => this.#accept(stream, address, request),
      callerOf: (client) => this.sessions.of(client)?.actor.caller,
      turnsOf: (client) => this.#callerOf(client),
    });
    this.#stalled = new StalledPackets({
      clock: parts.clock,
      clients: () => this.#connections.all(),
      hasBegun: (client) => (client.partial !== undefined && !client.isHeld) || this.#webSockets.hasBegun(client),
      onCut: ({ id }) =>
        parts.log.info({ client: id }, 'a client that had begun a packet and sent no more of it was cut'),
    });
    this.listeners = new Listeners({ ...parts, accept: (socket, address) => this.#accept(socket, address) });
  }

  /** Opens the ports and, on the HTTP server given, WebSocket at `/mqtt`. @throws Error when a port is in use. */
  async start(http: HttpServer): Promise<MqttPorts> {
    const { stored, writer, feed } = this.#parts;
    const { delivery, downlinks } = this.#routing;
    await stored.setup({
      id: this.#id,
      connectionOf: (clientId) => this.#connections.of(clientId),
      onSessionEnded: (clientId, user) => this.#shared.ended(clientId, user),
      onSessionLetGo: (clientId) => void this.#shared.ended(clientId, undefined),
      onSessionTaken: (clientId) => this.#shared.taken(clientId),
      messages: this.#routing.source(),
    });
    for (const part of [this.#shared, this.#wills, this.#stalled, this.#routing.sys]) part.start();
    await this.sessions.learn(stored.sessionUsers());
    const stops = [
      delivery.follow(feed),
      downlinks.follow(feed),
      this.#routing.followRelays(),
      this.#parts.revocations.subscribe((revocation) => this.#endSignIns(revocation)),
    ];
    this.#stopFollowing = () => {
      for (const stop of stops) stop();
    };
    stored.beginFollowing();
    writer.setFanOut(delivery);
    http.on('upgrade', (request, socket, head) => this.#webSockets.upgrade(request, socket, head));
    return this.listeners.start();
  }

  /** Resolves when all published messages are stored or dropped, and have been delivered. */
  async idle(): Promise<void> {
    const { delivery, messages, downlinks } = this.#routing;
    for (const part of [this.#undecided, this.#parts.writer, delivery.queue, messages, downlinks]) await part.idle();
    await this.#parts.drops.idle();
    await this.#wills.idle();
    await this.#parts.stored.idle();
  }

  /** Accepts no new connections; commits, acknowledges and delivers what was accepted; then closes the rest. */
  async close(): Promise<void> {
    for (const part of [this.listeners, this.#stalled, this.#routing.sys]) part.close();
    // Stops reading, so that accepted work comes to an end; senders get no answer to the rest and send it again.
    for (const client of this.#connections.all()) client.hold();
    const timeIsUp = new Promise<void>((resolve) => setTimeout(resolve, limits.drainMsMax).unref());
    await Promise.race([this.idle(), timeIsUp]);
    this.#routing.delivery.queue.close();
    this.#parts.stored.giveUp();
    this.#routing.router.giveUp();
    // One turn of the event loop lets the acknowledgements reach their sockets.
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#connections.isClosed = true;
    this.#wills.close();
    const fault = shutdownFault(this.#parts.options.serverReference);
    for (const client of [...this.#connections.all()]) client.fail(fault);
    this.#webSockets.close();
    // Connections that have not signed in are not among them.
    this.listeners.cutAll();
    this.#silence.close();
    // Wills of clients cut just now are stored like any publish.
    await this.idle();
    await this.#parts.stored.endFollowing(this.#stopFollowing);
    this.#routing.router.close();
    await this.#parts.stored.destroy();
  }

  // --- What connections ask of their owner (session/client.ts) ---------------------------------------------------

  take(client: Client, bytes: Buffer): void {
    // A client that only listens is told that this server lives.
    const isPing = client.partial === undefined && bytes.equals(pingreq);
    if (client.connackSent && !isPing && !this.#parts.standing.isSure) void this.#takeWhenSure(client, bytes);
    else this.#reader.take(client, bytes);
  }

  onFull(client: Client): void {
    this.#routing.unread.note(client);
  }

  onFault(client: Client, error: Error): Uint8Array | undefined {
    return this.#ends.lastWordsOf(client, error);
  }

  onClosed(client: Client): void {
    this.#ends.closed(client);
  }

  /**
   * What a client sends waits while this server may not know what others have changed, as long as it takes: a connection is not
   * given up because the database is away.
   */
  async #takeWhenSure(client: Client, bytes: Buffer): Promise<void> {
    client.hold();
    client.putBack(bytes);
    const { standing } = this.#parts;
    while (!standing.isSure && !client.closed) {
      try {
        await standing.makeSure();
      } catch {
        await delay(limits.sureRetryMs, undefined, { ref: false });
      }
    }
    client.readOn();
  }

  // --- The parts ----------------------------------------------------------------------------------------------

  #makeSignIn(): SignIn {
    return new SignIn({
      ...this.#parts,
      sessions: this.sessions,
      onGone: (session) => this.#routing.released(session),
      settled: () => this.#routing.settled(),
      restKept: (clientId) => this.#subscribing.restKept(clientId),
    });
  }

  #makeIncoming(answers: AnswerOrder): IncomingPublishes {
    const publishing = new Publishing({
      ...this.#parts,
      retained: this.#parts.stored,
      access: this.access,
      clear: (topic, device) => this.#routing.delivery.clear(topic, device),
      isUnderWay: (client, published) => this.#routing.messages.isUnderWay(client, published),
    });
    return new IncomingPublishes({
      ...this.#parts,
      ...{ publishing, answers, sessions: this.sessions, signIn: this.#signIn, counts: this.counts },
      ...{ undecided: this.#undecided, messages: this.#routing.messages, owed: this.#routing.owed },
      nowMs: () => this.#parts.clocks.forExpiry.now(),
      relay: (packet, publisher, receipt) => this.#routing.relay(packet, publisher, receipt),
    });
  }

  #makeUsual(answers: AnswerOrder): UsualPublishes {
    return new UsualPublishes({
      ...this.#parts,
      ...{ answers, counts: this.counts },
      sessionOf: (client) => this.sessions.of(client),
      callerOf: (client) => this.#callerOf(client),
      begun: () => this.#undecided.begin(),
      ended: () => this.#undecided.end(),
      failed: (session, error) => this.#incoming.noteUnstored(session, error),
    });
  }

  #makeReader(): PacketReader<PublishGroup> {
    const usual = this.#usual;
    const { stored } = this.#parts;
    const acknowledgements = new Acknowledgements({ stored, shared: this.#shared.deliveries });
    const handler = this.#makeHandler(acknowledgements);
    return new PacketReader<PublishGroup>({
      byteBudget: this.#parts.byteBudget,
      counts: this.counts,
      callerOf: (client) => this.#callerOf(client),
      groupOf: (client, bytes) => usual.groupOf(client, bytes),
      add: (group, frame) => usual.add(group, frame),
      wantsMore: (client) => usual.wantsMore(client),
      onceCapacity: (client, waiting) => usual.onceCapacity(client, waiting),
      submit: (client, group) => usual.submit(client, group),
      release: (client, bytes, at) => acknowledgements.releasedTogether(client, bytes, at),
      handle: (client, packet) => handler.handle(client, packet),
    });
  }

  #makeHandler(acknowledgements: Acknowledgements): PacketHandler {
    const { stored, log, clocks } = this.#parts;
    const handshake = new Handshake({
      ...{ stored, log, signIn: this.#signIn, sessions: this.sessions, connections: this.#connections },
      ...{ silence: this.#silence, subscribing: this.#subscribing, wills: this.#wills },
      replay: (client) => this.#routing.sessionDelivery.replay(client),
      onReady: (client) => this.#routing.resume(this.sessions.of(client)),
    });
    return new PacketHandler({
      ...{ handshake, publishes: this.#incoming, subscribing: this.#subscribing, acknowledgements },
      nowMs: () => clocks.forExpiry.now(),
      onPing: (client) => void this.#onPing(client),
    });
  }

  /** Ends the sessions of a revoked sign-in. Connections are ended first, so that they store nothing new. */
  async #endSignIns(revocation: SessionRevocation): Promise<void> {
    this.sessions.endAll(revocation);
    const { isRemoval, userKey, username } = revocation;
    if (!isRemoval) return;
    this.#parts.duplicates.forgetUser(userKey);
    await this.#parts.stored.forgetUser(userKey, ownTopicsOf(username));
  }

  /** Who signed in; before that, who shares the address. */
  #callerOf(client: Client): Caller {
    return this.sessions.of(client)?.actor.caller ?? this.#parts.byteBudget.callerAt(addressOf(client));
  }

  /** A PINGREQ counts as a gateway's heartbeat, also of a gateway that was declared after the client connected. */
  async #onPing(client: Client): Promise<void> {
    const session = this.sessions.of(client);
    if (session === undefined) return;
    const gateway = await this.#parts.gateways.find(session.clientId).catch(() => undefined);
    this.#parts.presence.noteActivity(session, gateway);
  }

  #accept(stream: Socket | Duplex, address: string, request?: IncomingMessage): Client {
    noteAddress(stream, address);
    this.counts.opened(stream);
    const client = new Client(stream, this, request);
    this.#silence.watch(client, limits.mqttConnectMsMax);
    return client;
  }
}

const pingreq = Buffer.of(packetTypes.pingreq << 4, 0);
