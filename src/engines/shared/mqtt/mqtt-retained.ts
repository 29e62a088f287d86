// Retained messages, held in the tables only. Filters are answered from the index of topics: an exact filter by one
// look-up, others by the levels before their first wildcard. Each message is charged to its publisher. Bounded by
// limits.retainedMax, and in bytes by each user's quota (I4).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { QlobberTrue } from 'qlobber';
import { limits } from '../../../config/limits.ts';
import type { BrokerIdentity, RetainedCapacity, StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { filterGrammar } from './mqtt-filter-index.ts';
import { type PacketRow, packetColumns, packetFields } from './mqtt-packet.ts';
import type { MqttReads } from './mqtt-reads.ts';
import { type MqttUsage, messageCost, messageCostSql } from './mqtt-usage.ts';
import type { MqttWrites } from './mqtt-writes.ts';

export class MqttRetained {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #matchesForm: (filter: string, topic: string) => boolean;
  #broker: BrokerIdentity = { id: '', counter: 0 };
  #lastNumber = 0;
  /** Number of topics with a retained message, including pending writes. */
  size = 0;
  /** Number of messages not retained because of a bound. */
  dropped = 0;
  /** Resolves when the next page may be read. */
  #lastPage: Promise<void> = Promise.resolve();
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

  start(broker: BrokerIdentity): void {
    this.#broker = broker;
    this.size = (this.#reads.prepare('SELECT count(*) AS n FROM mqtt_retained').get() as { n: number }).n;
  }

  /** Stores the message as its topic's retained one; an empty payload removes that [MQTT-3.3.1-10]. */
  async store(packet: StoredPacket): Promise<void> {
    this.#renumber(packet);
    const topic = packet.topic ?? '';
    if (packet.payload === undefined || packet.payload.length === 0) {
      const [gone = 0] = await this.#writes.write([
        { sql: 'DELETE FROM mqtt_retained WHERE topic = ?', parameters: [topic] },
      ]);
      this.size -= gone;
      return;
    }
    const { user } = packet;
    if (!this.capacityFor(user, [packet]).isAllowed) {
      this.dropped += 1;
      return;
    }
    const [, payload, rest] = packetColumns(packet);
    const values = [payload, packet.qos ?? 0, rest, user ?? null, topic];
    const added = this.size < limits.retainedMax ? 1 : 0;
    this.size += added;
    const bytes = messageCost(packet);
    this.#pendingBytes.set(user, (this.#pendingBytes.get(user) ?? 0) + bytes);
    try {
      const [updated = 0, inserted = 0] = await this.#writes.write([
        {
          sql: 'UPDATE mqtt_retained SET payload = ?, qos = ?, rest = ?, user = ? WHERE topic = ?',
          parameters: values,
        },
        {
          sql: `INSERT INTO mqtt_retained (payload, qos, rest, user, topic) SELECT ?, ?, ?, ?, ?
            WHERE ? = 1 AND NOT EXISTS (SELECT 1 FROM mqtt_retained WHERE topic = ?)`,
          parameters: [...values, added, topic],
        },
      ]);
      this.size -= added - inserted;
      if (updated + inserted === 0) this.dropped += 1;
    } catch (error) {
      this.size -= added;
      throw error;
    } finally {
      const left = (this.#pendingBytes.get(user) ?? 0) - bytes;
      if (left > 0) this.#pendingBytes.set(user, left);
      else this.#pendingBytes.delete(user);
    }
  }

  /** Bytes of the user's retained messages, including pending writes. */
  bytesOf(user: UserKey | undefined): number {
    const row = this.#reads.prepare('SELECT retained_bytes FROM usage WHERE user = ?').get(user ?? null);
    return Number(row?.['retained_bytes'] ?? 0) + (this.#pendingBytes.get(user) ?? 0);
  }

  /** Whether the user's quota allows these messages, each replacing the one of its topic; and what they would add. */
  capacityFor(user: UserKey | undefined, packets: readonly StoredPacket[]): RetainedCapacity {
    let amount = 0;
    for (const packet of packets) amount += messageCost(packet) - this.#ownBytesOn(user, packet.topic ?? '');
    const used = this.bytesOf(user);
    const isAllowed = this.#usage.maySpendOnRetained(user, used + amount);
    return { isAllowed, used, amount, limit: this.#usage.retainedBytesMax(user) };
  }

  /** Removes a user's retained messages on the user's own topics; those elsewhere stay. */
  async removeAllOf(user: UserKey, ranges: readonly { readonly from: string; readonly to: string }[]): Promise<void> {
    for (const { from, to } of ranges) {
      const some = `SELECT topic FROM mqtt_retained WHERE user = ? AND topic >= ? AND topic < ? LIMIT ${pageRows}`;
      const sql = `DELETE FROM mqtt_retained WHERE topic IN (${some})`;
      let gone = pageRows;
      while (gone === pageRows) {
        [gone = 0] = await this.#writes.write([{ sql, parameters: [user, from, to] }]);
        this.size -= gone;
      }
    }
  }

  #ownBytesOn(user: UserKey | undefined, topic: string): number {
    const sql = `SELECT user, ${messageCostSql} AS bytes FROM mqtt_retained WHERE topic = ?`;
    const row = this.#reads.prepare(sql).get(topic);
    return row !== undefined && row['user'] === (user ?? null) ? Number(row['bytes']) : 0;
  }

  /** The retained messages that match any of the filters, each once. */
  async *matching(filters: readonly string[]): AsyncGenerator<StoredPacket> {
    const seen = new Set<string>();
    for (const filter of filters) {
      for await (const topic of this.#topicsMatching(filter)) {
        if (this.#reads.closed) return;
        if (filters.length > 1 && (seen.has(topic) || !seen.add(topic))) continue;
        const packet = this.#read(topic);
        if (packet !== undefined) yield packet;
      }
    }
  }

  async *#topicsMatching(filter: string): AsyncGenerator<string> {
    const levels = filter.split('/');
    const literal = levels.findIndex((level) => level === '+' || level === '#');
    if (literal === -1) {
      if (this.#matchesForm(filter, filter)) yield filter;
      return;
    }
    const matcher = new QlobberTrue(filterGrammar);
    matcher.add(filter);
    const takes = (topic: string) => {
      // A leading wildcard does not match topics that begin with `$` [MQTT-4.7.2-1].
      if (literal === 0 && topic.startsWith('$')) return false;
      return matcher.test(topic) && this.#matchesForm(filter, topic);
    };
    for await (const topics of this.#pages(literal === 0 ? undefined : levels.slice(0, literal).join('/'))) {
      for (const topic of topics) if (takes(topic)) yield topic;
    }
  }

  /** All topics, or those below a prefix, in pages; other work runs between two pages. */
  async *#pages(prefix: string | undefined): AsyncGenerator<string[]> {
    // '0' is the character after '/', so this range has all topics below the prefix.
    const end = prefix === undefined ? '' : 'AND topic < ?';
    const page = this.#reads.prepare(
      `SELECT topic FROM mqtt_retained WHERE topic >= ? AND topic <> ? ${end} ORDER BY topic LIMIT ${pageRows}`,
    );
    const ends = prefix === undefined ? [] : [`${prefix}0`];
    let from = prefix ?? '';
    let last = '';
    for (;;) {
      await this.#pageTurn();
      if (this.#reads.closed) return;
      const rows = page.all(from, last, ...ends) as { topic: string }[];
      yield rows.map(({ topic }) => topic);
      if (rows.length < pageRows) return;
      from = last = rows.at(-1)?.topic ?? '';
    }
  }

  /** At most one page in each turn of the event loop, however many readers there are. */
  #pageTurn(): Promise<void> {
    const turn = this.#lastPage;
    this.#lastPage = turn.then(() => nextTurn());
    return turn;
  }

  #read(topic: string): StoredPacket | undefined {
    const columns = 'SELECT topic, payload, qos, rest, user FROM mqtt_retained WHERE topic = ?';
    const row = this.#reads.prepare(columns).get(topic) as unknown as (PacketRow & { user: number | null }) | undefined;
    if (row === undefined) return undefined;
    const by = row.user === null ? undefined : { user: row.user };
    return { cmd: 'publish', ...packetFields(row), retain: true, ...by };
  }

  /** As mqtt-outgoing.ts does: a message that waited for its commit must not be taken for a repeat. */
  #renumber(packet: StoredPacket): void {
    const number = packet.brokerCounter ?? 0;
    if (number === 0 || number > this.#broker.counter) return;
    packet.brokerId = `${this.#broker.id}/retained`;
    packet.brokerCounter = ++this.#lastNumber;
  }
}

const pageRows = 500;
