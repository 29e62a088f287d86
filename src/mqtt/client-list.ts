// The clients as the domain asks for them (domain/clients): connections of this process and the stored sessions, joined by
// client id. Everything is read from objects that exist anyway, so a client that nobody looks at costs nothing.
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { limits } from '../config/limits.ts';
import type {
  ClientConnection,
  ClientRefusal,
  ClientSubscription,
  KeptSession,
  MqttClient,
  MqttClientId,
  MqttClientSource,
  Transport,
} from '../domain/clients/mqtt-client.ts';
import type { MqttSessions, StoredSessionFacts } from '../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../domain/users/user.ts';
import { reasonCodes } from './protocol/reason-codes.ts';
import { addressOf } from './proxy/client-address.ts';
import type { Client } from './session/client.ts';
import { ClientFault } from './session/client-fault.ts';
import type { ClientSession, Sessions } from './sessions.ts';

export type StoredSessionReads = Pick<MqttSessions, 'sessionIds' | 'findSession' | 'endSession'>;

export class ClientList implements MqttClientSource {
  readonly #sessions: Sessions;
  readonly #stored: StoredSessionReads;

  constructor(parts: { readonly sessions: Sessions; readonly stored: StoredSessionReads }) {
    this.#sessions = parts.sessions;
    this.#stored = parts.stored;
  }

  *ids(state: 'connected' | 'kept', user?: UserKey): Iterable<MqttClientId> {
    if (state === 'connected') {
      for (const { clientId } of this.#sessions.connected(user)) yield clientId;
      return;
    }
    for (const clientId of this.#stored.sessionIds(user))
      if (this.#sessions.holderOf(clientId) === undefined) yield clientId;
  }

  find(id: MqttClientId): MqttClient | undefined {
    const session = this.#sessions.holderOf(id);
    const stored = this.#stored.findSession(id);
    if (session === undefined && stored === undefined) return undefined;
    // While a client takes an id over from another user, the session stored under it may still be that user's.
    const own = session === undefined || stored?.user === session.actor.key ? stored : undefined;
    const filters = session?.filters ?? own?.filters ?? noFilters;
    return {
      id,
      owner: session === undefined ? own?.user : session.actor.key,
      connection: session && connectionOf(session),
      kept: session?.client.clean === true ? undefined : own && toKept(own),
      subscriptions: firstOf(filters),
      subscriptionCount: filters.size,
      refused: refusedOf(session, own),
    };
  }

  async disconnect(id: MqttClientId): Promise<void> {
    const client = this.#sessions.holderOf(id)?.client;
    if (client === undefined) return;
    client.fail(
      new ClientFault(reasonCodes.administrativeAction, 'The connection was ended by an administrator or its user.'),
    );
    // The session is released when the connection says that it has closed.
    if (!client.conn.closed) await new Promise<void>((resolve) => client.conn.once('close', () => resolve()));
  }

  endSession(id: MqttClientId): Promise<void> {
    return this.#stored.endSession(id);
  }
}

const noFilters: ReadonlyMap<string, { readonly qos: number }> = new Map();

function connectionOf({ client, connect, messagesIn, messagesOut }: ClientSession): ClientConnection {
  return {
    sinceMs: connect?.sinceMs ?? 0,
    address: addressOf(client),
    transport: transportOf(client),
    protocolLevel: connect?.protocolLevel ?? 4,
    keepAliveS: connect?.keepAliveS ?? 0,
    sessionExpiryS: client.v5?.keptS,
    will: connect?.will,
    messagesIn,
    messagesOut,
    unsentBytes: client.conn.writableLength,
  };
}

function transportOf({ conn, req }: Client): Transport {
  if (conn instanceof TLSSocket) return 'tls';
  if (conn instanceof Socket) return 'tcp';
  return req?.socket instanceof TLSSocket ? 'wss' : 'ws';
}

function toKept({ awayMs, expiresMs, waitingMessages, waitingBytes }: StoredSessionFacts): KeptSession {
  return { awayMs, expiresMs, waitingMessages, waitingBytes };
}

function firstOf(filters: ReadonlyMap<string, { readonly qos: number }>): ClientSubscription[] {
  const first: ClientSubscription[] = [];
  for (const [filter, granted] of filters) {
    if (first.length >= limits.clientSubscriptionsShown) break;
    first.push({ filter, qos: granted.qos });
  }
  return first;
}

function refusedOf(
  session: ClientSession | undefined,
  stored: StoredSessionFacts | undefined,
): ReadonlyMap<ClientRefusal, number> {
  const refused = new Map(session?.refused);
  if (stored !== undefined && stored.notKept > 0) refused.set('queue_full', stored.notKept);
  return refused;
}
