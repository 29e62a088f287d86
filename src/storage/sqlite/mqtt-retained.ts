// Retained messages, in the tables alone. Filters are answered from the index of topics: an exact one with one
// look-up, others from the levels before the first wildcard on. Bounded by limits.retainedMax (I4).
import { setImmediate as nextTurn } from 'node:timers/promises';
import { QlobberTrue } from 'qlobber';
import { limits } from '../../config/limits.ts';
import type { Broker } from './mqtt-outgoing.ts';
import { type Packet, type PacketRow, packetColumns, packetFields } from './mqtt-packet.ts';
import type { MqttReads } from './mqtt-reads.ts';
import { filterGrammar } from './mqtt-sessions.ts';
import type { MqttWrites } from './mqtt-writes.ts';

export class MqttRetained {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #matchesForm: (filter: string, topic: string) => boolean;
  #broker: Broker = { id: '', counter: 0 };
  #lastNumber = 0;
  /** Topics with a retained message, those on their way to the disk included. */
  size = 0;
  /** Messages not retained because there was no room. */
  dropped = 0;

  constructor(parts: {
    readonly writes: MqttWrites;
    readonly reads: MqttReads;
    readonly matchesForm: (filter: string, topic: string) => boolean;
  }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#matchesForm = parts.matchesForm;
  }

  start(broker: Broker): void {
    this.#broker = broker;
    this.size = (this.#reads.prepare('SELECT count(*) AS n FROM mqtt_retained').get() as { n: number }).n;
  }

  /** Keeps the message as the last of its topic; an empty payload removes that [MQTT-3.3.1-10]. */
  async store(packet: Packet): Promise<void> {
    this.#renumber(packet);
    const topic = packet.topic ?? '';
    if (packet.payload === undefined || packet.payload.length === 0) {
      const [gone = 0] = await this.#writes.write([
        { sql: 'DELETE FROM mqtt_retained WHERE topic = ?', parameters: [topic] },
      ]);
      this.size -= gone;
      return;
    }
    const [, payload, rest] = packetColumns(packet);
    const values = [payload, packet.qos ?? 0, rest, topic];
    const room = this.size < limits.retainedMax ? 1 : 0;
    this.size += room;
    try {
      const [updated = 0, inserted = 0] = await this.#writes.write([
        { sql: 'UPDATE mqtt_retained SET payload = ?, qos = ?, rest = ? WHERE topic = ?', parameters: values },
        {
          sql: `INSERT INTO mqtt_retained (payload, qos, rest, topic) SELECT ?, ?, ?, ?
            WHERE ? = 1 AND NOT EXISTS (SELECT 1 FROM mqtt_retained WHERE topic = ?)`,
          parameters: [...values, room, topic],
        },
      ]);
      this.size -= room - inserted;
      if (updated + inserted === 0) this.dropped += 1;
    } catch (error) {
      this.size -= room;
      throw error;
    }
  }

  /** The retained messages that one of the filters takes, each once. */
  async *matching(filters: readonly string[]): AsyncGenerator<Packet> {
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
      // A wildcard in front does not take topics of the server [MQTT-4.7.2-1].
      if (literal === 0 && topic.startsWith('$')) return false;
      return matcher.test(topic) && this.#matchesForm(filter, topic);
    };
    for await (const topics of this.#pages(literal === 0 ? undefined : levels.slice(0, literal).join('/'))) {
      for (const topic of topics) if (takes(topic)) yield topic;
    }
  }

  /** All topics, or those that begin with these levels; other work comes between the pages. */
  async *#pages(prefix: string | undefined): AsyncGenerator<string[]> {
    // What lies between a prefix and the prefix followed by 0, the character after the slash, includes all of them.
    const end = prefix === undefined ? '' : 'AND topic < ?';
    const page = this.#reads.prepare(
      `SELECT topic FROM mqtt_retained WHERE topic >= ? AND topic <> ? ${end} ORDER BY topic LIMIT ${pageRows}`,
    );
    const ends = prefix === undefined ? [] : [`${prefix}0`];
    let from = prefix ?? '';
    let last = '';
    for (;;) {
      const rows = page.all(from, last, ...ends) as { topic: string }[];
      yield rows.map(({ topic }) => topic);
      if (rows.length < pageRows) return;
      from = last = rows.at(-1)?.topic ?? '';
      await nextTurn();
      if (this.#reads.closed) return;
    }
  }

  #read(topic: string): Packet | undefined {
    const row = this.#reads.prepare('SELECT topic, payload, qos, rest FROM mqtt_retained WHERE topic = ?').get(topic);
    return row === undefined
      ? undefined
      : { cmd: 'publish', ...packetFields(row as unknown as PacketRow), retain: true };
  }

  /** As for queued messages (see mqtt-outgoing.ts): one that waited for its commit must not pass for a repeat. */
  #renumber(packet: Packet): void {
    const number = packet.brokerCounter ?? 0;
    if (number === 0 || number > this.#broker.counter) return;
    packet.brokerId = `${this.#broker.id}/retained`;
    packet.brokerCounter = ++this.#lastNumber;
  }
}

const pageRows = 500;
