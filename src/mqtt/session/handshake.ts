// From CONNECT to the first packet of a session, and DISCONNECT: signs the client in, takes up what is kept for it, keeps
// its will, answers with CONNACK, and sends what waited [MQTT-3.1.4]. A connection may close at each step; what it has by
// then is given back when it does (`Client.close`), and nothing is added after.
import type { IDisconnectPacket } from 'mqtt-packet';
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { type ConnackProperties, connack } from '../protocol/answers.ts';
import { parsePacket } from '../protocol/parsed-packets.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import type { Sessions } from '../sessions.ts';
import type { SignIn } from '../sign-in.ts';
import type { Client } from './client.ts';
import { ClientFault } from './client-fault.ts';
import type { Hello } from './connect-packet.ts';
import type { Connections } from './connections.ts';
import type { SilenceWatch } from './silence.ts';
import type { Subscribing } from './subscribing.ts';
import { foreverS, Version5 } from './version5.ts';
import type { Wills } from './wills.ts';

export interface HandshakeParts {
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly connections: Connections;
  readonly silence: SilenceWatch;
  readonly subscribing: Subscribing;
  readonly stored: Pick<
    MqttSessions,
    'expiryMsMaxOf' | 'subscriptionsByClient' | 'cleanSubscriptions' | 'cleanIncoming' | 'putWill' | 'delWill'
  >;
  readonly wills: Pick<Wills, 'cameBack' | 'noteKept'>;
  readonly log: Log;
  /** Sends what waits for the session; resolves when it has been sent, or the connection has closed. */
  readonly replay: (client: Client) => Promise<void>;
  /** Called when all that waited has been sent. */
  readonly onReady: (client: Client) => void;
}

export class Handshake {
  readonly #parts: HandshakeParts;
  #count = 0;

  constructor(parts: HandshakeParts) {
    this.#parts = parts;
  }

  connect(client: Client, hello: Hello): void {
    client.phase = 'connecting';
    client.id = hello.clientId;
    client.version = hello.version;
    client.isFresh = hello.isFresh;
    // Of version 5, where nothing is kept of it; what was kept before is taken up all the same (sign-in.ts).
    client.clean = hello.options === undefined ? hello.isFresh : hello.options.sessionExpiryS === 0;
    if (hello.options !== undefined) client.v5 = new Version5(hello.options);
    this.#count += 1;
    client.connectNumber = this.#count;
    // How long it takes to sign in is the server's doing.
    this.#parts.silence.watch(client, 0);
    if (hello.authenticationMethod === undefined) client.handling(this.#letIn(client, hello));
    else client.closeWith(connack(client.version, { reasonCode: reasonCodes.badAuthenticationMethod }));
  }

  /** DISCONNECT: the client leaves, and its will is not published [MQTT-3.14.4-3]. */
  disconnect(client: Client, packet: Buffer): void {
    const { reasonCode = 0, properties } = parsePacket(packet, client.version) as Partial<IDisconnectPacket>;
    const expiryS = properties?.sessionExpiryInterval;
    if (client.v5 !== undefined && expiryS !== undefined) {
      // [MQTT-3.1.2-11.2]: a session that ends with its connection cannot be kept any more.
      if (client.v5.options.sessionExpiryS === 0 && expiryS > 0) {
        client.fail(new ClientFault(reasonCodes.protocolError, 'the session was to end with its connection'));
        return;
      }
      client.v5.sessionExpiryS = expiryS;
    }
    if (reasonCode === reasonCodes.normalDisconnection) this.#forgetWill(client);
    client.close();
  }

  #forgetWill(client: Client): void {
    if (client.will === undefined) return;
    client.will = undefined;
    this.#parts.wills.noteKept(client.id, undefined);
    this.#parts.stored.delWill(client).catch(() => {});
  }

