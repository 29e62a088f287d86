// Messages in the registry: for people who look at them, and for the outbox. Operations on many messages are one
// statement that takes them as JSON, so that a thousand a second cost little more than a few.
import { type Compilable, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Filter } from '../../../../domain/devices/filter.ts';
import {
  hiddenChannels,
  type Message,
  type MessageId,
  type MessageState,
  type NewMessage,
  statusOfCode,
} from '../../../../domain/notifications/outbox/message.ts';
import type {
  CapCharge,
  Claim,
  DueMessage,
  MessageOutcome,
  MessageQuery,
  MessageStore,
} from '../../../../domain/notifications/outbox/message-store.ts';
import type { Fence } from '../../../../domain/ports/coordination.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { callerOfAuthor } from '../conditions/audience.ts';
import { compareNumber, compareText, compareTime, refuseField } from '../conditions/comparison.ts';
import { inheritedShares } from '../conditions/inherited-shares.ts';
import { withinTime } from '../conditions/time-guard.ts';
import { FixedQuery, parameter } from '../fixed-query.ts';
import type { Registry } from '../registry.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import { Trimming } from './message-rows.ts';

export class SqlMessageStore implements MessageStore {
  readonly #registry: Registry;
  readonly #trimming: Trimming;
  readonly #insert: FixedQuery;
  readonly #due: FixedQuery<DueRow>;
  readonly #nextDue: FixedQuery<{ readonly due: number | null }>;
  readonly #claim: FixedQuery;
  readonly #claimed: FixedQuery<Claim>;
  readonly #outcomes: readonly FixedQuery[];
  readonly #forgetCounts: FixedQuery;
  readonly #count: FixedQuery;
  readonly #countClaimed: FixedQuery;

  constructor(registry: Registry) {
    this.#registry = registry;
    const { dialect } = registry;
    this.#trimming = new Trimming(registry);
    this.#insert = new FixedQuery(registry, insertMessages(dialect));
    this.#due = new FixedQuery(registry, dueMessages(dialect));
    this.#nextDue = new FixedQuery(registry, nextDue);
    this.#claim = new FixedQuery(registry, claimMessages(dialect));
    this.#claimed = new FixedQuery(registry, claimedMessages(dialect));
    this.#outcomes = outcomeQueries(dialect).map((query) => new FixedQuery(registry, query));
    this.#forgetCounts = new FixedQuery(registry, forgetCounts);
    this.#count = new FixedQuery(registry, countPaidMessages(dialect, sql<SqlBool>`true`));
    this.#countClaimed = new FixedQuery(registry, countPaidMessages(dialect, isWaiting));
  }

  async find(id: MessageId): Promise<Message | undefined> {
    const row = await this.#messages().where('message.id', '=', id).executeTakeFirst();
    return row && toMessage(row);
  }

  async list({ after, ...query }: Parameters<MessageStore['list']>[0]): Promise<Message[]> {
    const page = this.#messages()
      .where((eb) => eb.and(conditionsOf(query)))
      .where(after === undefined ? sql<SqlBool>`1 = 1` : sql<SqlBool>`message.key < ${after.key}`)
      .orderBy('message.key', 'desc')
      .limit(query.limit)
      .offset(query.offset);
    const rows = await this.#registry.search(page, callerOfAuthor(query));
    return rows.map(toMessage);
  }

  async count(query: MessageQuery): Promise<number> {
    const counted = this.#registry.read
      .selectFrom('message')
      .select(sql<number>`count(*)`.as('count'))
      .where((eb) => eb.and([shown, ...conditionsOf(query)]));
    const [row] = await this.#registry.search(counted, callerOfAuthor(query));
    return row?.count ?? 0;
  }

