// Reads MQTT tables over the pool of short reads. Messages are read in pages bounded by their bytes; what is asked for each
// retained message is joined into one query for all that wait.
import { limits } from '../../../config/limits.ts';
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
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { unpacked } from './parameter-arrays.ts';

type Database = Pick<PostgresDatabase, 'query'>;

interface Question {
  readonly user: UserKey | undefined;
  readonly topics: readonly string[];
  readonly resolve: (use: RetainedUse) => void;
  readonly reject: (error: unknown) => void;
}

interface SizedTopic {
  readonly topic: string;
  readonly bytes: number;
}

export class PostgresMqttReads implements MqttReads {
  readonly #database: Database;
  #node: number;
  #questions: Question[] = [];
  #isAsking = false;
  /** Resolves when the next page of topics may be read. */
  #lastPage: Promise<unknown> = Promise.resolve();

  constructor(database: Database, node: number) {
    this.#database = database;
    this.#node = node;
  }

  /** From now on those of another node. */
  serve(node: number): void {
    this.#node = node;
  }

  async lastMessage(): Promise<number> {
    const [row] = await this.#database.query<{ n: number }>(
      `SELECT greatest(0, (SELECT max(id) FROM mqtt_message WHERE node = $1),
        (SELECT max(message) FROM mqtt_queue WHERE node = $1)) AS n`,
      [this.#node],
    );
    return row?.n ?? 0;
  }

  async queued(session: number, message: number): Promise<QueuedRow | undefined> {
    const [row] = await this.#database.query<QueueRow>(`${queueColumns} AND message = $2`, [session, message]);
    return row && { ...unpacked(row), isReleased: row.released === 1 };
  }