  async #letIn(client: Client, hello: Hello): Promise<void> {
    const { connections, silence, sessions } = this.#parts;
    try {
      await this.#parts.signIn.verify(client, hello);
    } catch (error) {
      this.#refuse(client, error);
      return;
    }
    if (this.#hasGone(client)) return;
    client.isSignedIn = true;
    // [MQTT-3.1.2-24]
    if (hello.keepAliveS > 0) silence.watch(client, hello.keepAliveS * 1_500);
    const hasFilters = await this.#restoreFilters(client);
    if (this.#hasGone(client)) return;
    await this.#parts.wills.cameBack(client.id, client);
    await this.#keepWill(client, hello);
    if (this.#hasGone(client)) return;
    connections.add(client);
    if (client.clean) await this.#parts.stored.cleanIncoming(client);
    if (this.#hasGone(client)) return;
    // [MQTT-3.2.2-2]
    const sessionPresent = hasFilters || sessions.of(client)?.isResumed === true;
    const properties = this.#toldOf(client, hello);
    const written = client.send(
      connack(client.version, { reasonCode: reasonCodes.success, sessionPresent, properties }),
    );
    if (written !== undefined) await written;
    if (client.closed) return;
    client.accept();
    void this.#begin(client);
  }

  /** The packets of the client are read from now on. */
  async #begin(client: Client): Promise<void> {
    try {
      await this.#parts.replay(client);
      if (!client.closed) this.#parts.onReady(client);
    } catch (error) {
      client.fail(error as Error);
    }
  }

  #hasGone(client: Client): boolean {
    return client.closed || this.#parts.connections.isClosed;
  }

  #refuse(client: Client, error: unknown): void {
    const { signIn, log } = this.#parts;
    if (!(error instanceof Refusal)) log.error({ err: error }, 'signing in over MQTT failed');
    if (this.#hasGone(client)) return;
    const reasonCode = signIn.reasonCodeOf(error);
    const words = client.v5?.words(error instanceof Refusal ? error.message : undefined) ?? {};
    client.closeWith(connack(client.version, { reasonCode, words }));
  }

  /** What a client of version 5 is told of the bounds that it must keep, and of what was not as it asked [3.2.2.3]. */
  #toldOf(client: Client, hello: Hello): ConnackProperties {
    const { v5 } = client;
    const actor = this.#parts.sessions.of(client)?.actor;
    if (v5 === undefined || actor === undefined) return {};
    const expiryMsMax = this.#parts.stored.expiryMsMaxOf(actor.key);
    const expirySMax = expiryMsMax === undefined ? foreverS : Math.floor(expiryMsMax / 1_000);
    return {
      receiveMaximum: limits.inflightMax,
      packetBytesMax: limits.mqttPacketBytesMax,
      topicAliasMaximum: limits.topicAliasesMax,
      ...(v5.sessionExpiryS > expirySMax ? { sessionExpiryS: expirySMax } : {}),
      ...(hello.isIdAssigned ? { assignedClientId: client.id } : {}),
      ...(v5.options.wantsResponseInformation && !actor.guest
        ? { responseInformation: `users/${actor.username}/` }
        : {}),
    };
  }

  /** Takes up the filters that are stored, or forgets them. @returns whether there are any. */
  async #restoreFilters(client: Client): Promise<boolean> {
    const { stored, subscribing } = this.#parts;
    if (client.clean) {
      await stored.cleanSubscriptions(client);
      return false;
    }
    const filters = await stored.subscriptionsByClient(client);
    if (!client.closed) subscribing.restore(client, filters);
    return filters.length > 0;
  }

  async #keepWill(client: Client, { will }: Hello): Promise<void> {
    const { stored } = this.#parts;
    client.will = will;
    await stored.delWill(client).catch(() => {});
    // Its will is published where it has closed meanwhile.
    if (client.closed) return;
    this.#parts.wills.noteKept(client.id, will);
    if (will !== undefined) await stored.putWill(client, will);
  }
}
