// Counts what each user has stored by MQTT: sessions, bytes of their filters, queues and wills, and retained messages.
// Asked before anything is stored. Ensures that no user stores more than their quota, that all stored sessions fit into
// `storedSessionBytesMax`, and that guests, who share one quota, leave each session an even part of it.

import { FairBudget } from '../../../base/memory/fair-budget.ts';
import { limits } from '../../../config/limits.ts';
import type { MqttQuota, MqttQuotaKind } from '../../../domain/ports/mqtt-sessions.ts';
import { remembered } from '../../../domain/remembered.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { MqttChange } from './mqtt-tables.ts';
import { filterCost } from './sessions/mqtt-session.ts';

export interface MqttQuotas {
  quotaOf(user: UserKey): MqttQuota;
  /** Resolves when `quotaOf` knows this user's quota; undefined where it does now. */
  learn?(user: UserKey): Promise<void> | undefined;
  /**
   * The user guest: many clients share its quota, so half of its session bytes is divided evenly among its sessions.
   */
  readonly guest?: UserKey;
  /** Called when a quota has refused something. */
  onRefused(user: UserKey, kind: MqttQuotaKind): void;
}

type Owner = UserKey | undefined;

/** Who takes bytes of a quota: a session, or a user for a will. */
interface UserUsage {
  readonly user: Owner;
  /** Bytes that a session holds already; Infinity for a will, which has no even part of the guests' quota. */
  readonly heldBytes: number;
}

export class MqttUsage {
  readonly #quotas: MqttQuotas;
  readonly #sessions = new FairBudget<Owner>(limits.sessionsMax);
  /** Memory of sessions and their filters. */
  readonly #memory = new FairBudget<Owner>(limits.storedSessionBytesMax, { pool: remembered });
  readonly #sessionBytes = new Map<Owner, number>();
  readonly #changed = new Set<UserKey>();
  /** Called when usage has changed, so that it is written. */
  onChange: () => void = () => {};

  constructor(quotas: MqttQuotas) {
    this.#quotas = quotas;
  }

