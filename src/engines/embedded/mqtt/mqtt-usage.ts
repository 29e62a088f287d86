// What each user has stored by MQTT: sessions, the bytes of their filters, queues and wills, and retained messages. Asked
// before anything is stored (mqtt-sessions.ts, mqtt-outgoing.ts, mqtt-incoming.ts, mqtt-wills.ts, mqtt-retained.ts).
// Keeps true: nobody stores more than their quota, all stored sessions with their filters fit into the memory set aside for
// them, and of what guests have together each of their sessions has an even part.
import { FairBudget } from '../../../base/memory/fair-budget.ts';
import { limits } from '../../../config/limits.ts';
import { remembered } from '../../../domain/remembered.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { Statement } from '../threads/writer-protocol.ts';
import { filterCost } from './mqtt-session.ts';

/** How much a user may store by MQTT; Infinity: no bound. */
export interface MqttQuota {
  readonly sessions: number;
  /** Of sessions with their filters, queues and wills. */
  readonly sessionBytes: number;
  /** Of retained messages. */
  readonly retainedBytes: number;
}

export type MqttQuotaKind = keyof MqttQuota;

export interface MqttQuotas {
  quotaOf(user: UserKey): MqttQuota;
  /** Whose quota many share who do not know each other: half of its bytes of sessions is kept for even parts. */
  readonly guest?: UserKey;
  /** Told of what a quota has kept out. */
  onRefused(user: UserKey, kind: MqttQuotaKind): void;
}

type Owner = UserKey | undefined;

/** Who takes bytes of a quota: a session. */
interface UserUsage {
  readonly user: Owner;
  /** What it has of them; Infinity for what has no even part. */
  readonly heldBytes: number;
}

export class MqttUsage {
  readonly #quotas: MqttQuotas;
  readonly #sessions = new FairBudget<Owner>(limits.sessionsMax);
  /** Of sessions and their filters. */
  readonly #memory = new FairBudget<Owner>(limits.storedSessionBytesMax, { pool: remembered });
  readonly #sessionBytes = new Map<Owner, number>();
  readonly #changed = new Set<UserKey>();
  /** Told that there are changes to be taken. */
  onChange: () => void = () => {};

  constructor(quotas: MqttQuotas) {
    this.#quotas = quotas;
  }

  /** What has changed since it was asked last, for the table of usage. */
  takeChanges(): readonly Statement[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed.map((user) => ({
      sql: 'UPDATE usage SET mqtt_sessions = ?, mqtt_session_bytes = ? WHERE user = ?',
      parameters: [this.#sessions.heldBy(user), this.#sessionBytes.get(user) ?? 0, user],
    }));
  }

  /** One more session; false beyond the quota, or beyond the user's share of all sessions there may be. */
  takeSession(user: Owner, clientId: string): boolean {
    const quota = this.#quotaOf(user);
    const isWithin = quota === undefined || this.#sessions.heldBy(user) < quota.sessions;
    const weight = sessionWeight(clientId);
    if (!isWithin || !this.#memory.hasCapacityFor(user, weight) || !this.#sessions.take(user, 1)) {
      return this.#refuse(user, 'sessions');
    }
    if (!this.takeBytes({ user, heldBytes: 0 }, sessionCost(clientId))) {
      this.#sessions.giveBack(user, 1);
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
    this.#sessions.giveBack(user, 1);
    this.#memory.giveBack(user, sessionWeight(clientId));
    this.giveBytes(user, sessionCost(clientId));
  }

  takeFilter(session: UserUsage, filter: string): boolean {
    const { user } = session;
    if (!this.#memory.take(user, filterWeight(filter))) return this.#refuse(user, 'sessionBytes');
    if (this.takeBytes(session, filterCost(filter))) return true;
    this.#memory.giveBack(user, filterWeight(filter));
    return false;
  }

  hasCapacityForFilter(session: UserUsage, filter: string): boolean {
    const isRoom = this.#memory.hasCapacityFor(session.user, filterWeight(filter));
    return isRoom && this.hasCapacityFor(session, filterCost(filter));
  }

  /** Counts a filter that is stored already; false where the memory for filters is full, so that it cannot be held. */
  countFilter(user: Owner, filter: string): boolean {
    const weight = filterWeight(filter);
    if (this.#memory.taken + weight > limits.storedSessionBytesMax) return false;
    this.#memory.count(user, weight);
    this.countBytes(user, filterCost(filter));
    return true;
  }

  giveFilter(user: Owner, filter: string): void {
    this.#memory.giveBack(user, filterWeight(filter));
    this.giveBytes(user, filterCost(filter));
  }

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

  /** Bytes of a session: a message queued for it or under way from it, a will. */
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

  giveBytes(user: Owner, bytes: number): void {
    this.countBytes(user, -bytes);
  }

  /** What the retained messages of the user may take. */
  retainedBytesMax(user: Owner): number {
    return this.#quotaOf(user)?.retainedBytes ?? Number.POSITIVE_INFINITY;
  }

  /** @param bytes what all retained messages of the user would take */
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

/** What a message takes of a quota: its text, and about what its row has besides. */
export function messageCost(packet: {
  readonly topic?: string | undefined;
  readonly payload?: string | Uint8Array | undefined;
}): number {
  const { topic = '', payload = '' } = packet;
  return topic.length + payload.length + 64;
}

function sessionCost(clientId: string): number {
  return clientId.length + 256;
}

/** Bytes of memory, measured: a record, its places in two maps, and the id. */
function sessionWeight(clientId: string): number {
  return 360 + 2 * clientId.length;
}

/** Bytes of memory, measured: the index has a map for each level of a filter with wildcards, and one entry for another. */
function filterWeight(filter: string): number {
  const isWild = filter.includes('+') || filter.includes('#');
  let levels = 1;
  if (isWild) for (let at = filter.indexOf('/'); at >= 0; at = filter.indexOf('/', at + 1)) levels += 1;
  return 256 + 2 * filter.length + (isWild ? 256 * levels : 0);
}
