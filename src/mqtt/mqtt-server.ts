// The MQTT edge: aedes on TCP, TLS and WebSocket, with who may connect, publish and receive decided here (contract 8).
import { readFileSync } from 'node:fs';
import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import type { AuthenticateError, Client, PublishPacket, Subscription } from 'aedes';
import { createWebSocketStream, WebSocketServer } from 'ws';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { Feed } from '../domain/datapoints/feed.ts';
import type { Writer } from '../domain/datapoints/writer.ts';
import type { Ending, Endings } from '../domain/users/endings.ts';
import type { Actor } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import { Access } from './access.ts';
import { Broker, type SessionMemory } from './broker.ts';
import { Delivery } from './delivery.ts';
import { Forwarding } from './forwarding.ts';
import { boundPacketBytes } from './packet-bound.ts';
import { Publishing, type PublishingParts } from './publishing.ts';
import { QuickLane } from './quick-lane.ts';
import { type Session, Sessions } from './sessions.ts';
import { SignIn, type SignInParts, type Will } from './sign-in.ts';
import { isUnderWay, placeholder, prepareStored, type StoredMessages } from './stored-messages.ts';

export interface MqttOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly port: number; readonly certFile: string; readonly keyFile: string } | undefined;
}

export interface MqttParts
  extends Omit<PublishingParts, 'access' | 'clear' | 'isUnderWay'>,
    Omit<SignInParts, 'sessions'> {
  readonly options: MqttOptions;
  /** Keeps sessions and retained messages (aedes's persistence interface). */
  readonly persistence: SessionMemory & StoredMessages & { idle(): Promise<void>; destroy(): Promise<void> };
  readonly feed: Feed;
  readonly writer: Writer;
  readonly users: Users;
  readonly endings: Endings;
  readonly guest: Actor;
  readonly clock: Clock;
  readonly log: Log;
}

/** Counts for the metrics. */
export interface MqttCounts {
  connections: number;
  slowCut: number;
}

