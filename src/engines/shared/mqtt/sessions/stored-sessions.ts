// The lives of stored MQTT sessions: loaded at start, claimed by a client, left by it, ended by it or by their age. What is in
// memory (session-index.ts) changes at once, the tables in the order of the calls; a promise resolves when its change is on disk
// (I1).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal } from '../../../../base/refusal.ts';
import { limits } from '../../../../config/limits.ts';
import type { JoinedWrites, StoredSessionFacts } from '../../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { clearRowsMax, type LoadedSessions, type MqttChange, type MqttTables } from '../mqtt-tables.ts';
import type { MqttUsage } from '../mqtt-usage.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import type { StoredSession } from './mqtt-session.ts';
import type { SubscriptionRules } from './mqtt-subscriptions.ts';
import { putAway, rowOf, rowsOf } from './session-changes.ts';
import type { SessionIndex } from './session-index.ts';

/** The connection that is signed in under a client id. */
export type ConnectionOf = (clientId: string) => object | undefined;

export interface SessionRules extends SubscriptionRules {
  /** Whether a client is connected or connecting under this id. */
  readonly isInUse: (clientId: string) => boolean;
  /** How long a session of this user is kept after its client went away; undefined: for ever. */
  readonly expiryMsOf: (user: UserKey | undefined) => number | undefined;
}

export class StoredSessions {
  readonly #writes: MqttWrites;
  readonly #rules: SessionRules;
  readonly #usage: MqttUsage;
  readonly #index: SessionIndex;
  /** Connections whose session was ended while they were open: packets they still send must not create it again. */
  readonly #ended = new WeakSet<object>();
  /** By client id: sessions that have ended, and whose rows are not deleted yet. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Called when a session ends; what waits for it is deleted when the result has resolved. */
  onEnded: (session: StoredSession) => Promise<void> | undefined = () => undefined;
  #connectionOf: ConnectionOf = () => undefined;
  #closed = false;

  constructor(parts: {
    readonly writes: MqttWrites;
    readonly rules: SessionRules;
    readonly usage: MqttUsage;
    readonly index: SessionIndex;
  }) {
    this.#writes = parts.writes;
    this.#rules = parts.rules;
    this.#usage = parts.usage;
    this.#index = parts.index;
  }

