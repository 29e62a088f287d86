// The stored MQTT sessions: whose they are and what they subscribe to, in memory and in the tables. Memory changes
// with the call, the tables in the order of the calls; a promise resolves when its change is on the disk (I1).
// Bounded by limits.sessionsMax and limits.sessionFiltersMax (I4).
import type { DatabaseSync } from 'node:sqlite';
import QlobberSub from 'qlobber/aedes/qlobber-sub.js';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { PacketClient } from './mqtt-packet.ts';
import type { MqttWrites } from './mqtt-writes.ts';
import type { Statement } from './writer-protocol.ts';

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

export type TopicSubscription = QlobberSub.Subscription;

/** A message that was sent under a packet id and is not yet acknowledged. */
export interface SentMessage {
  readonly message: number;
  /** Of QoS 2: that PUBREC came; resolves when that is stored. */
  released?: Promise<void>;
}

export interface Session {
  readonly key: number;
  readonly clientId: string;
  username: string | undefined;
  /** True when its row is on the disk; until then every write brings the row along. */
  stored: boolean;
  readonly filters: Map<string, SubscriptionOptions>;
  /** The write of subscriptions under way. */
  subscribing: Promise<unknown> | undefined;
  /** Rows of its queue, those on their way to the disk included. */
  queued: number;
  /** By packet id. */
  readonly sent: Map<number, SentMessage>;
  /** Inbound QoS 2 messages awaiting PUBREL, by packet id: when each is stored. */
  readonly incoming: Map<number, Promise<unknown>>;
}

/** The connections of the broker, by client id. */
export type Connections = Readonly<Record<string, object>>;

export interface SessionRules {
  /** Whether a filter takes topics of this form. */
  readonly matchesForm: (filter: string, topic: string) => boolean;
  /** Whether messages of this topic are kept for sessions of this user. */
  readonly mayReceive: (username: string | undefined, topic: string) => boolean;
}

export class MqttSessions {
  readonly #writes: MqttWrites;
  readonly #rules: SessionRules;
  readonly #byClient = new Map<string, Session>();
  readonly #trie = new QlobberSub(filterGrammar);
  /** Connections whose session was ended under them: what they still send must not bring it back. */
  readonly #ended = new WeakSet<object>();
  #connections: Connections = {};
  #subscribers = 0;
  #lastKey = 0;
  #closed = false;

  constructor(writes: MqttWrites, rules: SessionRules) {
    this.#writes = writes;
    this.#rules = rules;
  }

  /** Reads the sessions, and begins to clear away what ended ones left. */
  load(reader: DatabaseSync, connections: Connections): void {
    this.#connections = connections;
    const byKey = new Map<number, Session>();
    for (const row of reader.prepare('SELECT key, client_id, username FROM mqtt_session').iterate()) {
      const { key, client_id, username } = row as unknown as {
        key: number;
        client_id: string;
        username: string | null;
      };
      const session = { ...emptySession(key, client_id), username: username ?? undefined, stored: true };
      byKey.set(key, session);
      this.#byClient.set(client_id, session);
      this.#lastKey = Math.max(this.#lastKey, key);
    }
    for (const row of reader.prepare('SELECT session, filter, qos, options FROM mqtt_subscription').iterate()) {
      const { session, filter, qos, options } = row as unknown as SubscriptionRow;
      const owner = byKey.get(session);
      if (owner !== undefined) this.#put(owner, filter, { ...parseOptions(options), qos });
    }
    this.#loadQueues(reader, byKey);
  }

  get size(): number {
    return this.#byClient.size;
  }

  find(clientId: string): Session | undefined {
    return this.#byClient.get(clientId);
  }

  /** @throws Refusal `busy` when there are too many sessions. */
  getOrCreate(clientId: string): Session {
    const session = this.findOrCreate(clientId);
    if (session !== undefined) return session;
    throw new Refusal('busy', `There are ${limits.sessionsMax} stored MQTT sessions; connect with a clean session.`);
  }

