// Messages in the registry: what people look at, and the outbox. What is done with many is one statement that takes them
// as JSON, so that a thousand a second cost little more than a few.
import { type Compilable, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Filter } from '../../domain/devices/filter.ts';
import {
  actuatorChannel,
  type Message,
  type MessageId,
  type MessageState,
  type NewMessage,
} from '../../domain/notifications/message.ts';
import type {
  Charge,
  Claim,
  DueMessage,
  MessageOutcome,
  MessageQuery,
  MessageStore,
} from '../../domain/notifications/message-store.ts';
import type { UserKey } from '../../domain/users/user.ts';
import { compare, compareNothing, compareTime } from './comparison.ts';
import { Trimming, trimMessages } from './message-rows.ts';
import type { Registry } from './registry.ts';

type Query = RawBuilder<unknown>;

export class SqlMessageStore implements MessageStore {
  readonly #registry: Registry;
  readonly #trimming = new Trimming();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(id: MessageId): Promise<Message | undefined> {
    const row = await this.#messages().where('message.id', '=', id).executeTakeFirst();
    return row && toMessage(row);
  }

  async list(query: MessageQuery & { readonly limit: number; readonly offset: number }): Promise<Message[]> {
    const rows = await this.#messages()
      .where((eb) => eb.and(conditionsOf(query)))
      .orderBy('message.key', 'desc')
      .limit(query.limit)
      .offset(query.offset)
      .execute();
    return rows.map(toMessage);
  }

  async count(query: MessageQuery): Promise<number> {
    const { count } = await this.#registry.read
      .selectFrom('message')
      .select(sql<number>`count(*)`.as('count'))
      .where((eb) => eb.and([shown, ...conditionsOf(query)]))
      .executeTakeFirstOrThrow();
    return count;
  }

  async create(author: UserKey, messages: readonly NewMessage[]): Promise<void> {
    const rows = messages.map((message) => [
      ...[message.id, message.username, message.channel, message.text, message.state, message.reason ?? null],
      ...[message.createdMs, message.state === 'queued' ? null : message.createdMs],
    ]);
    const insert = sql`INSERT INTO message (id, author, username, channel, text, state, reason, created, due, finished)
      SELECT ${field(0)}, ${author}, ${field(1)}, ${field(2)}, ${field(3)}, ${field(4)}, ${field(5)}, ${field(6)},
        ${field(6)}, ${field(7)} FROM json_each(${JSON.stringify(rows)}) AS entry`;
    await this.#write([
      insert,
      ...(this.#trimming.isDue(author, messages.length) ? trimMessages(author, messages[0]?.createdMs ?? 0) : []),
    ]);
  }

  async remove(id: MessageId): Promise<void> {
    await this.#registry.write([this.#registry.read.deleteFrom('message').where('id', '=', id)]);
  }

  async requeue(): Promise<void> {
    const tried = this.#registry.read.selectFrom('message').select('key').where('state', '=', 'sending');
    if ((await tried.limit(1).execute()).length === 0) return;
    await this.#write([sql`UPDATE message SET state = 'queued' WHERE state = 'sending'`]);
  }

  async listDue({ channel, nowMs, limit, without }: Parameters<MessageStore['listDue']>[0]): Promise<DueMessage[]> {
    // The state stands in the text, because only then the index of those that wait is used.
    const query = sql<DueMessage>`SELECT id, author, username, channel, text, attempts FROM message
      WHERE channel = ${channel} AND state = 'queued' AND due <= ${nowMs}
        AND author NOT IN (SELECT value FROM json_each(${JSON.stringify(without)}))
      ORDER BY due, key LIMIT ${limit}`;
    return (await query.execute(this.#registry.read)).rows;
  }

  async nextDueMs(channel: string): Promise<number | undefined> {
    const query = sql<{
      due: number | null;
    }>`SELECT min(due) AS due FROM message WHERE channel = ${channel} AND state = 'queued'`;
    return (await query.execute(this.#registry.read)).rows[0]?.due ?? undefined;
  }

  async settle({ claims, outcomes, atMs }: Parameters<MessageStore['settle']>[0]): Promise<ReadonlySet<MessageId>> {
    const queries: Query[] = [];
    if (outcomes.length > 0) queries.push(...settleOutcomes(outcomes, atMs));
    for (const { refund } of outcomes) if (refund !== undefined) queries.push(...count(refund, -1));
    for (const { charge } of claims) if (charge !== undefined) queries.push(...count(charge, 1));
    const ids = JSON.stringify(claims.map(({ id }) => id));
    const among = sql`(SELECT value FROM json_each(${ids}))`;
    if (claims.length > 0) {
      queries.push(sql`UPDATE message SET state = 'sending', attempts = attempts + 1
        WHERE id IN ${among} AND state = 'queued'`);
    }
    const changes = await this.#write(queries);
    if (changes.at(-1) === claims.length) return new Set(claims.map(({ id }) => id));
    const claimed = sql<Claim>`SELECT id FROM message WHERE id IN ${among} AND state = 'sending'`;
    return new Set((await claimed.execute(this.#registry.read)).rows.map(({ id }) => id));
  }

  async countPaid(day: number, users: readonly UserKey[]): Promise<Map<UserKey, number>> {
    const rows = await this.#registry.read
      .selectFrom('paid_message')
      .select(['user', 'count'])
      .where('day', '=', day)
      .where('user', 'in', users)
      .execute();
    return new Map(rows.map(({ user, count: counted }) => [user, counted]));
  }

  async shareDevice(one: UserKey, other: UserKey): Promise<boolean> {
    const query = sql`SELECT 1 FROM share INNER JOIN device ON device.key = share.device
      WHERE (share.user = ${one} AND device.owner = ${other}) OR (share.user = ${other} AND device.owner = ${one}) LIMIT 1`;
    return (await query.execute(this.#registry.read)).rows.length > 0;
  }

  async #write(queries: readonly Query[]): Promise<readonly number[]> {
    if (queries.length === 0) return [];
    const compilable = (query: Query): Compilable => ({ compile: () => query.compile(this.#registry.read) });
    return this.#registry.write(queries.map(compilable));
  }

  #messages() {
    return this.#registry.read
      .selectFrom('message')
      .innerJoin('user', 'user.key', 'message.author')
      .leftJoin('notification', 'notification.key', 'message.notification')
      .selectAll('message')
      .select(['user.username as author_name', 'notification.id as notification_id'])
      .where(shown);
  }
}

/** A field of an entry of a JSON array of arrays. */
function field(n: number): RawBuilder<unknown> {
  return sql`json_extract(entry.value, ${`$[${n}]`})`;
}

/** What came of tries, in the messages and in the rules that they are of. */
function settleOutcomes(outcomes: readonly MessageOutcome[], atMs: number): Query[] {
  const rows = outcomes.map(({ id, state, reason, code, dueMs }) => [
    id,
    state,
    reason ?? null,
    code ?? null,
    dueMs ?? null,
  ]);
  const entries = sql`(SELECT ${field(0)} AS id, ${field(1)} AS state, ${field(2)} AS reason, ${field(3)} AS code,
    ${field(4)} AS due FROM json_each(${JSON.stringify(rows)}) AS entry)`;
  // The rules first, because a message that was removed meanwhile says nothing of its rule any more.
  const rules = (isSent: SqlBool) => sql`(SELECT message.notification AS key, entries.reason, entries.code
    FROM ${entries} AS entries INNER JOIN message ON message.id = entries.id
    WHERE message.notification IS NOT NULL AND (entries.state = 'sent') = ${isSent ? 1 : 0} GROUP BY message.notification)`;
  return [
    sql`UPDATE notification SET last_success = ${atMs}, last_success_code = told.code
      FROM ${rules(true)} AS told WHERE notification.key = told.key`,
    sql`UPDATE notification SET last_failure = ${atMs}, last_failure_code = told.code, last_failure_reason = told.reason
      FROM ${rules(false)} AS told WHERE notification.key = told.key`,
    sql`UPDATE message SET state = told.state, reason = told.reason, code = told.code, due = coalesce(told.due, message.due),
        finished = CASE told.state WHEN 'queued' THEN NULL ELSE ${atMs} END
      FROM ${entries} AS told WHERE message.id = told.id AND message.state IN ('queued', 'sending')`,
  ];
}

/** Counts a paid message; what was counted days ago is of no use any more. */
function count({ day, users }: Charge, by: 1 | -1): Query[] {
  const rows = JSON.stringify(users);
  return [
    sql`DELETE FROM paid_message WHERE day < ${day - 2}`,
    sql`INSERT INTO paid_message (day, user, count) SELECT ${day}, user.key, 1 FROM user
      WHERE user.key IN (SELECT value FROM json_each(${rows}))
      ON CONFLICT (day, user) DO UPDATE SET count = max(count + ${by}, 0)`,
  ];
}

interface Row {
  readonly id: string;
  readonly author: number;
  readonly author_name: string;
  readonly notification_id: string | null;
  readonly username: string;
  readonly channel: string;
  readonly text: string;
  readonly state: string;
  readonly reason: string | null;
  readonly code: string | null;
  readonly attempts: number;
  readonly created: number;
  readonly finished: number | null;
}

function toMessage(row: Row): Message {
  const { id, username, channel, text, attempts } = row;
  return {
    ...{ id, username, channel, text, attempts },
    // To people one that is being tried still waits.
    state: row.state === 'sending' ? 'queued' : (row.state as MessageState),
    authorKey: row.author,
    author: row.author_name,
    createdMs: row.created,
    ...(row.notification_id === null ? {} : { notification: row.notification_id }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.finished === null ? {} : { finishedMs: row.finished }),
  };
}

const shown = sql<SqlBool>`message.channel <> ${sql.lit(actuatorChannel)}`;

function conditionsOf({ author, filter }: MessageQuery): Expression<SqlBool>[] {
  const own = author === undefined ? [] : [sql<SqlBool>`message.author = ${author}`];
  return [...own, ...filterConditions(filter)];
}

const columns: Record<string, RawBuilder<unknown>> = {
  id: sql`message.id`,
  username: sql`message.username`,
  channel: sql`message.channel`,
  message: sql`message.text`,
  status: sql`CASE message.state WHEN 'sending' THEN 'queued' ELSE message.state END`,
  reason: sql`message.reason`,
  code: sql`message.code`,
  attempts: sql`message.attempts`,
  owner: sql`(SELECT user.username FROM user WHERE user.key = message.author)`,
  notification: sql`(SELECT notification.id FROM notification WHERE notification.key = message.notification)`,
};

function filterConditions(filter: Filter): Expression<SqlBool>[] {
  return filter.map((condition) => {
    const name = condition.path.join('.');
    if (name === 'timestamp') return compareTime(sql`message.created`, condition);
    const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
    return column === undefined ? compareNothing(condition) : compare(column, condition, (value) => value);
  });
}