export class MqttServer {
  readonly #parts: MqttParts;
  readonly #broker: Broker;
  readonly #sessions: Sessions;
  readonly #delivery: Delivery;
  readonly #publishing: Publishing;
  readonly #access: Access;
  readonly #quickLane: QuickLane;
  readonly #forwarding: Forwarding;
  readonly #signIn: SignIn;
  readonly #servers: Server[] = [];
  readonly #webSockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.mqttPacketBytesMax,
    perMessageDeflate: false,
    handleProtocols: (protocols) => [...protocols].find((name) => name.startsWith('mqtt')) ?? false,
  });
  readonly counts: MqttCounts = { connections: 0, slowCut: 0 };
  #stopFollowing: () => void = () => {};
  /** Publishes that are being decided about. */
  #deciding = 0;
  #decidedWaiters: (() => void)[] = [];

  constructor(parts: MqttParts) {
    this.#parts = parts;
    this.#sessions = new Sessions(parts);
    this.#access = new Access({ ...parts, sessions: this.#sessions });
    this.#forwarding = new Forwarding({
      sessions: this.#sessions,
      access: this.#access,
      forget: (client, packet) => parts.persistence.outgoingClearMessageId(client, packet),
      onSlow: (session) => this.#onSlow(session.clientId),
    });
    this.#publishing = new Publishing({
      ...parts,
      access: this.#access,
      clear: (topic) => this.#delivery.clear(topic),
      isUnderWay: (client, published) => isUnderWay(parts.persistence, client, published),
    });
    this.#quickLane = this.#makeQuickLane();
    this.#signIn = new SignIn({ ...parts, sessions: this.#sessions });
    this.#broker = this.#makeBroker();
    this.#delivery = new Delivery({
      outlet: this.#broker,
      directory: parts.directory,
      bounds: limits,
      onRoom: () => parts.writer.roomAgain(),
    });
  }

  /** Opens the ports and, on the HTTP server given, WebSocket at `/mqtt`. @throws Error when a port is in use. */
  async start(http: HttpServer): Promise<{ readonly mqtt: number; readonly mqtts?: number }> {
    const { options, persistence, writer, feed } = this.#parts;
    prepareStored(persistence, {
      prepare: (message) => this.#access.prepare(message),
      sessionOf: (clientId) => this.#sessions.holderOf(clientId),
      isHeld: (clientId, packet) => this.#forwarding.isHeld(clientId, packet),
    });
    await this.#broker.listen();
    const unfollowFeed = this.#delivery.follow(feed);
    const unfollowEndings = this.#parts.endings.follow((ending) => this.#endSignIns(ending));
    this.#stopFollowing = () => {
      unfollowFeed();
      unfollowEndings();
    };
    writer.holdUpWhile(() => this.#delivery.isFull);
    const socketOptions = { noDelay: true, highWaterMark: limits.subscriberBytesMax + 64 * 1024 };
    const mqtt = await this.#listen(
      createTcpServer(socketOptions, (socket) => this.#accept(socket)),
      options.port,
    );
    http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    if (options.tls === undefined) return { mqtt };
    const { certFile, keyFile, port } = options.tls;
    const tls = createTlsServer(
      { ...socketOptions, cert: readFileSync(certFile), key: readFileSync(keyFile) },
      (socket) => this.#accept(socket),
    );
    // A failed handshake is that client's affair.
    tls.on('tlsClientError', () => {});
    return { mqtt, mqtts: await this.#listen(tls, port) };
  }

  /** Is it of use to keep a message of this topic for a user who is away? */
  mayKeep(username: string | undefined, topic: string): boolean {
    return username !== undefined && this.#access.mayKeep(username, topic);
  }

  /** Resolves when all that was published is stored or dropped, and has gone out to subscribers. */
  async idle(): Promise<void> {
    await this.#decided();
    await this.#parts.writer.idle();
    await this.#delivery.idle();
    await this.#parts.drops.idle();
    // What a will has brought about is done in the next turn: that it is forgotten.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#parts.persistence.idle();
  }

  /** Takes no new connections; lets what was accepted be committed, acknowledged and delivered; then cuts the rest. */
  async close(): Promise<void> {
    for (const server of this.#servers) server.close();
    // Nothing more is read, so that what is accepted comes to an end; senders have no answer and send it again.
    for (const client of Object.values(this.#broker.connections)) client.pause();
    const timeIsUp = new Promise<void>((resolve) => setTimeout(resolve, limits.drainMsMax).unref());
    await Promise.race([this.idle(), timeIsUp]);
    // One turn of the event loop lets the acknowledgements reach their sockets.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => this.#broker.close(resolve));
    this.#webSockets.close();
    // Not every peer answers a closing handshake, and the HTTP server waits for its sockets.
    for (const webSocket of this.#webSockets.clients) webSocket.terminate();
    // The wills of those who were cut are stored like any other publish.
    await this.idle();
    this.#stopFollowing();
    await this.#parts.persistence.destroy();
  }

  /** Who is connected goes first, so that nothing of theirs is stored anew. */
  async #endSignIns(ending: Ending): Promise<void> {
    await this.#sessions.endAll(ending);
    if (ending.isRemoval) await this.#parts.stored.forgetUser(ending.username);
  }

  #makeBroker(): Broker {
    const { persistence } = this.#parts;
    const broker = new Broker(
      {
        persistence,
        // No bound on routing at once: a subscriber that does not keep up is cut, so that nobody waits for it.
        concurrency: 0,
        queueLimit: limits.earlyPacketsMax,
        maxInflightInbound: limits.inflightMax,
        maxClientsIdLength: limits.clientIdCharsMax,
        maxTopicLevels: limits.topicLevelsMax,
        heartbeatInterval: 15_000,
        preConnect: (client, packet, done) => {
          this.#signIn.look(client, packet);
          done(null, true);
        },
        authenticate: (client, username, password, done) => this.#authenticate(client, username, password, done),
        authorizePublish: (client, packet, done) => this.#authorizePublish(client, packet, done),
        authorizeSubscribe: (client, subscription, done) => done(null, this.#authorizeSubscribe(client, subscription)),
        authorizeForward: (client, packet) => this.#forwarding.forward(client, packet),
      },
      persistence,
      (topic) => this.#access.gatewayKeyOf(topic),
    );
    broker.on('ping', (_packet: unknown, client: Client) => void this.#hearPing(client));
    broker.on('unsubscribe', (filters: string[], client: Client) => {
      for (const filter of filters) this.#sessions.of(client)?.filters.delete(filter);
    });
    broker.on('clientReady', (client: Client) => this.#forwarding.resume(client));
    broker.on('clientError', (client: Client, error: Error) =>
      this.#parts.log.debug({ client: client.id, reason: error.message }, 'an MQTT client was cut'),
    );
    broker.on('connectionError', (_client: Client, error: Error) =>
      this.#parts.log.debug({ reason: error.message }, 'an MQTT connection failed'),
    );
    (broker as NodeJS.EventEmitter).on('error', (error: Error) =>
      this.#parts.log.error({ err: error }, 'the MQTT broker reports a fault'),
    );
    return broker;
  }

  #makeQuickLane(): QuickLane {
    return new QuickLane({
      ...this.#parts,
      sessionOf: (client) => this.#sessions.of(client),
      decide: async (session, published) => void (await this.#publishing.decide(session, published)),
      begun: () => {
        this.#deciding += 1;
      },
      ended: () => this.#ended(),
      failed: (session, error) => this.#noteUnstored(session, error),
    });
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

  /** An error here cuts the client: that is for what could not be stored, so that nothing unstored is acknowledged. */
  #authorizePublish(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const session = client === null ? undefined : this.#sessions.of(client);
    if (client !== null && this.#sessions.hasEnded(client)) {
      // Its last words, or its will, are nobody's any more.
      this.#broker.take(packet);
      done();
      return;
    }
    if (client !== null && session === undefined && packet.messageId !== undefined) {
      // A will has no packet id: this is a message of a client that was refused, for which the broker still listens a while.
      done(new Error('The client has not been let in.'));
      return;
    }
    if (session !== undefined) this.#parts.presence.hear(session, this.#parts.gateways.peek(session.clientId));
    this.#deciding += 1;
    // The connection of a will is gone, and its client id may be somebody else's by now.
    const isWill = session === undefined || (packet as Will).username !== undefined;
    (isWill ? this.#publishWill(packet, session) : this.#publish(session, packet)).then(
      () => {
        done();
        this.#ended();
      },
      (error: Error) => {
        this.#noteUnstored(session, error);
        done(error);
        this.#ended();
      },
    );
  }

  #noteUnstored(session: Session | undefined, error: Error): void {
    this.#parts.log.warn({ client: session?.clientId, reason: error.message }, 'a message could not be stored');
  }

  #ended(): void {
    this.#deciding -= 1;
    if (this.#deciding === 0) for (const resume of this.#decidedWaiters.splice(0)) resume();
  }

  #decided(): Promise<void> {
    if (this.#deciding === 0) return Promise.resolve();
    return new Promise((resolve) => this.#decidedWaiters.push(resolve));
  }

  /** Decides about a message and, where no more than an acknowledgement is left to do, tells the broker so. */
  async #publish(session: Session, packet: PublishPacket): Promise<void> {
    const verdict = await this.#publishing.decide(session, { ...packet, dup: packet.dup === true });
    if (verdict === 'relay') {
      // The broker tells repeats of QoS 2 itself, and acknowledges after it has routed.
      if (packet.qos === 2) return;
      await this.#broker.relay(packet);
    }
    this.#broker.take(packet);
  }

  /** A keep-alive says of a gateway that it is there; one declared since the connection began is found here. */
  async #hearPing(client: Client): Promise<void> {
    const session = this.#sessions.of(client);
    if (session === undefined) return;
    const gateway = await this.#parts.gateways.find(session.clientId).catch(() => undefined);
    this.#parts.presence.hear(session, gateway);
  }

  /** A will is judged as its user's at the moment when it is sent. */
  async #publishWill(will: Will, session: Session | undefined): Promise<void> {
    const own = session?.actor.username === will.username ? session : await this.#signIn.sessionOfWill(will);
    if (own === undefined || !(await this.#sessions.isStillGood(own))) this.#broker.take(will);
    else await this.#publish(own, will);
  }

  #authorizeSubscribe(client: Client, subscription: Subscription): Subscription | null {
    const session = this.#sessions.of(client);
    if (session === undefined || subscription.topic === placeholder) return null;
    if (session.filters.size >= limits.sessionFiltersMax && !session.filters.has(subscription.topic)) return null;
    session.filters.set(subscription.topic, subscription.qos);
    // The broker knows a QoS for each filter alone; which one counts for a message is decided when it goes out.
    return { ...subscription, qos: 2 };
  }

  #onSlow(clientId: string): void {
    this.counts.slowCut += 1;
    this.#parts.log.warn(
      { client: clientId, bytes: limits.subscriberBytesMax },
      'a subscriber that does not keep up was cut',
    );
  }

  #accept(stream: Socket | Duplex, request?: IncomingMessage): void {
    this.counts.connections += 1;
    stream.once('close', () => {
      this.counts.connections -= 1;
    });
    const client = this.#broker.handle(stream, request);
    boundPacketBytes(client, limits.mqttPacketBytesMax);
    this.#quickLane.attach(client);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = (request.url ?? '').split('?')[0];
    if (path !== '/mqtt' && path !== '/mqtt/') {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const highWaterMark = limits.subscriberBytesMax + 64 * 1024;
      this.#accept(createWebSocketStream(webSocket, { highWaterMark }), request);
    });
  }

  async #listen(server: Server, port: number): Promise<number> {
    server.maxConnections = limits.mqttConnectionsMax;
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host: this.#parts.options.host }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }
}

type AuthenticateDone = (error: AuthenticateError | null, success: boolean | null) => void;