  /** What has changed of the stored usage since the last call. */
  takeChanges(): readonly MqttChange[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed.map((user) => {
      const bytes = this.#sessionBytes.get(user) ?? 0;
      return { kind: 'usage', user, sessions: this.#sessions.heldBy(user), bytes };
    });
  }

  /** Resolves when the user's quota is known; undefined where it is. */
  learn(user: UserKey): Promise<void> | undefined {
    return this.#quotas.learn?.(user);
  }

  /** Counts one more session; false beyond the quota, or beyond the user's share of all sessions. */
  takeSession(user: Owner, clientId: string): boolean {
    const quota = this.#quotaOf(user);
    const isWithin = quota === undefined || this.#sessions.heldBy(user) < quota.sessions;
    const weight = sessionWeight(clientId);
    if (!isWithin || !this.#memory.hasCapacityFor(user, weight) || !this.#sessions.take(user, 1)) {
      return this.#refuse(user, 'sessions');
    }
    if (!this.takeBytes({ user, heldBytes: 0 }, sessionCost(clientId))) {
      this.#sessions.release(user, 1);
      return false;
    }
    this.#memory.count(user, weight);
    return true;
  }

  countSession(user: Owner, clientId: string): void {
    this.#sessions.count(user, 1);
    this.#memory.count(user, sessionWeight(clientId));
    this.countBytes(user, sessionCost(clientId));
  }

  giveSession(user: Owner, clientId: string): void {
    this.#sessions.release(user, 1);
    this.#memory.release(user, sessionWeight(clientId));
    this.releaseBytes(user, sessionCost(clientId));
  }

  takeFilter(session: UserUsage, filter: string): boolean {
    const { user } = session;
    if (!this.#memory.take(user, filterWeight(filter))) return this.#refuse(user, 'sessionBytes');
    if (this.takeBytes(session, filterCost(filter))) return true;
    this.#memory.release(user, filterWeight(filter));
    return false;
  }

  hasCapacityForFilter(session: UserUsage, filter: string): boolean {
    const isRoom = this.#memory.hasCapacityFor(session.user, filterWeight(filter));
    return isRoom && this.hasCapacityFor(session, filterCost(filter));
  }

  /** Counts a filter that is already stored; false where the memory for filters is full and it cannot be held. */
  countFilter(user: Owner, filter: string): boolean {
    const weight = filterWeight(filter);
    if (this.#memory.taken + weight > limits.storedSessionBytesMax) return false;
    this.#memory.count(user, weight);
    this.countBytes(user, filterCost(filter));
    return true;
  }

  giveFilter(user: Owner, filter: string): void {
    this.#memory.release(user, filterWeight(filter));
    this.releaseBytes(user, filterCost(filter));
  }

  /**
   * Whether the quota allows so many more bytes. Half of the guests' quota is divided evenly among their sessions; a
   * session that exceeds its even part may use the other half only.
   */
  hasCapacityFor({ user, heldBytes }: UserUsage, bytes: number): boolean {
    const quota = this.#quotaOf(user);
    if (quota === undefined || quota.sessionBytes === Number.POSITIVE_INFINITY) return true;
    const sum = (this.#sessionBytes.get(user) ?? 0) + bytes;
    const isParted = user === this.#quotas.guest && quota.sessions < Number.POSITIVE_INFINITY;
    const kept = isParted ? quota.sessionBytes / 2 : 0;
    const isEven = heldBytes + bytes <= kept / quota.sessions;
    if (sum <= (isEven ? quota.sessionBytes : quota.sessionBytes - kept)) return true;
    return this.#refuse(user, 'sessionBytes');
  }

  /**
   * Whether a message that a guest published may wait in the user's session: half of the session's messages and half of
   * the user's bytes are kept for other publishers. For sessions of guests, only `hasCapacityFor` applies.
   */
  hasCapacityForGuests({ user, queued }: { readonly user: Owner; readonly queued: number }, bytes: number): boolean {
    if (user !== undefined && user === this.#quotas.guest) return true;
    const bytesMax = this.#quotaOf(user)?.sessionBytes ?? Number.POSITIVE_INFINITY;
    return queued < limits.sessionMessagesMax / 2 && (this.#sessionBytes.get(user) ?? 0) + bytes <= bytesMax / 2;
  }

  /** Reserves bytes of a session: a queued or inbound message, or a will. */
  takeBytes(holder: UserUsage, bytes: number): boolean {
    if (!this.hasCapacityFor(holder, bytes)) return false;
    this.countBytes(holder.user, bytes);
    return true;
  }

  countBytes(user: Owner, bytes: number): void {
    const sum = (this.#sessionBytes.get(user) ?? 0) + bytes;
    if (sum > 0) this.#sessionBytes.set(user, sum);
    else this.#sessionBytes.delete(user);
    if (user === undefined) return;
    if (this.#changed.size === 0) this.onChange();
    this.#changed.add(user);
  }

  releaseBytes(user: Owner, bytes: number): void {
    this.countBytes(user, -bytes);
  }

  /** The user's quota for sessions, in bytes. */
  sessionBytesMax(user: Owner): number {
    return this.#quotaOf(user)?.sessionBytes ?? Number.POSITIVE_INFINITY;
  }

  /** The user's quota for retained messages. */
  retainedBytesMax(user: Owner): number {
    return this.#quotaOf(user)?.retainedBytes ?? Number.POSITIVE_INFINITY;
  }

  /** @param bytes the total of the user's retained messages if this were stored. */
  maySpendOnRetained(user: Owner, bytes: number): boolean {
    const quota = this.#quotaOf(user);
    return quota === undefined || bytes <= quota.retainedBytes || this.#refuse(user, 'retainedBytes');
  }

  #quotaOf(user: Owner): MqttQuota | undefined {
    return user === undefined ? undefined : this.#quotas.quotaOf(user);
  }

  #refuse(user: Owner, kind: MqttQuotaKind): false {
    if (user !== undefined) this.#quotas.onRefused(user, kind);
    return false;
  }
}

/** Bytes that a row of a message counts besides its topic and payload. */
const messageRowBytes = 64;

/** What a message counts for a quota, in bytes: its topic and payload in UTF-8, its properties, and the overhead of its row. */
export function messageCost(packet: {
  readonly topic?: string | undefined;
  readonly payload?: string | Uint8Array | undefined;
  readonly properties?: Uint8Array | undefined;
}): number {
  const { topic = '', payload = '', properties } = packet;
  return Buffer.byteLength(topic) + Buffer.byteLength(payload) + (properties?.length ?? 0) + messageRowBytes;
}

/** The same in SQL, of a row with the columns `topic` and `payload`; properties are not among them. */
export const messageCostSql = `octet_length(topic) + octet_length(payload) + ${messageRowBytes}`;

/** The same of a retained message, which has the bytes of its properties in a column. The triggers of `retained_bytes` count alike. */
export const retainedCostSql = `${messageCostSql} + extra`;

function sessionCost(clientId: string): number {
  return clientId.length + 256;
}

/** Measured bytes of memory: the record, its entries in two maps and in the set of its user, and the id. */
function sessionWeight(clientId: string): number {
  return 440 + 2 * clientId.length;
}

/**
 * Measured bytes of memory: the index has a map for each level of a filter with wildcards, and one entry for any other.
 */
function filterWeight(filter: string): number {
  const isWild = filter.includes('+') || filter.includes('#');
  let levels = 1;
  if (isWild) for (let at = filter.indexOf('/'); at >= 0; at = filter.indexOf('/', at + 1)) levels += 1;
  return 256 + 2 * filter.length + (isWild ? 256 * levels : 0);
}
