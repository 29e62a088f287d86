// An MQTT client as its owner and admins see it: a connection, a stored session, or both under one client id.
import type { UserKey } from '../users/user.ts';

/** Chosen by the client, or by the service where the client sent none. */
export type MqttClientId = string;

export const transports = ['tcp', 'tls', 'ws', 'wss'] as const;
/** How the client is connected: MQTT over TCP or TLS, or over WebSocket without and with TLS. */
export type Transport = (typeof transports)[number];

export const clientRefusals = [
  'permission',
  'unknown',
  'malformed',
  'too_large',
  'quota',
  'conflict',
  'topic',
  'subscription',
  'queue_full',
] as const;
/**
 * Why something of a client was refused. Of its publishes: no permission; no such device, sensor or actuator; not
 * readable; too large; beyond a quota; not possible in the present state; or a topic that nothing belongs to. Further:
 * a filter that it asked for (SUBACK 128); a message for its stored session, because that or its owner's quota was full.
 */
export type ClientRefusal = (typeof clientRefusals)[number];

/** The message that is published when the connection breaks. */
export interface ClientWill {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
}

/** A connection of the client. Counts begin with it. */
export interface ClientConnection {
  /** Milliseconds since 1970 UTC. */
  readonly sinceMs: number;
  /** The IP address of the client; empty where it is unknown. */
  readonly address: string;
  readonly transport: Transport;
  /** Of the CONNECT packet: 3 for MQTT 3.1, 4 for 3.1.1, 5 for 5.0. */
  readonly protocolLevel: number;
  /** Seconds; 0: none. */
  readonly keepAliveS: number;
  /** Seconds for which a client of version 5 wants its session kept behind the connection; undefined: as long as may be. */
  readonly sessionExpiryS: number | undefined;
  readonly will: ClientWill | undefined;
  /** Publishes received from the client. */
  readonly messagesIn: number;
  /** Publishes written to the client. */
  readonly messagesOut: number;
  /** Bytes written to the client that its socket has not taken yet. */
  readonly unsentBytes: number;
}

/** A session that is kept when the client is away. */
export interface KeptSession {
  /** When the client went away, in milliseconds since 1970 UTC; undefined while it is connected. */
  readonly awayMs: number | undefined;
  /** When the session ends unless the client comes back, in milliseconds since 1970 UTC; undefined: never, or connected. */
  readonly expiresMs: number | undefined;
  /** Messages that wait for the client or were not acknowledged by it, and their bytes as the quota counts them. */
  readonly waitingMessages: number;
  readonly waitingBytes: number;
}

export interface ClientSubscription {
  readonly filter: string;
  readonly qos: number;
}

export interface MqttClient {
  readonly id: MqttClientId;
  /** Undefined for a session of an earlier release whose client has not come back. */
  readonly owner: UserKey | undefined;
  /** Undefined while the client is away. */
  readonly connection: ClientConnection | undefined;
  /** Undefined for a client with a clean session. */
  readonly kept: KeptSession | undefined;
  /** The first subscriptions of the session, at most `limits.clientSubscriptionsShown`. */
  readonly subscriptions: readonly ClientSubscription[];
  /** How many there are in all. */
  readonly subscriptionCount: number;
  /** What was refused and how often; since it connected, and of a stored session since the start of the service. */
  readonly refused: ReadonlyMap<ClientRefusal, number>;
}

/** What the domain asks of MQTT, which knows connections and stored sessions. */
export interface MqttClientSource {
  /** Ids of a user's clients, or of all, that are connected, or of which only the session is kept; in the order in which they came. */
  ids(state: 'connected' | 'kept', user?: UserKey): Iterable<MqttClientId>;
  find(id: MqttClientId): MqttClient | undefined;
  /** Closes the connection, where there is one; resolves when it is closed. Its will is published. */
  disconnect(id: MqttClientId): Promise<void>;
  /** Removes the stored session with all that waits for it. */
  endSession(id: MqttClientId): Promise<void>;
}
