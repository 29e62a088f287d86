// A stored MQTT session in memory, and the statements that write it. There may be a hundred thousand, most of them
// without a client, so maps are created only when they have an entry.
import { limits } from '../../../../config/limits.ts';
import type { Subscription, SubscriptionOptions } from '../../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import type { Statement } from '../../database/database-writer.ts';

/** A message that was sent under a packet id and not acknowledged yet. */
export interface SentMessage {
  readonly message: number;
  /** Bytes charged to the user's quota. */
  readonly bytes: number;
  /** For QoS 2, set when PUBREC came; resolves when that is stored. */
  released?: Promise<void>;
}

/** An inbound QoS 2 message that awaits PUBREL. */
export interface IncomingMessage {
  /** Resolves when it is stored. */
  readonly stored: Promise<unknown>;
  /** Bytes charged to the user's quota. */
  readonly bytes: number;
}

export class StoredSession {
  readonly key: number;
  readonly clientId: string;
  /** The owner; undefined for a session of an earlier release whose client has not come back. */
  user: UserKey | undefined;
  /** When its client went away, in milliseconds since 1970 UTC; undefined while it is connected. */
  awayMs: number | undefined;
  /** True when its row is on disk; until then each write inserts the row first. */
  stored: boolean;
  /** True once the session was ended: bytes still under way are charged to nobody. */
  ended = false;
  /** The SUBSCRIBE packet being stored, and the promise of that write. */
  subscribed: readonly Subscription[] | undefined;
  subscribing: Promise<void> | undefined;
  /** Rows in its queue, including pending writes, and their bytes charged to the quota. */
  queued = 0;
  queuedBytes = 0;
  /** Messages not kept since the start, because the session or its user's quota was full. */
  notKept = 0;
  #filterBytes = 0;
  #incomingBytes = 0;
  #filters: Map<string, SubscriptionOptions> | undefined;
  #sent: Map<number, SentMessage> | undefined;
  #incoming: Map<number, IncomingMessage> | undefined;

  constructor(
    key: number,
    clientId: string,
    options: {
      readonly user?: UserKey | undefined;
      readonly awayMs?: number | undefined;
      readonly stored?: boolean;
    } = {},
  ) {
    this.key = key;
    this.clientId = clientId;
    this.user = options.user;
    this.awayMs = options.awayMs;
    this.stored = options.stored ?? false;
  }

  /** Bytes charged to the quota for its filters, its queue and inbound messages. */
  get heldBytes(): number {
    return this.#filterBytes + this.#incomingBytes + this.queuedBytes;
  }

  get filters(): ReadonlyMap<string, SubscriptionOptions> {
    return this.#filters ?? noFilters;
  }

