// Passes stored sessions between processes that share a database: lets one go when all of it is stored, and takes one that no
// other process has, with its filters and all that waits for it. An engine of one process has no handover, and nothing to pass.

import { storageRefusal } from '../../write-failure.ts';
import type { MqttTables, SessionHandover, TakenSession } from '../mqtt-tables.ts';
import type { MqttUsage } from '../mqtt-usage.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import type { MqttOutgoing } from './mqtt-outgoing.ts';
import { inFlightBytesOf, StoredSession } from './mqtt-session.ts';
import type { SessionCatchUp } from './session-catch-up.ts';
import type { SessionIndex } from './session-index.ts';
import type { StoredSessions } from './stored-sessions.ts';

export class SessionTransfer {
  readonly #handover: SessionHandover | undefined;
  readonly #index: SessionIndex;
  readonly #sessions: Pick<StoredSessions, 'endConnection' | 'ended'>;
  readonly #outgoing: Pick<MqttOutgoing, 'reserve' | 'committed'>;
  readonly #writes: MqttWrites;
  readonly #usage: MqttUsage;
  readonly #catchUp: SessionCatchUp | undefined;
  /**
   * By client id: sessions that are being let go, with the row of the log up to which messages are kept for them where this process
   * has kept them; and sessions that are being taken. Bounded by the connections that begin.
   */
  readonly #leaving = new Map<string, number | undefined>();
  readonly #coming = new Map<string, Promise<void>>();
  /** By client id: sessions that may have been taken, though nobody was told; bounded by those that are stored. */
  readonly #halfTaken = new Set<string>();
  /** Client ids of sessions that are removed in the next moment in which nothing is handed on: all that wait for that together. */
  readonly #toRemove = new Set<string>();
  #removing: Promise<void> | undefined;
  /** Called when a session is one of another process. */
  onLetGo: (clientId: string) => void = () => {};
  /** Called when a session has come from another process. */
  onTaken: (clientId: string) => void = () => {};

  constructor(parts: {
    readonly tables: Pick<MqttTables, 'handover'>;
    readonly index: SessionIndex;
    readonly sessions: Pick<StoredSessions, 'endConnection' | 'ended'>;
    readonly outgoing: Pick<MqttOutgoing, 'reserve' | 'committed'>;
    readonly writes: MqttWrites;
    readonly usage: MqttUsage;
    readonly catchUp: SessionCatchUp | undefined;
  }) {
    this.#handover = parts.tables.handover;
    this.#index = parts.index;
    this.#sessions = parts.sessions;
    this.#outgoing = parts.outgoing;
    this.#writes = parts.writes;
    this.#usage = parts.usage;
    this.#catchUp = parts.catchUp;
  }

  /** Lets a session go to another process. Tried again where it fails. */
  async letGo(clientId: string): Promise<void> {
    const catchUp = this.#catchUp;
    if (this.#handover === undefined || catchUp === undefined) return;
    await this.#coming.get(clientId)?.catch(() => {});
    this.#sessions.endConnection(clientId);
    if (this.#halfTaken.delete(clientId)) this.#leaving.set(clientId, undefined);
    const session = this.#index.find(clientId);
    if (session !== undefined) await this.#remove(clientId, catchUp);
    if (!this.#leaving.has(clientId)) return;
    // Behind all that was to be stored of it.
    await this.#writes.finish([]);
    // What was lost is in the log: whoever takes the sessions of this process over reads it behind its last note.
    if (this.#writes.isLast && this.#writes.lost > 0)
      throw storageRefusal(new Error('The service stops, and has not stored all that the session was to get.'));
    await this.#handover.letGo(clientId, this.#leaving.get(clientId));
    this.#leaving.delete(clientId);
  }

  /** Between two rows of the log: messages up to the first are kept for it here, and all behind it where it is taken. */
  #remove(clientId: string, catchUp: SessionCatchUp): Promise<void> {
    this.#toRemove.add(clientId);
    if (this.#removing !== undefined) return this.#removing;
    const over = () => {
      this.#removing = undefined;
      this.#toRemove.clear();
    };
    this.#removing = catchUp
      .atRest((row) => {
        for (const id of this.#toRemove) this.#removeNow(id, row);
        over();
      })
      .catch((error: unknown) => {
        // Whoever waits asks again.
        over();
        throw error;
      });
    return this.#removing;
  }

  #removeNow(clientId: string, row: number): void {
    const session = this.#index.find(clientId);
    if (session === undefined) return;
    this.#leaving.set(clientId, session.behindRow ?? row);
    this.#index.remove(session);
    this.onLetGo(clientId);
  }

  /** Takes a session that no other process has, with all that waits for it; nothing where this one has it. */
  async take(clientId: string): Promise<void> {
    await this.adopt(clientId);
    const session = this.#index.find(clientId);
    if (session !== undefined) await this.#catchUp?.present(session);
  }

  /** As `take`, but does not wait for what it has missed. */
  async adopt(clientId: string): Promise<void> {
    if (this.#handover === undefined) return;
    const known = this.#coming.get(clientId);
    if (known !== undefined) return known;
    if (this.#index.find(clientId) !== undefined) return;
    const coming = this.#take(this.#handover, clientId).finally(() => this.#coming.delete(clientId));
    this.#coming.set(clientId, coming);
    await coming;
  }

  /** Takes what this process may have without knowing: what comes for it meanwhile is not kept. */
  async takeHalfTaken(): Promise<void> {
    // One that fails now is tried again, and holds up no other.
    for (const clientId of this.#halfTaken) await this.take(clientId).catch(() => {});
  }

  async #take(handover: SessionHandover, clientId: string): Promise<void> {
    let last = 0;
    let hasBegun = false;
    const reserve = (count: number) => {
      hasBegun = true;
      const before = this.#outgoing.reserve(count);
      last = before + count;
      return before;
    };
    // One of this process that has ended, and whose row is being deleted, is not taken up again.
    await this.#sessions.ended(clientId);
    const taken = await handover.take(clientId, reserve).catch((error: unknown) => {
      if (hasBegun) this.#halfTaken.add(clientId);
      throw error;
    });
    if (taken !== undefined) {
      // Until it is known here.
      this.#halfTaken.add(clientId);
      // Messages with smaller numbers may be on their way to the disk.
      await this.#writes.finish([]);
      this.#outgoing.committed(last);
      // One that this process was about to let go knows it itself.
      const keptRow = taken.keptRow ?? this.#leaving.get(clientId);
      const session = this.#add(taken);
      if (keptRow !== undefined) this.#catchUp?.bring(session, keptRow);
    }
    this.#halfTaken.delete(clientId);
    if (taken === undefined) return;
    this.onTaken(clientId);
  }

  #add({
    key,
    clientId,
    user,
    awayMs,
    expiryS,
    filters,
    queued,
    queuedBytes,
    sent,
    incoming,
  }: TakenSession): StoredSession {
    this.#leaving.delete(clientId);
    const session = new StoredSession(key, clientId, { user, awayMs, expiryS, stored: true });
    this.#index.add(session);
    for (const { filter, options } of filters)
      if (this.#usage.countFilter(user, filter)) this.#index.subscriptions.put(session, filter, options);
    session.queued = queued;
    session.queuedBytes = queuedBytes;
    for (const { packetId, isReleased, ...rest } of sent)
      session.putSent(packetId, { ...rest, ...(isReleased && { released: Promise.resolve() }) });
    for (const { packetId, bytes } of incoming) session.putIncoming(packetId, { stored: Promise.resolve(), bytes });
    this.#usage.countBytes(user, inFlightBytesOf(session));
    return session;
  }
}