  /**
   * Loads the sessions and begins to delete rows of ended ones. Filters that are too long, or for which there is no
   * memory, are left out and removed; only earlier releases stored such filters.
   */
  async load(tables: Pick<MqttTables, 'load'>, connectionOf: ConnectionOf, nowMs: number): Promise<LoadedSessions> {
    this.#connectionOf = connectionOf;
    const loaded = await tables.load({
      add: (session) => {
        this.#index.add(session);
        // The client was connected when the service stopped.
        session.awayMs ??= nowMs;
      },
      addFilter: (session, filter, options) => {
        if (!this.#usage.countFilter(session.user, filter)) return false;
        this.#index.subscriptions.put(session, filter, options);
        return true;
      },
      addBytes: (session, bytes) => this.#usage.countBytes(session.user, bytes),
      clearQueue: (key) => this.#clearInSlices({ kind: 'queue-cleared', session: key }),
    });
    this.#index.lastKey = loaded.lastKey;
    this.#writes.write([{ kind: 'all-away', awayMs: nowMs }]).catch(() => {});
    for (const { session, filter } of loaded.overQuota)
      this.#clearInSlices({ kind: 'filter-removed', session, filter });
    if (loaded.overlong > 0) this.#clearInSlices({ kind: 'overlong-filters-cleared' });
    return loaded;
  }

  /** How long the session is kept after its client went away; undefined: for ever. */
  expiryMsOf({ user, expiryS }: StoredSession): number | undefined {
    const expiryMs = this.#rules.expiryMsOf(user);
    return expiryS === undefined ? expiryMs : Math.min(expiryS * 1_000, expiryMs ?? Number.POSITIVE_INFINITY);
  }

  isExpired(session: StoredSession, nowMs: number): boolean {
    const { awayMs, clientId } = session;
    const expiryMs = this.expiryMsOf(session);
    if (awayMs === undefined || expiryMs === undefined || nowMs - awayMs < expiryMs) return false;
    return !this.#rules.isInUse(clientId);
  }

  /**
   * Ends sessions whose clients have been away for too long, and returns their number; yields to other work between
   * groups.
   */
  async endExpired(nowMs: number): Promise<number> {
    let looked = 0;
    let count = 0;
    let expirations: Promise<void>[] = [];
    const pause = async () => {
      await Promise.all(expirations);
      expirations = [];
      await nextTurn();
    };
    for (const session of this.#index.list(undefined)) {
      if (this.#closed) break;
      looked += 1;
      // It went away while the clock was ahead, and would be kept for too long.
      if ((session.awayMs ?? 0) > nowMs + limits.clockDifferenceMsMax) this.#beginAway(session, nowMs);
      if (this.isExpired(session, nowMs)) {
        expirations.push(this.end(session.clientId));
        count += 1;
      }
      if (looked % expiryStep === 0 || expirations.length >= expiredAtOnceMax) await pause();
    }
    await pause();
    return count;
  }

  /** Client ids of a user's sessions, or of all, without expired ones. */
  *idsOf(user: UserKey | undefined, nowMs: number): Iterable<string> {
    for (const session of this.#index.list(user)) if (!this.isExpired(session, nowMs)) yield session.clientId;
  }

  factsOf(clientId: string, nowMs: number): StoredSessionFacts | undefined {
    const session = this.#index.find(clientId);
    if (session === undefined || this.isExpired(session, nowMs)) return undefined;
    const { user, awayMs, queued, queuedBytes, notKept, filters } = session;
    const expiryMs = this.expiryMsOf(session);
    return {
      user,
      awayMs,
      expiresMs: awayMs === undefined || expiryMs === undefined ? undefined : awayMs + expiryMs,
      waitingMessages: queued,
      waitingBytes: queuedBytes,
      notKept,
      filters,
    };
  }

  hasEnded(connection: object): boolean {
    return this.#ended.has(connection);
  }

  /** From now on packets of the connection that is signed in under this client id create no session. */
  endConnection(clientId: string): void {
    const connection = this.#connectionOf(clientId);
    if (connection !== undefined) this.#ended.add(connection);
  }

  /** Stores changes of a session, after its row where that is not stored yet. */
  async write(session: StoredSession, changes: readonly MqttChange[], joined?: JoinedWrites): Promise<void> {
    await this.#writes.write([...rowsOf([session]), ...changes], { joined });
    session.stored = true;
  }

  /**
   * Makes the session of this client id the user's own; creates it where there is none.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many.
   */
  async claim(clientId: string, user: UserKey, expiryS?: number): Promise<void> {
    await this.#ending.get(clientId);
    const known = this.#index.find(clientId);
    if (known?.user !== undefined && known.user !== user) {
      throw new Refusal('exists', `The client id ${clientId} belongs to a session of somebody else.`);
    }
    if (known?.stored && known.user === user && known.expiryS === expiryS) {
      this.#resume(known);
      return;
    }
    const session = known ?? this.#index.getOrCreate(clientId, user);
    if (session.user !== user) this.#index.giveTo(session, user);
    session.awayMs = undefined;
    session.expiryS = expiryS;
    session.stored = false;
    try {
      await this.write(session, []);
    } catch (error) {
      if (known === undefined && !session.stored && this.#index.find(clientId) === session) this.#index.remove(session);
      throw error;
    }
  }

  /** Called when the client has gone; the session's expiry begins. */
  leave(clientId: string, nowMs: number, expiryS?: number): void {
    const session = this.#index.find(clientId);
    if (session === undefined || session.awayMs !== undefined) return;
    if (session.expiryS === expiryS) this.#beginAway(session, nowMs);
    else {
      session.awayMs = nowMs;
      session.expiryS = expiryS;
      if (session.stored) this.#writes.finish([rowOf(session)]).catch(() => {});
    }
  }

  #beginAway(session: StoredSession, nowMs: number): void {
    session.awayMs = nowMs;
    // If this cannot be written, the expiry begins at the next start.
    if (session.stored) this.#writes.finish([putAway(session)]).catch(() => {});
  }

  /** Removes the session and everything stored for it. */
  async end(clientId: string): Promise<void> {
    this.endConnection(clientId);
    const session = this.#index.find(clientId);
    if (session === undefined) return this.#ending.get(clientId);
    this.#index.remove(session);
    const ended = this.#delete(session);
    const ending = ended.catch(() => {});
    this.#ending.set(clientId, ending);
    void ending.then(() => {
      if (this.#ending.get(clientId) === ending) this.#ending.delete(clientId);
    });
    await ended;
  }

  /** Resolves when no session of the client id is being deleted. */
  async ended(clientId: string): Promise<void> {
    await this.#ending.get(clientId);
  }

  /** Deletes the rows of a session that has ended. */
  async #delete(session: StoredSession): Promise<void> {
    const { clientId } = session;
    const handedOver = this.onEnded(session);
    try {
      // A crash before the rows are gone has somebody get the messages a second time, rather than nobody.
      if (handedOver !== undefined) await handedOver;
      const [cleared = 0] = await this.#writes.write([{ kind: 'session-ended', session: session.key, clientId }]);
      if (cleared === clearRowsMax) this.#clearInSlices({ kind: 'queue-cleared', session: session.key });
    } catch (error) {
      if (this.#index.find(clientId) === undefined) this.#index.restore(session);
      throw error;
    }
  }

  /** Ends all sessions of a user. */
  async endAllOf(user: UserKey): Promise<void> {
    const theirs = [...this.#index.list(user)];
    await Promise.all(theirs.map((session) => this.end(session.clientId)));
  }

  /** Stops deleting rows; the next start continues. */
  close(): void {
    this.#closed = true;
  }

  #resume(session: StoredSession): void {
    if (session.awayMs === undefined) return;
    session.awayMs = undefined;
    // A crash before this is written makes the session expire earlier, by the length of this connection.
    this.#writes.finish([putAway(session)]).catch(() => {});
  }

  /** Deletes rows in slices until a slice is not full. */
  #clearInSlices(slice: MqttChange): void {
    if (this.#closed) return;
    this.#writes.write([slice]).then(
      ([rows = 0]) => {
        if (rows === clearRowsMax) this.#clearInSlices(slice);
      },
      // The next start deletes them.
      () => {},
    );
  }
}

/** Sessions examined, and ended, before other work has its turn. */
const expiryStep = 2_000;
const expiredAtOnceMax = 50;