  async *queue(session: number, upTo: number): AsyncGenerator<QueuedRow> {
    let after = -1;
    for (;;) {
      // The first row comes whatever it weighs.
      const rows = await this.#database.query<QueueRow>(
        `${queueColumns} AND message > $2 AND message <= (
          SELECT max(message) FROM (
            SELECT message, sum(bytes) OVER (ORDER BY message) - bytes AS before FROM (
              SELECT message, bytes FROM mqtt_queue WHERE session = $1 AND message > $2 AND message <= $3
              ORDER BY message LIMIT ${queuePageRows}) AS next) AS page
          WHERE before <= ${pageBytesMax}) ORDER BY message`,
        [session, after, upTo],
      );
      for (const row of rows) yield { ...unpacked(row), isReleased: row.released === 1 };
      const last = rows.at(-1);
      if (last === undefined || last.message >= upTo) return;
      after = last.message;
    }
  }

  async incoming(session: number, packetId: number): Promise<IncomingRow | undefined> {
    const [row] = await this.#database.query<PacketRow & { readonly retain: number }>(
      'SELECT topic, payload, rest, qos, retain FROM mqtt_incoming WHERE session = $1 AND packet_id = $2',
      [session, packetId],
    );
    return row && { ...unpacked(row), isRetain: row.retain === 1 };
  }

  async willClients(brokerId: string): Promise<readonly string[]> {
    const sql = 'SELECT client_id AS id FROM mqtt_will WHERE broker_id = $1';
    return (await this.#database.query<{ id: string }>(sql, [brokerId])).map(({ id }) => id);
  }

  async will(clientId: string, brokerId: string): Promise<WillRow | undefined> {
    const [row] = await this.#database.query<PacketRow & { readonly retain: number; readonly user: UserKey | null }>(
      `SELECT topic, payload, rest, qos, retain, "user" FROM mqtt_will WHERE client_id = $1 AND broker_id = $2`,
      [clientId, brokerId],
    );
    return row && { ...unpacked(row), clientId, brokerId, isRetain: row.retain === 1 };
  }

  /** Those of brokers that are served are left out. Of several servers the one with the first node sees the others'. */
  wills(): Promise<readonly Pick<WillRow, 'clientId' | 'brokerId'>[]> {
    return this.#database.query(
      `SELECT client_id AS "clientId", broker_id AS "brokerId" FROM mqtt_will
        WHERE broker_id NOT IN (SELECT broker_id FROM mqtt_node WHERE node <> $1 AND ${isServed})
          AND NOT EXISTS (SELECT 1 FROM mqtt_node WHERE node < $1 AND ${isServed})`,
      [this.#node],
    );
  }

  async retainedCount(): Promise<number> {
    return (await this.#database.query<{ n: number }>('SELECT count(*) AS n FROM mqtt_retained'))[0]?.n ?? 0;
  }

  retainedUse(user: UserKey | undefined, topics: readonly string[]): Promise<RetainedUse> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ user, topics, resolve, reject });
      if (this.#isAsking) return;
      this.#isAsking = true;
      setImmediate(() => void this.#answerAll());
    });
  }

  async *retainedTopics(prefix: string | undefined): AsyncGenerator<readonly string[]> {
    // '0' is the character after '/', so this range has all topics below the prefix.
    const end = prefix === undefined ? '' : 'AND topic < $3';
    const sql = `SELECT topic FROM mqtt_retained WHERE topic >= $1 AND topic <> $2 ${end}
      ORDER BY topic LIMIT ${retainedPageRows}`;
    const ends = prefix === undefined ? [] : [`${prefix}0`];
    let from = prefix ?? '';
    let last = '';
    for (;;) {
      const parameters = [from, last, ...ends];
      const rows = await this.#nextPage(() => this.#database.query<{ topic: string }>(sql, parameters));
      yield rows.map(({ topic }) => topic);
      if (rows.length < retainedPageRows) return;
      from = last = rows.at(-1)?.topic ?? '';
    }
  }

  async *retained(topics: readonly string[]): AsyncGenerator<RetainedRow> {
    if (topics.length === 0) return;
    const sizes = await this.#database.query<SizedTopic>(
      `SELECT topic, ${retainedCostSql} AS bytes FROM mqtt_retained WHERE topic = ANY ($1::text[])`,
      [topics],
    );
    const byTopic = new Map(sizes.map(({ topic, bytes }) => [topic, bytes]));
    for (const some of pagesOf(topics, byTopic)) {
      const rows = await this.#database.query<RetainedRow>(
        'SELECT topic, payload, qos, rest, "user" FROM mqtt_retained WHERE topic = ANY ($1::text[])',
        [some],
      );
      const found = new Map(rows.map((row) => [row.topic, row]));
      for (const topic of some) {
        const row = found.get(topic);
        if (row !== undefined) yield unpacked(row);
      }
    }
  }

  /** One query at a time, so that answers come in the order of the questions. */
  async #answerAll(): Promise<void> {
    while (this.#questions.length > 0) {
      const questions = this.#questions.splice(0, questionsAtOnce);
      try {
        const answers = await this.#answersTo(questions);
        for (const [i, { resolve }] of questions.entries()) resolve(answers[i] ?? { bytes: 0, bytesOnTopics: 0 });
      } catch (error) {
        for (const { reject } of questions) reject(error);
      }
    }
    this.#isAsking = false;
  }

  async #answersTo(questions: readonly Question[]): Promise<RetainedUse[]> {
    const users = [...new Set(questions.flatMap(({ user }) => user ?? []))];
    const topics = [...new Set(questions.flatMap((question) => question.topics))];
    if (users.length + topics.length === 0) return [];
    const rows = await this.#database.query<{ topic: string | null; user: UserKey | null; bytes: number }>(
      `SELECT NULL AS topic, "user", retained_bytes AS bytes FROM usage WHERE "user" = ANY ($1::bigint[])
        UNION ALL SELECT topic, "user", ${retainedCostSql} FROM mqtt_retained WHERE topic = ANY ($2::text[])`,
      [users, topics],
    );
    const byUser = new Map<UserKey | null, number>();
    const byTopic = new Map<string, { readonly user: UserKey | null; readonly bytes: number }>();
    for (const { topic, user, bytes } of rows) {
      if (topic === null) byUser.set(user, bytes);
      else byTopic.set(topic, { user, bytes });
    }
    return questions.map(({ user, topics: asked }) => {
      let bytesOnTopics = 0;
      for (const topic of asked) {
        const found = byTopic.get(topic);
        if (found !== undefined && found.user === (user ?? null)) bytesOnTopics += found.bytes;
      }
      return { bytes: user === undefined ? 0 : (byUser.get(user) ?? 0), bytesOnTopics };
    });
  }

  /** At most one page at a time, however many readers there are: they have one of the few connections. */
  #nextPage<Rows>(read: () => Promise<Rows>): Promise<Rows> {
    const page = this.#lastPage.then(read);
    this.#lastPage = page.catch(() => {});
    return page;
  }
}

const isServed = 'EXISTS (SELECT 1 FROM node WHERE node.id = mqtt_node.holder)';

interface QueueRow extends PacketRow {
  readonly message: number;
  readonly released: number;
}

const queueColumns = `SELECT topic, payload, rest, qos, released, message FROM mqtt_queue
  JOIN mqtt_message ON mqtt_message.node = mqtt_queue.node AND mqtt_message.id = mqtt_queue.message WHERE session = $1`;

/** Questions about retained messages in one query. */
const questionsAtOnce = 2_000;
const queuePageRows = 200;
/** Bytes of messages that a reader has in memory at a time, without the last. */
const pageBytesMax = limits.smallUnitBytesMax;

/** Topics in groups whose messages have few bytes. Topics without a message are left out. */
function* pagesOf(topics: readonly string[], bytesOf: ReadonlyMap<string, number>): Generator<string[]> {
  let some: string[] = [];
  let sum = 0;
  for (const topic of topics) {
    const bytes = bytesOf.get(topic);
    if (bytes === undefined) continue;
    if (some.length > 0 && (sum + bytes > pageBytesMax || some.length === queuePageRows)) {
      yield some;
      some = [];
      sum = 0;
    }
    some.push(topic);
    sum += bytes;
  }
  if (some.length > 0) yield some;
}