  putFilter(filter: string, options: SubscriptionOptions): void {
    this.#filters ??= new Map();
    if (!this.#filters.has(filter)) this.#filterBytes += filterCost(filter);
    this.#filters.set(filter, options);
  }

  removeFilter(filter: string): void {
    if (this.#filters?.delete(filter)) this.#filterBytes -= filterCost(filter);
    if (this.#filters?.size === 0) this.#filters = undefined;
  }

  /** By packet id. */
  get sent(): ReadonlyMap<number, SentMessage> {
    return this.#sent ?? noneSent;
  }

  putSent(packetId: number, sent: SentMessage): void {
    this.#sent ??= new Map();
    this.#sent.set(packetId, sent);
  }

  removeSent(packetId: number): void {
    this.#sent?.delete(packetId);
    if (this.#sent?.size === 0) this.#sent = undefined;
  }

  /** By packet id. */
  get incoming(): ReadonlyMap<number, IncomingMessage> {
    return this.#incoming ?? noneIncoming;
  }

  putIncoming(packetId: number, incoming: IncomingMessage): void {
    this.#incoming ??= new Map();
    this.#incomingBytes += incoming.bytes - (this.#incoming.get(packetId)?.bytes ?? 0);
    this.#incoming.set(packetId, incoming);
  }

  removeIncoming(packetId: number): void {
    this.#incomingBytes -= this.#incoming?.get(packetId)?.bytes ?? 0;
    this.#incoming?.delete(packetId);
    if (this.#incoming?.size === 0) this.#incoming = undefined;
  }
}

/** What a filter counts for a quota: its text, and the overhead of its row. */
export function filterCost(filter: string): number {
  return filter.length + 64;
}

const noFilters: ReadonlyMap<string, SubscriptionOptions> = new Map();
const noneSent: ReadonlyMap<number, SentMessage> = new Map();
const noneIncoming: ReadonlyMap<number, IncomingMessage> = new Map();

/** Statements that insert the rows of sessions that have none yet. */
export function rowsOf(sessions: Iterable<StoredSession>): Statement[] {
  const rows: Statement[] = [];
  for (const { stored, key, clientId, user, awayMs } of sessions) {
    if (stored) continue;
    const sql = 'INSERT OR REPLACE INTO mqtt_session (key, client_id, user, away) VALUES (?, ?, ?, ?)';
    rows.push({ sql, parameters: [key, clientId, user ?? null, awayMs ?? null] });
  }
  return rows;
}

/** Stores when the session's client went away. */
export function putAway(session: StoredSession): Statement {
  return {
    sql: 'UPDATE mqtt_session SET away = ? WHERE key = ?',
    parameters: [session.awayMs ?? null, session.key],
  };
}

/** Stores a filter of a session with its options. */
export function putSubscription(session: number, filter: string, { qos, ...options }: SubscriptionOptions): Statement {
  const json = JSON.stringify(options);
  return {
    sql: 'INSERT OR REPLACE INTO mqtt_subscription (session, filter, qos, options) VALUES (?, ?, ?, ?)',
    parameters: [session, filter, qos, json === '{}' ? null : json],
  };
}

/** Rows that one cleaning statement deletes: few, so that ingest does not wait. */
export const clearRowsMax = 1_000;

/** Deletes some rows of a session's queue. */
export function clearSlice(key: number): Statement {
  const slice = `SELECT message FROM mqtt_queue WHERE session = ? ORDER BY message LIMIT ${clearRowsMax}`;
  return { sql: `DELETE FROM mqtt_queue WHERE session = ? AND message IN (${slice})`, parameters: [key, key] };
}

/** Bytes of the messages queued for the session, and of inbound ones that await PUBREL. */
export function inFlightBytesOf({ queuedBytes, incoming }: StoredSession): number {
  let bytes = queuedBytes;
  for (const message of incoming.values()) bytes += message.bytes;
  return bytes;
}

/** The options of a subscription as they are stored. */
export function optionsOf({ qos, rh, rap, nl, subscriptionIdentifier: identifier }: Subscription): SubscriptionOptions {
  return { qos, rh, rap, nl, ...(identifier !== undefined && { subscriptionIdentifier: identifier }) };
}

export function isSame(a: SubscriptionOptions, b: SubscriptionOptions): boolean {
  if (a.qos !== b.qos || a.rh !== b.rh || a.rap !== b.rap || a.nl !== b.nl) return false;
  return a.subscriptionIdentifier === b.subscriptionIdentifier;
}

/** Deletes filters that are longer than is allowed now, some at a time. */
export const clearOverlong: Statement = {
  sql: `DELETE FROM mqtt_subscription WHERE (session, filter) IN
    (SELECT session, filter FROM mqtt_subscription WHERE octet_length(filter) > ? LIMIT ${clearRowsMax})`,
  parameters: [limits.topicFilterBytesMax],
};

export function removeSubscription(session: number, filter: string): Statement {
  return { sql: 'DELETE FROM mqtt_subscription WHERE session = ? AND filter = ?', parameters: [session, filter] };
}
