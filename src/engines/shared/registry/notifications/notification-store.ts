// Notifications in the registry.
import { type Compilable, type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { Condition } from '../../../../domain/devices/filter.ts';
import type {
  JsonObject,
  Notification,
  NotificationChange,
  NotificationFields,
  NotificationId,
  Status,
} from '../../../../domain/notifications/rules/notification.ts';
import type {
  NotificationQuery,
  NotificationStore,
  RuleStart,
} from '../../../../domain/notifications/rules/notification-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { callerOfAuthor } from '../conditions/audience.ts';
import { compareJson, compareNumber, compareText, compareTime, refuseField } from '../conditions/comparison.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import type { NotificationTable } from '../tables.ts';
import { changeCount, countChange } from './alarm-rows.ts';

export class SqlNotificationStore implements NotificationStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(id: NotificationId): Promise<Notification | undefined> {
    const row = await this.#notifications().where('notification.id', '=', id).executeTakeFirst();
    return row && toNotification(row);
  }

  async list({ after = 0, ...query }: Parameters<NotificationStore['list']>[0]): Promise<Notification[]> {
    const page = this.#notifications()
      .where((eb) => eb.and(conditionsOf(query, this.#registry.dialect)))
      .where('notification.key', '>', after)
      .orderBy('notification.key')
      .limit(query.limit)
      .offset(query.offset);
    const rows = await this.#registry.search(page, callerOfAuthor(query));
    return rows.map(toNotification);
  }

  async count(query: NotificationQuery): Promise<number> {
    const counted = this.#registry.read
      .selectFrom('notification')
      .select(sql<number>`count(*)`.as('count'))
      .where((eb) => eb.and(conditionsOf(query, this.#registry.dialect)));
    const [row] = await this.#registry.search(counted, callerOfAuthor(query));
    return row?.count ?? 0;
  }

  async create(
    id: NotificationId,
    author: UserKey,
    fields: NotificationFields,
    { afterSeq, sinceMs }: RuleStart,
  ): Promise<void> {
    const { condition, action, status, throttling, ...rest } = columnsOf(fields) as Omit<
      Selectable<NotificationTable>,
      'key'
    >;
    const from = { after_seq: afterSeq, watched_since: sinceMs };
    await this.#registry.write([
      this.#registry.read
        .insertInto('notification')
        .values({ ...rest, id, author, condition, action, status, throttling, ...from }),
    ]);
  }

  async update(
    id: NotificationId,
    change: NotificationChange,
    { afterSeq, sinceMs, resetsState }: RuleStart & { readonly resetsState: boolean },
  ): Promise<void> {
    const columns = columnsOf(change);
    if (Object.keys(columns).length === 0) return;
    const db = this.#registry.read;
    const key = db.selectFrom('notification').select('key').where('id', '=', id);
    const after = {
      after_seq: this.#registry.dialect.greater(sql`after_seq`, sql`${afterSeq}`),
      ...(resetsState ? { watched_since: sinceMs } : {}),
    };
    await this.#registry.write([
      db
        .updateTable('notification')
        .set({ ...columns, ...after })
        .where('id', '=', id),
      ...(resetsState ? [db.deleteFrom('notification_memory').where('notification', '=', key)] : []),
      ...(resetsState || change.status === 'inactive' ? this.#endAlarms(id, sinceMs) : []),
    ]);
  }

  async remove(id: NotificationId): Promise<void> {
    await this.#registry.write([this.#registry.read.deleteFrom('notification').where('id', '=', id)]);
  }

  /** What the rule said in its former form, or before it was stopped, is no longer known to hold. */
  #endAlarms(id: NotificationId, atMs: number): Compilable[] {
    const end = sql`UPDATE alarm SET cleared = ${atMs}, changed = ${changeCount}
      WHERE kind = 'rule' AND cleared IS NULL AND notification = (SELECT key FROM notification WHERE id = ${id})`;
    return [countChange, end].map((statement) => ({ compile: () => statement.compile(this.#registry.read) }));
  }

  #notifications() {
    return this.#registry.read
      .selectFrom('notification')
      .innerJoin('user', 'user.key', 'notification.author')
      .selectAll('notification')
      .select('user.username as author_name');
  }
}

type NotificationColumns = Partial<
  Pick<
    Selectable<NotificationTable>,
    | 'description'
    | 'condition'
    | 'action'
    | 'status'
    | 'throttling'
    | 'expires'
    | 'hysteresis'
    | 'hold'
    | 'silence'
    | 'recovery_message'
  >
>;

/** The columns that the change names; null removes a field. */
function columnsOf(fields: NotificationChange): NotificationColumns {
  const { description, condition, action, status, throttlingS, expiresMs, hysteresis, forS, silenceS } = fields;
  const columns = {
    description,
    condition: condition && JSON.stringify(condition),
    action: action && JSON.stringify(action),
    status,
    throttling: throttlingS,
    expires: expiresMs,
    hysteresis,
    hold: forS,
    silence: silenceS,
    recovery_message: fields.recoveryMessage,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as NotificationColumns;
}

function toNotification(row: Selectable<NotificationTable> & { readonly author_name: string }): Notification {
  const optional = {
    description: row.description,
    expiresMs: row.expires,
    hysteresis: row.hysteresis,
    forS: row.hold,
    silenceS: row.silence,
    recoveryMessage: row.recovery_message,
    lastNotificationMs: row.last_notification,
    lastSuccessMs: row.last_success,
    lastSuccessCode: row.last_success_code,
    lastFailureMs: row.last_failure,
    lastFailureCode: row.last_failure_code,
    lastFailureReason: row.last_failure_reason,
  };
  return {
    key: row.key,
    id: row.id,
    authorKey: row.author,
    author: row.author_name,
    condition: JSON.parse(row.condition) as JsonObject,
    action: JSON.parse(row.action) as JsonObject,
    status: row.status as Status,
    throttlingS: row.throttling,
    timesSent: row.times_sent,
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)) as Partial<Notification>),
  };
}

function conditionsOf({ author, filter }: NotificationQuery, dialect: SqlDialect): Expression<SqlBool>[] {
  const own = author === undefined ? [] : [sql<SqlBool>`notification.author = ${author}`];
  return [withinTime('notification'), ...own, ...filter.map((condition) => conditionOf(condition, dialect))];
}

const texts: Record<string, RawBuilder<unknown>> = {
  id: sql`notification.id`,
  description: sql`notification.description`,
  status: sql`notification.status`,
  hysteresis: sql`notification.hysteresis`,
  recovery_message: sql`notification.recovery_message`,
  owner: sql`(SELECT "user".username FROM "user" WHERE "user".key = notification.author)`,
  last_failure_reason: sql`notification.last_failure_reason`,
};

const numbers: Record<string, RawBuilder<unknown>> = {
  last_success_code: sql`notification.last_success_code`,
  last_failure_code: sql`notification.last_failure_code`,
  throttling: sql`notification.throttling`,
  for: sql`notification.hold`,
  silence: sql`notification.silence`,
  times_sent: sql`notification.times_sent`,
};

const times: Record<string, RawBuilder<unknown>> = {
  expires: sql`notification.expires`,
  last_notification: sql`notification.last_notification`,
  last_notif: sql`notification.last_notification`,
  last_success: sql`notification.last_success`,
  last_failure: sql`notification.last_failure`,
};

const lists = new Set(['condition.devices', 'condition.sensors', 'action.usernames', 'action.channels']);

/** The fields of a notification that can be filtered by, as messages name them. */
const fields = `${[texts, numbers, times].flatMap((columns) => Object.keys(columns)).join(', ')}, and those of its condition and its \`action\``;

function conditionOf(condition: Condition, dialect: SqlDialect): Expression<SqlBool> {
  const [field = '', ...rest] = condition.path;
  const columnOf = (columns: Record<string, RawBuilder<unknown>>) =>
    rest.length === 0 && Object.hasOwn(columns, field) ? columns[field] : undefined;
  const text = columnOf(texts);
  if (text !== undefined) return compareText(text, condition);
  const number = columnOf(numbers);
  if (number !== undefined) return compareNumber(number, condition);
  const time = columnOf(times);
  if (time !== undefined) {
    const met = compareTime(time, condition);
    return condition.operator === '!=' ? sql<SqlBool>`(${time} IS NULL OR ${met})` : met;
  }
  if (lists.has(condition.path.join('.'))) return compareEntries(condition, dialect);
  if ((field !== 'condition' && field !== 'action') || rest.length === 0) return refuseField(condition, fields);
  return compareJson(dialect.jsonAt(sql.ref(`notification.${field}`), rest), condition);
}

/** True when an entry of the list meets the condition; for `!=`, when no entry equals the values. */
function compareEntries({ path, operator, values }: Condition, dialect: SqlDialect): Expression<SqlBool> {
  const [field = '', list = ''] = path;
  const isNegated = operator === '!=';
  const { from, entry } = dialect.listEntries(sql.ref(`notification.${field}`), list);
  const met = compareJson(entry, { path, operator: isNegated ? '==' : operator, values });
  const exists = sql<SqlBool>`EXISTS (SELECT 1 FROM ${from} WHERE ${met})`;
  return isNegated ? sql<SqlBool>`NOT ${exists}` : exists;
}
