// A stored MQTT session, as it is in memory, and the statements that write it. There may be a hundred thousand of them, most
// of them away, so it has maps only while there is something in them.
import type { UserKey } from '../../../domain/users/user.ts';
import type { Statement } from '../threads/writer-protocol.ts';

/** What is kept of a subscription; all but the QoS is MQTT 5. */
export interface SubscriptionOptions {
  readonly qos: number;
  readonly rh?: number | undefined;
  readonly rap?: boolean | undefined;
  readonly nl?: boolean | undefined;
  readonly subscriptionIdentifier?: number | undefined;
}

export interface Subscription extends SubscriptionOptions {
  readonly topic: string;
}

/** A message that was sent under a packet id and is not yet acknowledged. */
export interface SentMessage {
  readonly message: number;
  /** What it takes of the quota. */
  readonly bytes: number;
  /** Of QoS 2: that PUBREC came; resolves when that is stored. */
  released?: Promise<void>;
}

/** An inbound QoS 2 message that awaits PUBREL. */
export interface IncomingMessage {
  /** Resolves when it is stored. */
  readonly stored: Promise<unknown>;
  /** What it takes of the quota. */
  readonly bytes: number;
}

export class StoredSession {
  readonly key: number;
  readonly clientId: string;
  /** Whose it is; undefined for one of an earlier version that nobody has come back to. */
  user: UserKey | undefined;
  /** When its client went away, milliseconds since 1970 UTC; undefined while it is connected. */
  awayMs: number | undefined;
  /** True when its row is on the disk; until then every write brings the row along. */
  stored: boolean;
  /** True once it was ended: what is still under way for it counts for nobody any more. */
  ended = false;
  /** The subscriptions whose write is under way, and that write. */
  subscribed: readonly Subscription[] | undefined;
  subscribing: Promise<void> | undefined;
  /** Rows of its queue, those on their way to the disk included, and what they take of the quota. */
  queued = 0;
  queuedBytes = 0;
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

  /** What its filters, its queue and what is under way from it take of the quota, bytes. */
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

/** What a filter takes of a quota: its text, and about what its row has besides. */
export function filterCost(filter: string): number {
  return filter.length + 64;
}

const noFilters: ReadonlyMap<string, SubscriptionOptions> = new Map();
const noneSent: ReadonlyMap<number, SentMessage> = new Map();
const noneIncoming: ReadonlyMap<number, IncomingMessage> = new Map();

/** The rows of those sessions that have none yet. */
export function rowsOf(sessions: Iterable<StoredSession>): Statement[] {
  const rows: Statement[] = [];
  for (const { stored, key, clientId, user, awayMs } of sessions) {
    if (stored) continue;
    const sql = 'INSERT OR REPLACE INTO mqtt_session (key, client_id, user, away) VALUES (?, ?, ?, ?)';
    rows.push({ sql, parameters: [key, clientId, user ?? null, awayMs ?? null] });
  }
  return rows;
}

export function putAway(session: StoredSession): Statement {
  return {
    sql: 'UPDATE mqtt_session SET away = ? WHERE key = ?',
    parameters: [session.awayMs ?? null, session.key],
  };
}

export function putSubscription(session: number, filter: string, { qos, ...options }: SubscriptionOptions): Statement {
  const json = JSON.stringify(options);
  return {
    sql: 'INSERT OR REPLACE INTO mqtt_subscription (session, filter, qos, options) VALUES (?, ?, ?, ?)',
    parameters: [session, filter, qos, json === '{}' ? null : json],
  };
}

/** Rows that one statement clears away, few enough not to keep ingest waiting. */
export const clearRowsMax = 1_000;

/** Deletes some of a session's queue. */
export function clearSlice(key: number): Statement {
  const slice = `SELECT message FROM mqtt_queue WHERE session = ? ORDER BY message LIMIT ${clearRowsMax}`;
  return { sql: `DELETE FROM mqtt_queue WHERE session = ? AND message IN (${slice})`, parameters: [key, key] };
}
