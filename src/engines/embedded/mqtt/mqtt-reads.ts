// Reads MQTT tables on the main thread's connection. Long reads go in steps, and take a further one only when they are asked
// for it.
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UserKey } from '../../../domain/users/user.ts';
import type { PacketRow } from '../../shared/mqtt/mqtt-packet.ts';
import {
  type IncomingRow,
  type MqttReads,
  type QueuedRow,
  type RetainedRow,
  type RetainedUse,
  retainedPageRows,
  type WillRow,
} from '../../shared/mqtt/mqtt-tables.ts';
import { retainedCostSql } from '../../shared/mqtt/mqtt-usage.ts';
import { StatementCache } from '../database/statement-cache.ts';

export class SqliteMqttReads implements MqttReads {
  readonly #statements: StatementCache;
  /** Resolves when the next page of topics may be read. */
  #lastPage: Promise<void> = Promise.resolve();

  constructor(reader: DatabaseSync) {
    this.#statements = new StatementCache(reader);
  }

  lastMessage(): number {
    const last = 'SELECT max((SELECT max(id) FROM mqtt_message), (SELECT max(message) FROM mqtt_queue)) AS n';
    return Number((this.#statements.prepare(last).get() as { n: number | null }).n ?? 0);
  }

  queued(session: number, message: number): QueuedRow | undefined {
    const row = this.#statements
      .prepare(`SELECT topic, payload, rest, qos, released FROM mqtt_queue JOIN mqtt_message ON id = message
        WHERE session = ? AND message = ?`)
      .get(session, message) as unknown as (PacketRow & { readonly released: number }) | undefined;
    return row && { ...row, message, isReleased: row.released === 1 };
  }

  async *queue(session: number, upTo: number): AsyncGenerator<QueuedRow> {
    const page = this.#statements.prepare(`SELECT message FROM mqtt_queue
      WHERE session = ? AND message > ? AND message <= ? ORDER BY message LIMIT ${queuePageRows}`);
    let after = -1;
    for (;;) {
      const rows = page.all(session, after, upTo) as { message: number }[];
      for (const { message } of rows) {
        after = message;
        const row = this.queued(session, message);
        if (row !== undefined) yield row;
      }
      if (rows.length < queuePageRows) return;
    }
  }

  incoming(session: number, packetId: number): IncomingRow | undefined {
    const row = this.#statements
      .prepare('SELECT topic, payload, rest, qos, retain FROM mqtt_incoming WHERE session = ? AND packet_id = ?')
      .get(session, packetId) as unknown as (PacketRow & { readonly retain: number }) | undefined;
    return row && { ...row, isRetain: row.retain === 1 };
  }

  willClients(brokerId: string): readonly string[] {
    const rows = this.#statements.prepare('SELECT client_id AS id FROM mqtt_will WHERE broker_id = ?').all(brokerId);
    return (rows as { id: string }[]).map(({ id }) => id);
  }

  will(clientId: string, brokerId: string): WillRow | undefined {
    const row = this.#statements
      .prepare(`SELECT topic, payload, rest, qos, retain, user FROM mqtt_will WHERE client_id = ? AND broker_id = ?`)
      .get(clientId, brokerId) as unknown as
      | (PacketRow & { readonly retain: number; readonly user: UserKey | null })
      | undefined;
    return row && { ...row, clientId, brokerId, isRetain: row.retain === 1 };
  }

  wills(): readonly Pick<WillRow, 'clientId' | 'brokerId'>[] {
    const keys = 'SELECT client_id AS clientId, broker_id AS brokerId FROM mqtt_will';
    return this.#statements.prepare(keys).all() as unknown as Pick<WillRow, 'clientId' | 'brokerId'>[];
  }

  retainedCount(): number {
    return (this.#statements.prepare('SELECT count(*) AS n FROM mqtt_retained').get() as { n: number }).n;
  }

  retainedUse(user: UserKey | undefined, topics: readonly string[]): RetainedUse {
    let bytesOnTopics = 0;
    for (const topic of topics) bytesOnTopics += this.#ownBytesOn(user, topic);
    if (user === undefined) return { bytes: 0, bytesOnTopics };
    const row = this.#statements.prepare('SELECT retained_bytes FROM usage WHERE user = ?').get(user);
    return { bytes: Number(row?.['retained_bytes'] ?? 0), bytesOnTopics };
  }

  async *retainedTopics(prefix: string | undefined): AsyncGenerator<readonly string[]> {
    // '0' is the character after '/', so this range has all topics below the prefix.
    const end = prefix === undefined ? '' : 'AND topic < ?';
    const page = this.#statements.prepare(
      `SELECT topic FROM mqtt_retained WHERE topic >= ? AND topic <> ? ${end} ORDER BY topic LIMIT ${retainedPageRows}`,
    );
    const ends = prefix === undefined ? [] : [`${prefix}0`];
    let from = prefix ?? '';
    let last = '';
    for (;;) {
      await this.#pageTurn();
      const rows = page.all(from, last, ...ends) as { topic: string }[];
      yield rows.map(({ topic }) => topic);
      if (rows.length < retainedPageRows) return;
      from = last = rows.at(-1)?.topic ?? '';
    }
  }

  *retained(topics: readonly string[]): Generator<RetainedRow> {
    const columns = 'SELECT topic, payload, qos, rest, user FROM mqtt_retained WHERE topic = ?';
    for (const topic of topics) {
      const row = this.#statements.prepare(columns).get(topic) as unknown as RetainedRow | undefined;
      if (row !== undefined) yield row;
    }
  }

  #ownBytesOn(user: UserKey | undefined, topic: string): number {
    const sql = `SELECT user, ${retainedCostSql} AS bytes FROM mqtt_retained WHERE topic = ?`;
    const row = this.#statements.prepare(sql).get(topic);
    return row !== undefined && row['user'] === (user ?? null) ? Number(row['bytes']) : 0;
  }

  /** At most one page in each turn of the event loop, however many readers there are. */
  #pageTurn(): Promise<void> {
    const turn = this.#lastPage;
    this.#lastPage = turn.then(() => nextTurn());
    return turn;
  }
}

const queuePageRows = 200;