  async create(author: UserKey, messages: readonly NewMessage[]): Promise<void> {
    const rows = messages.map((message) => [
      ...[message.id, message.username, message.channel, message.text, message.state, message.reason ?? null],
      ...[message.createdMs, message.state === 'queued' ? null : message.createdMs],
    ]);
    await this.#registry.write([
      this.#insert.with(JSON.stringify(rows), author),
      ...this.#trimming.trim(author, messages),
    ]);
  }

  async remove(id: MessageId): Promise<void> {
    await this.#registry.write([this.#registry.read.deleteFrom('message').where('id', '=', id)]);
  }

  async requeue(fence: Fence): Promise<void> {
    const tried = this.#registry.read.selectFrom('message').select('key').where('state', '=', 'sending');
    if ((await tried.limit(1).execute()).length === 0) return;
    const update = this.#registry.read.updateTable('message').set({ state: 'queued' }).where('state', '=', 'sending');
    await this.#registry.write([update], { fence });
  }

  async hasten(
    { nowMs, laterThanMs }: { readonly nowMs: number; readonly laterThanMs: number },
    fence: Fence,
  ): Promise<void> {
    const isLater = sql<SqlBool>`state = 'queued' AND due > ${laterThanMs}`;
    const later = this.#registry.read.selectFrom('message').select('key').where(isLater);
    if ((await later.limit(1).execute()).length === 0) return;
    const update = this.#registry.read.updateTable('message').set({ due: nowMs }).where(isLater);
    await this.#registry.write([update], { fence });
  }

  async listDue({ channel, nowMs, limit, without }: Parameters<MessageStore['listDue']>[0]): Promise<DueMessage[]> {
    const rows = await this.#due.read(channel, nowMs, JSON.stringify(without), limit);
    return rows.map(({ former, rule, occasion, ...message }) => ({
      ...message,
      ...(occasion === null ? {} : { occasion }),
      ...(rule === null ? {} : { rule }),
      isForFormerUser: former === 1,
    }));
  }

  async nextDueMs(channel: string): Promise<number | undefined> {
    return (await this.#nextDue.read(channel))[0]?.due ?? undefined;
  }

  async countWaiting(): Promise<Map<string, number>> {
    const rows = await this.#registry.read
      .selectFrom('message')
      .select(['channel', sql<number>`count(*)`.as('waiting')])
      .where(sql<SqlBool>`state = 'queued'`)
      .groupBy('channel')
      .execute();
    return new Map(rows.map(({ channel, waiting }) => [channel, waiting]));
  }

  async settle({
    claims,
    outcomes,
    atMs,
    fence,
  }: Parameters<MessageStore['settle']>[0]): Promise<ReadonlySet<MessageId>> {
    const writes: Compilable[] = [];
    if (outcomes.length > 0) {
      const rows = JSON.stringify(outcomes.map(outcomeRow));
      writes.push(...this.#outcomes.map((query) => query.with(rows, atMs)));
    }
    for (const { refund } of outcomes)
      if (refund !== undefined) writes.push(this.#count.with(refund.day, -1, JSON.stringify(refund.users)));
    for (const { id, charge } of claims) if (charge !== undefined) writes.push(...this.#charge(id, charge));
    const ids = JSON.stringify(claims.map(({ id }) => id));
    if (claims.length > 0) writes.push(this.#claim.with(ids));
    const changes = writes.length === 0 ? [] : await this.#registry.write(writes, { isWeighed: false, fence });
    if (claims.length === 0 || changes.at(-1) === claims.length) return new Set(claims.map(({ id }) => id));
    return new Set((await this.#claimed.read(ids)).map(({ id }) => id));
  }

  /** Counts a paid message that still waits, and deletes counts of earlier days. */
  #charge(id: MessageId, { day, users }: CapCharge): Compilable[] {
    return [this.#forgetCounts.with(day - 2), this.#countClaimed.with(day, 1, JSON.stringify(users), id)];
  }

  async countPaid(day: number, users: readonly UserKey[]): Promise<Map<UserKey, number>> {
    if (users.length === 0) return new Map();
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
    if ((await query.execute(this.#registry.read)).rows.length > 0) return true;
    const reaches = (holder: UserKey, owner: UserKey) =>
      sql`SELECT 1 FROM ${inheritedShares(sql<SqlBool>`given."user" = ${holder} AND reached.owner = ${owner}`)} AS inherited`;
    const inherited = sql`SELECT 1 WHERE EXISTS (${reaches(one, other)}) OR EXISTS (${reaches(other, one)})`;
    return (await inherited.execute(this.#registry.read)).rows.length > 0;
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

type DueRow = Omit<DueMessage, 'isForFormerUser' | 'rule' | 'occasion'> & {
  readonly former: number;
  readonly rule: string | null;
  readonly occasion: string | null;
};

const newMessageColumns = {
  ...({ id: 'text', username: 'text', channel: 'text', text: 'text', state: 'text', reason: 'text' } as const),
  ...({ created: 'integer', finished: 'integer' } as const),
};

const insertMessages = ({ rows }: SqlDialect) => sql`INSERT INTO message
    (id, author, username, channel, text, state, reason, created, due, finished)
  SELECT entry.id, ${parameter(1)}, entry.username, entry.channel, entry.text, entry.state, entry.reason, entry.created,
    entry.created, entry.finished FROM ${rows(parameter(0), newMessageColumns)} AS entry ORDER BY entry.position`;

// The state is a literal, because otherwise SQLite does not use the partial index of queued messages.
const dueMessages = ({
  values,
}: SqlDialect) => sql<DueRow>`SELECT id, author, username, channel, text, attempts, former, occasion,
    (SELECT notification.id FROM notification WHERE notification.key = message.notification) AS rule FROM message
  WHERE channel = ${parameter(0)} AND state = 'queued' AND due <= ${parameter(1)}
    AND author NOT IN ${values(parameter(2), 'integer')}
  ORDER BY due, key LIMIT ${parameter(3)}`;

const nextDue = sql<{ readonly due: number | null }>`SELECT min(due) AS due FROM message
  WHERE channel = ${parameter(0)} AND state = 'queued'`;

const claimMessages = ({ values }: SqlDialect) => sql`UPDATE message SET state = 'sending', attempts = attempts + 1
  WHERE id IN ${values(parameter(0), 'text')} AND state = 'queued'`;
const claimedMessages = ({ values }: SqlDialect) => sql<Claim>`SELECT id FROM message
  WHERE id IN ${values(parameter(0), 'text')} AND state = 'sending'`;

function outcomeRow({ id, state, reason, code, dueMs }: MessageOutcome): unknown[] {
  return [id, state, reason ?? null, code ?? null, statusOfCode(code) ?? null, dueMs ?? null];
}

const atMs = parameter(1);
const outcomeColumns = {
  ...({ id: 'text', state: 'text', reason: 'text', code: 'text', status: 'integer', due: 'integer' } as const),
};

/**
 * Writes outcomes to the rules first, then to the messages: a message that was removed meanwhile can no longer name its
 * rule. Of several outcomes of one rule any may be the one that is written.
 */
function outcomeQueries({ rows }: SqlDialect): RawBuilder<unknown>[] {
  const outcome = sql`${rows(parameter(0), outcomeColumns)} AS outcome`;
  const ofRule = sql`${outcome} INNER JOIN message ON message.id = outcome.id WHERE notification.key = message.notification`;
  return [
    sql`UPDATE notification SET last_success = ${atMs}, last_success_code = outcome.status
      FROM ${ofRule} AND outcome.state = 'sent'`,
    sql`UPDATE notification SET last_failure = ${atMs}, last_failure_code = outcome.status, last_failure_reason = outcome.reason
      FROM ${ofRule} AND outcome.state <> 'sent'`,
    sql`UPDATE message SET state = outcome.state, reason = outcome.reason, code = outcome.code,
        due = coalesce(outcome.due, message.due),
        finished = CASE WHEN outcome.state <> 'queued' THEN CAST(${atMs} AS bigint) END
      FROM ${outcome} WHERE message.id = outcome.id AND message.state IN ('queued', 'sending')`,
  ];
}

const forgetCounts = sql`DELETE FROM paid_message WHERE day < ${parameter(0)}`;
/** A message that was removed since it was listed is not sent, and so not counted. */
const isWaiting = sql<SqlBool>`EXISTS (SELECT 1 FROM message WHERE id = ${parameter(3)} AND state = 'queued')`;
const countPaidMessages = (
  { greater, values }: SqlDialect,
  condition: RawBuilder<SqlBool>,
) => sql`INSERT INTO paid_message (day, "user", count)
  SELECT ${parameter(0)}, "user".key, ${greater(parameter(1), sql`0`)} FROM "user"
    WHERE "user".key IN ${values(parameter(2), 'integer')} AND ${condition}
  ON CONFLICT (day, "user") DO UPDATE SET count = ${greater(sql`paid_message.count + ${parameter(1)}`, sql`0`)}`;

interface Row {
  readonly key: number;
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
  const { id, key, username, channel, text, attempts } = row;
  return {
    ...{ id, key, username, channel, text, attempts },
    // A message that is being sent is shown as still waiting.
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

const shown = sql<SqlBool>`message.channel NOT IN (${sql.join(hiddenChannels.map((channel) => sql.lit(channel)))})`;

function conditionsOf({ author, filter }: MessageQuery): Expression<SqlBool>[] {
  const own = author === undefined ? [] : [sql<SqlBool>`message.author = ${author}`];
  return [withinTime('message'), ...own, ...filterConditions(filter)];
}

const columns: Record<string, RawBuilder<unknown>> = {
  id: sql`message.id`,
  username: sql`message.username`,
  channel: sql`message.channel`,
  message: sql`message.text`,
  status: sql`CASE message.state WHEN 'sending' THEN 'queued' ELSE message.state END`,
  reason: sql`message.reason`,
  code: sql`message.code`,
  owner: sql`(SELECT "user".username FROM "user" WHERE "user".key = message.author)`,
  notification: sql`(SELECT notification.id FROM notification WHERE notification.key = message.notification)`,
};

/** The fields of a message that can be filtered by, as messages name them. */
const fields = [...Object.keys(columns), 'timestamp', 'attempts'].join(', ');

function filterConditions(filter: Filter): Expression<SqlBool>[] {
  return filter.map((condition) => {
    const name = condition.path.join('.');
    if (name === 'timestamp') return compareTime(sql`message.created`, condition);
    if (name === 'attempts') return compareNumber(sql`message.attempts`, condition);
    const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
    return column === undefined ? refuseField(condition, fields) : compareText(column, condition);
  });
}
