// Retained messages, held in the tables only. Filters are answered from the index of topics: an exact filter by one
// look-up, others by the levels before their first wildcard. Each message is charged to its publisher. Bounded by
// limits.retainedMax, and in bytes by each user's quota (I4).

import { QlobberTrue } from 'qlobber';
import { isTransient, Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { RetainedCapacity, StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { filterGrammar } from './mqtt-filter-index.ts';
import { packetColumns, packetFields } from './mqtt-packet.ts';
import {
  type Answer,
  type MqttReads,
  type RetainedRow,
  type RetainedUse,
  retained,
  retainedPageRows,
} from './mqtt-tables.ts';
import { type MqttUsage, messageCost } from './mqtt-usage.ts';
import type { MqttWrites, Writing } from './mqtt-writes.ts';

export class MqttRetained {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #matchesForm: (filter: string, topic: string) => boolean;
  /** Number of topics with a retained message, including pending writes. */
  size = 0;
  /** Number of messages not retained because of a bound. */
  dropped = 0;
  readonly #usage: MqttUsage;
  /** By publisher: bytes of pending writes. */
  readonly #pendingBytes = new Map<UserKey | undefined, number>();

  constructor(parts: {
    readonly writes: MqttWrites;
    readonly reads: MqttReads;
    readonly usage: MqttUsage;
    readonly matchesForm: (filter: string, topic: string) => boolean;
  }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#usage = parts.usage;
    this.#matchesForm = parts.matchesForm;
  }

  async start(): Promise<void> {
    this.size = await this.#reads.retainedCount();
  }

  /** Stores the message as its topic's retained one; an empty payload removes that [MQTT-3.3.1-10]. */
  async store(packet: StoredPacket, writing: Writing = {}): Promise<void> {
    const { user, topic = '', qos = 0 } = packet;
    const isRemoval = packet.payload === undefined || packet.payload.length === 0;
    // Where the engine has to ask, a removal waits as well: changes of a topic are stored in the order of the calls.
    const answer = isRemoval ? this.capacityFor(undefined, []) : this.capacityFor(user, [packet]);
    const capacity = answer instanceof Promise ? await this.#capacityFrom(answer, writing) : answer;
    if (isRemoval) {
      const [gone = 0] = await this.#writes.write([{ kind: 'retained-removed', topic }], writing);
      this.size -= gone;
      return;
    }
    if (!capacity.isAllowed) {
      this.dropped += 1;
      return;
    }
    const added = this.size < limits.retainedMax ? 1 : 0;
    this.size += added;
    const bytes = messageCost(packet);
    this.#pendingBytes.set(user, (this.#pendingBytes.get(user) ?? 0) + bytes);
    try {
      const extra = packet.properties?.length ?? 0;
      const row = { user: user ?? null, qos, extra, mayAdd: added === 1, ...packetColumns(packet) };
      const [outcome] = await this.#writes.write([{ kind: 'retained', ...row }], writing);
      if (outcome !== retained.added) this.size -= added;
      if (outcome === retained.full) this.dropped += 1;
    } catch (error) {
      this.size -= added;
      throw error;
    } finally {
      const left = (this.#pendingBytes.get(user) ?? 0) - bytes;
      if (left > 0) this.#pendingBytes.set(user, left);
      else this.#pendingBytes.delete(user);
    }
  }

  /** What its publisher was told is stored is not lost because its quota cannot be asked for. */
  #capacityFrom(
    answer: Promise<RetainedCapacity>,
    { isKept = false }: Writing,
  ): Promise<{ readonly isAllowed: boolean }> {
    // The same way for all, because each step is a microtask: changes of a topic are stored in the order of the calls.
    return answer.catch((error: unknown) => {
      if (!isKept || (error instanceof Refusal && !isTransient(error))) throw error;
      return { isAllowed: true };
    });
  }

  /** Whether the user's quota allows these messages, each replacing the one of its topic; and what they would add. */
  capacityFor(user: UserKey | undefined, packets: readonly StoredPacket[]): Answer<RetainedCapacity> {
    const topics = packets.map(({ topic = '' }) => topic);
    const use = this.#reads.retainedUse(user, topics);
    return use instanceof Promise
      ? use.then((known) => this.#capacityBeside(known, user, packets))
      : this.#capacityBeside(use, user, packets);
  }

  #capacityBeside(use: RetainedUse, user: UserKey | undefined, packets: readonly StoredPacket[]): RetainedCapacity {
    const used = use.bytes + (this.#pendingBytes.get(user) ?? 0);
    let amount = -use.bytesOnTopics;
    for (const packet of packets) amount += messageCost(packet);
    // Nothing is spent by who removes.
    if (packets.length === 0) return { isAllowed: true, used, amount, limit: this.#usage.retainedBytesMax(user) };
    const isAllowed = this.#usage.maySpendOnRetained(user, used + amount);
    return { isAllowed, used, amount, limit: this.#usage.retainedBytesMax(user) };
  }

  /** Removes a user's retained messages on the user's own topics; those elsewhere stay. */
  async removeAllOf(user: UserKey, ranges: readonly { readonly from: string; readonly to: string }[]): Promise<void> {
    for (const { from, to } of ranges) {
      let gone = retainedPageRows;
      while (gone === retainedPageRows) {
        [gone = 0] = await this.#writes.write([{ kind: 'retained-cleared', user, from, to }]);
        this.size -= gone;
      }
    }
  }

  /** The retained messages that match any of the filters, each once. */
  async *matching(filters: readonly string[]): AsyncGenerator<StoredPacket> {
    const seen = new Set<string>();
    for (const filter of filters) {
      for await (const topics of this.#topicsMatching(filter)) {
        const fresh = filters.length > 1 ? topics.filter((topic) => !seen.has(topic) && seen.add(topic)) : topics;
        for await (const row of this.#reads.retained(fresh)) {
          if (this.#writes.closed) return;
          yield toPacket(row);
        }
      }
    }
  }

  /** In pages. */
  async *#topicsMatching(filter: string): AsyncGenerator<readonly string[]> {
    const levels = filter.split('/');
    const literal = levels.findIndex((level) => level === '+' || level === '#');
    if (literal === -1) {
      if (this.#matchesForm(filter, filter)) yield [filter];
      return;
    }
    const matcher = new QlobberTrue(filterGrammar);
    matcher.add(filter);
    const takes = (topic: string) => {
      // A leading wildcard does not match topics that begin with `$` [MQTT-4.7.2-1].
      if (literal === 0 && topic.startsWith('$')) return false;
      return matcher.test(topic) && this.#matchesForm(filter, topic);
    };
    const pages = this.#reads.retainedTopics(literal === 0 ? undefined : levels.slice(0, literal).join('/'));
    for await (const topics of pages) {
      if (this.#writes.closed) return;
      yield topics.filter(takes);
    }
  }
}

function toPacket(row: RetainedRow): StoredPacket {
  const by = row.user === null ? undefined : { user: row.user };
  return { cmd: 'publish', ...packetFields(row), retain: true, ...by };
}