  /** The session of this client id; undefined when there is none and no room for one. */
  findOrCreate(clientId: string): Session | undefined {
    const known = this.#byClient.get(clientId);
    if (known !== undefined || this.#byClient.size >= limits.sessionsMax) return known;
    const session = emptySession(++this.#lastKey, clientId);
    this.#byClient.set(clientId, session);
    return session;
  }

  hasEnded(connection: object): boolean {
    return this.#ended.has(connection);
  }

  /** Writes what concerns the session, its row before it where it has none yet. */
  async write(session: Session, statements: readonly Statement[]): Promise<readonly number[]> {
    const row = rowsOf([session]);
    const changes = await this.#writes.write([...row, ...statements]);
    session.stored = true;
    return changes.slice(row.length);
  }

  /**
   * Makes the session of this client id the user's own, and begins one where there is none.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many.
   */
  async claim(clientId: string, username: string): Promise<void> {
    const known = this.#byClient.get(clientId);
    if (known?.username !== undefined && known.username !== username) {
      throw new Refusal('exists', `The client id ${clientId} belongs to a session of somebody else.`);
    }
    if (known?.stored && known.username === username) return;
    const session = known ?? this.getOrCreate(clientId);
    session.username = username;
    session.stored = false;
    try {
      await this.write(session, []);
    } catch (error) {
      if (known === undefined && !session.stored && this.#byClient.get(clientId) === session) this.#drop(session);
      throw error;
    }
  }

  /** Removes all that is stored of a session. */
  async end(clientId: string): Promise<void> {
    const connection = this.#connections[clientId];
    if (connection !== undefined) this.#ended.add(connection);
    const session = this.#byClient.get(clientId);
    if (session === undefined) return;
    this.#drop(session);
    try {
      const changes = await this.#writes.write([
        { sql: 'DELETE FROM mqtt_session WHERE key = ?', parameters: [session.key] },
        { sql: 'DELETE FROM mqtt_subscription WHERE session = ?', parameters: [session.key] },
        { sql: 'DELETE FROM mqtt_incoming WHERE session = ?', parameters: [session.key] },
        clearSlice(session.key),
      ]);
      if ((changes.at(-1) ?? 0) === clearRowsMax) this.#clearQueue(session.key);
    } catch (error) {
      if (!this.#byClient.has(clientId)) this.#adopt(session);
      throw error;
    }
  }

  /** Ends all sessions of a user. */
  async endAllOf(username: string): Promise<void> {
    const theirs = [...this.#byClient.values()].filter((session) => session.username === username);
    await Promise.all(theirs.map((session) => this.end(session.clientId)));
  }

  /** Whether the session takes one more filter; a known one is always taken. */
  hasRoomFor(clientId: string, filter: string): boolean {
    const filters = this.#byClient.get(clientId)?.filters;
    return filters === undefined || filters.size < limits.sessionFiltersMax || filters.has(filter);
  }

  /** Stores subscriptions; one beyond the session's bound is not kept, and the broker has refused it before. */
  async subscribe(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void> {
    if (this.#ended.has(client)) return;
    const session = this.getOrCreate(client.id);
    const changed: { filter: string; before: SubscriptionOptions | undefined; now: SubscriptionOptions }[] = [];
    for (const subscription of subscriptions) {
      const { topic: filter } = subscription;
      const now = optionsOf(subscription);
      const before = session.filters.get(filter);
      if (before === undefined ? !this.hasRoomFor(client.id, filter) : isSame(before, now)) continue;
      this.#put(session, filter, now);
      changed.push({ filter, before, now });
    }
    // The broker stores all of a packet once for each of its filters; the repeats wait for the first.
    if (changed.length === 0) {
      await session.subscribing;
      return;
    }
    const write = this.write(
      session,
      changed.map(({ filter, now }) => putSubscription(session.key, filter, now)),
    );
    session.subscribing = write;
    try {
      await write;
    } catch (error) {
      for (const { filter, before, now } of changed.reverse()) {
        if (session.filters.get(filter) !== now) continue;
        if (before === undefined) this.#take(session, filter);
        else this.#put(session, filter, before);
      }
      throw error;
    } finally {
      if (session.subscribing === write) session.subscribing = undefined;
    }
  }

  async unsubscribe(client: PacketClient, filters: readonly string[]): Promise<void> {
    const session = this.#byClient.get(client.id);
    if (session === undefined || this.#ended.has(client)) return;
    const known = filters.filter((filter) => session.filters.has(filter));
    if (known.length === 0) return;
    for (const filter of known) this.#take(session, filter);
    await this.write(
      session,
      known.map((filter) => ({
        sql: 'DELETE FROM mqtt_subscription WHERE session = ? AND filter = ?',
        parameters: [session.key, filter],
      })),
    );
  }

  listOf(clientId: string): Subscription[] {
    const filters = this.#byClient.get(clientId)?.filters ?? [];
    return Array.from(filters, ([topic, options]) => ({ topic, ...options }));
  }

  /** The subscriptions of QoS 1 and 2 that take messages of this topic; a client with several is there several times. */
  match(topic: string): TopicSubscription[] {
    const ofServer = topic.startsWith('$');
    return this.#trie.match(topic).filter(({ topic: filter, clientId }) => {
      // A wildcard in front does not take topics of the server [MQTT-4.7.2-1].
      if (ofServer && (filter.startsWith('#') || filter.startsWith('+'))) return false;
      if (!this.#rules.matchesForm(filter, topic)) return false;
      return this.#rules.mayReceive(this.#byClient.get(clientId)?.username, topic);
    });
  }

  count(): { readonly subsCount: number; readonly clientsCount: number } {
    return { subsCount: this.#trie.subscriptionsCount, clientsCount: this.#subscribers };
  }

  *clientsOf(filter: string): Iterable<string> {
    for (const [clientId, { filters }] of this.#byClient) if (filters.has(filter)) yield clientId;
  }

  /** Clearing away stops; the next start takes it up. */
  close(): void {
    this.#closed = true;
  }

  #loadQueues(reader: DatabaseSync, byKey: ReadonlyMap<number, Session>): void {
    for (const row of reader.prepare('SELECT session, count(*) AS rows FROM mqtt_queue GROUP BY session').iterate()) {
      const { session, rows } = row as { session: number; rows: number };
      this.#lastKey = Math.max(this.#lastKey, session);
      const owner = byKey.get(session);
      if (owner === undefined) this.#clearQueue(session);
      else owner.queued = rows;
    }
    const sent = 'SELECT session, message, packet_id, released FROM mqtt_queue WHERE packet_id IS NOT NULL';
    for (const row of reader.prepare(sent).iterate()) {
      const { session, message, packet_id, released } = row as unknown as SentRow;
      byKey.get(session)?.sent.set(packet_id, { message, ...(released === 1 && { released: Promise.resolve() }) });
    }
    for (const row of reader.prepare('SELECT session, packet_id FROM mqtt_incoming').iterate()) {
      const { session, packet_id } = row as unknown as { session: number; packet_id: number };
      byKey.get(session)?.incoming.set(packet_id, Promise.resolve());
    }
  }

  /** Deletes the queue of a session that is no more, in slices short enough not to keep ingest waiting. */
  #clearQueue(key: number): void {
    if (this.#closed) return;
    this.#writes.write([clearSlice(key)]).then(
      ([rows = 0]) => {
        if (rows === clearRowsMax) this.#clearQueue(key);
      },
      // Nobody sees these rows; the next start clears them away.
      () => {},
    );
  }

  #adopt(session: Session): void {
    this.#byClient.set(session.clientId, session);
    const filters = [...session.filters];
    session.filters.clear();
    for (const [filter, options] of filters) this.#put(session, filter, options);
  }

  #drop(session: Session): void {
    this.#byClient.delete(session.clientId);
    const { clientId } = session;
    for (const topic of session.filters.keys()) this.#trie.remove(topic, { clientId, topic });
    if (session.filters.size > 0) this.#subscribers -= 1;
  }

  #put(session: Session, topic: string, options: SubscriptionOptions): void {
    const { clientId, filters } = session;
    const { qos, rh, rap, nl } = options;
    if (qos > 0) this.#trie.add(topic, { clientId, topic, qos, rh, rap, nl });
    else if ((filters.get(topic)?.qos ?? 0) > 0) this.#trie.remove(topic, { clientId, topic });
    if (filters.size === 0) this.#subscribers += 1;
    filters.set(topic, options);
  }

  #take(session: Session, topic: string): void {
    const { clientId, filters } = session;
    if ((filters.get(topic)?.qos ?? 0) > 0) this.#trie.remove(topic, { clientId, topic });
    if (filters.delete(topic) && filters.size === 0) this.#subscribers -= 1;
  }
}

/** The rows of those sessions that have none yet. */
export function rowsOf(sessions: Iterable<Session>): Statement[] {
  const rows: Statement[] = [];
  for (const { stored, key, clientId, username } of sessions) {
    if (stored) continue;
    const sql = 'INSERT OR REPLACE INTO mqtt_session (key, client_id, username) VALUES (?, ?, ?)';
    rows.push({ sql, parameters: [key, clientId, username ?? null] });
  }
  return rows;
}

/** How filters are matched; `+` takes an empty level too [MQTT-4.7.1-3]. */
export const filterGrammar = { separator: '/', wildcard_one: '+', wildcard_some: '#', match_empty_levels: true };

interface SubscriptionRow {
  readonly session: number;
  readonly filter: string;
  readonly qos: number;
  readonly options: string | null;
}

interface SentRow {
  readonly session: number;
  readonly message: number;
  readonly packet_id: number;
  readonly released: number;
}

const clearRowsMax = 1_000;

function clearSlice(key: number): Statement {
  const slice = `SELECT message FROM mqtt_queue WHERE session = ? ORDER BY message LIMIT ${clearRowsMax}`;
  return { sql: `DELETE FROM mqtt_queue WHERE session = ? AND message IN (${slice})`, parameters: [key, key] };
}

function putSubscription(session: number, filter: string, { qos, ...options }: SubscriptionOptions): Statement {
  const json = JSON.stringify(options);
  return {
    sql: 'INSERT OR REPLACE INTO mqtt_subscription (session, filter, qos, options) VALUES (?, ?, ?, ?)',
    parameters: [session, filter, qos, json === '{}' ? null : json],
  };
}

function parseOptions(options: string | null): Omit<SubscriptionOptions, 'qos'> {
  return options === null ? {} : JSON.parse(options);
}

function optionsOf({ qos, rh, rap, nl, subscriptionIdentifier: identifier }: Subscription): SubscriptionOptions {
  return { qos, rh, rap, nl, ...(identifier !== undefined && { subscriptionIdentifier: identifier }) };
}

function isSame(a: SubscriptionOptions, b: SubscriptionOptions): boolean {
  if (a.qos !== b.qos || a.rh !== b.rh || a.rap !== b.rap || a.nl !== b.nl) return false;
  return a.subscriptionIdentifier === b.subscriptionIdentifier;
}

function emptySession(key: number, clientId: string): Session {
  return {
    ...{ key, clientId, username: undefined, stored: false, subscribing: undefined, queued: 0 },
    ...{ filters: new Map(), sent: new Map(), incoming: new Map() },
  };
}
