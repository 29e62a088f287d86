// What the watcher of rules stores in the registry. The firings of one unit are one statement for all messages and one
// for all rules; both change nothing where a rule has changed since its first firing was decided.
import { type Compilable, sql } from 'kysely';
import type { DeviceId } from '../../../../domain/devices/device.ts';
import type { FormerDeviceId } from '../../../../domain/devices/former-ids/former-id.ts';
import type { SensorKey } from '../../../../domain/devices/sensor.ts';
import { recordedStatus } from '../../../../domain/notifications/outbox/message.ts';
import type { NotificationFields, NotificationId } from '../../../../domain/notifications/rules/notification.ts';
import { textsOf } from '../../../../domain/notifications/rules/rule.ts';
import type { RuleExtras } from '../../../../domain/notifications/rules/rule-changes.ts';
import type {
  OpenRuleAlarm,
  RecordedFiring,
  RuleKey,
  WatchedRule,
  WatchRecord,
  WatchStore,
} from '../../../../domain/notifications/watching/watch-store.ts';
import type { Fence } from '../../../../domain/ports/coordination.ts';
import { presentIdsOf } from '../devices/former-id-store.ts';
import { FixedQuery, parameter } from '../fixed-query.ts';
import type { Registry } from '../registry.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import { AlarmRows } from './alarm-rows.ts';
import { Trimming } from './message-rows.ts';

interface Row {
  readonly key: number;
  readonly id: string;
  readonly author: number;
  readonly condition: string;
  readonly action: string;
  readonly throttling: number;
  readonly expires: number | null;
  readonly hysteresis: string | null;
  readonly hold: number | null;
  readonly silence: number | null;
  readonly recovery_message: string | null;
  readonly times_sent: number;
  readonly last_notification: number | null;
  readonly after_seq: number;
  readonly watched_since: number;
}

export class SqlWatchStore implements WatchStore {
  readonly #registry: Registry;
  readonly #trimming: Trimming;
  readonly #alarms: AlarmRows;
  readonly #insertMessages: FixedQuery;
  readonly #updateRules: FixedQuery;
  readonly #recorded: FixedQuery<{ readonly key: RuleKey }>;
  readonly #putMemories: FixedQuery;
  readonly #forgetFormer: FixedQuery;
  readonly #putFollowed: FixedQuery;

  constructor(registry: Registry) {
    this.#registry = registry;
    const { dialect } = registry;
    this.#trimming = new Trimming(registry);
    this.#alarms = new AlarmRows(registry);
    this.#insertMessages = new FixedQuery(registry, insertMessages(dialect));
    this.#updateRules = new FixedQuery(registry, updateRules(dialect));
    this.#recorded = new FixedQuery(registry, recordedRules(dialect));
    this.#putMemories = new FixedQuery(registry, putMemories(dialect));
    this.#forgetFormer = new FixedQuery(registry, forgetFormerMemories(dialect));
    this.#putFollowed = new FixedQuery(registry, putFollowed(dialect));
  }

  async listRules({ after, limit }: { readonly after: number; readonly limit: number }): Promise<WatchedRule[]> {
    const rows = await this.#rules().where('key', '>', after).orderBy('key').limit(limit).execute();
    return this.#withMemories(rows);
  }

  async findRule(id: NotificationId): Promise<WatchedRule | undefined> {
    const [rule] = await this.#withMemories(await this.#rules().where('id', '=', id).execute());
    return rule;
  }

  async findRules(ids: readonly NotificationId[]): Promise<WatchedRule[]> {
    const among = this.#registry.dialect.values(sql`${JSON.stringify(ids)}`, 'text');
    return this.#withMemories(await this.#rules().where('id', 'in', sql<string>`${among}`).execute());
  }

  async listOpenAlarms({ after, limit, rules }: Parameters<WatchStore['listOpenAlarms']>[0]): Promise<OpenRuleAlarm[]> {
    const ofRules = rules === undefined ? sql`` : sql`AND notification.key IN ${this.#keys(rules)}`;
    const open = sql<OpenRuleAlarm>`SELECT alarm.key, notification.key AS rule, notification.author, alarm.device FROM alarm
      INNER JOIN notification ON notification.key = alarm.notification
      WHERE alarm.kind = 'rule' AND alarm.cleared IS NULL AND alarm.device IS NOT NULL AND alarm.key > ${after} ${ofRules}
      ORDER BY alarm.key LIMIT ${limit}`;
    return (await open.execute(this.#registry.read)).rows;
  }

  async sensorRefsOf(sensors: readonly SensorKey[]): ReturnType<WatchStore['sensorRefsOf']> {
    const rows = await this.#registry.read
      .selectFrom('sensor')
      .innerJoin('device', 'device.key', 'sensor.device')
      .leftJoin('former_sensor_id as former', 'former.sensor', 'sensor.key')
      .select(['sensor.key', 'sensor.id as sensor', 'device.id as device', 'former.sensor as other'])
      .where('sensor.key', 'in', this.#keys(sensors))
      .execute();
    return new Map(
      rows.map(({ key, device, sensor, other }) => [key, { device, sensor, hasOtherNames: other !== null }]),
    );
  }

  async record(
    { firings, memories, alarms = [], followedSeq }: WatchRecord,
    fence: Fence,
  ): Promise<readonly RecordedFiring[]> {
    const writes: Compilable[] = [];
    const rules = summarise(firings);
    // Messages first: the second statement changes the rules, and the first one's condition would no longer hold.
    const messages = firings.flatMap((firing) => messageRows(firing, rules.get(firing.rule)?.before ?? 0));
    if (messages.length > 0) writes.push(this.#insertMessages.with(JSON.stringify(messages)));
    const ruleUpdate = rules.size === 0 ? -1 : writes.push(this.#updateRules.with(rulesJson(rules))) - 1;
    if (memories.length > 0) {
      const rows = memories.map(({ rule, device, memory, watchedSinceMs }) => [rule, device, memory, watchedSinceMs]);
      const json = JSON.stringify(rows);
      writes.push(this.#putMemories.with(json), this.#forgetFormer.with(json));
    }
    for (const { author, messages: made } of firings) writes.push(...this.#trimming.trim(author, made));
    writes.push(...this.#alarms.statements(alarms));
    if (followedSeq !== undefined) writes.push(this.#putFollowed.with(followedSeq));
    const changes = await this.#registry.write(writes, { isWeighed: false, fence });
    if (ruleUpdate < 0 || changes[ruleUpdate] === rules.size) return [];
    const recorded = await this.#recorded.read(rulesJson(rules));
    const keys = new Set(recorded.map(({ key }) => key));
    return firings.filter(({ rule }) => !keys.has(rule));
  }

  /** As one parameter, however many there are. */
  #keys(keys: readonly number[]) {
    return sql<number>`${this.#registry.dialect.values(sql`${JSON.stringify(keys)}`, 'integer')}`;
  }

  #rules() {
    return this.#registry.read
      .selectFrom('notification')
      .select(['key', 'id', 'author', 'condition', 'action', 'throttling', 'expires', 'hysteresis', 'hold', 'silence'])
      .select(['recovery_message', 'times_sent', 'last_notification', 'after_seq', 'watched_since'])
      .where('status', '=', 'active');
  }

  async #withMemories(rows: readonly Row[]): Promise<WatchedRule[]> {
    const remembering = rows.filter(hasMemory).map(({ key }) => key);
    const kept = await this.#registry.read
      .selectFrom('notification_memory')
      .selectAll()
      .where('notification', 'in', this.#keys(remembering))
      .execute();
    const memories = Map.groupBy(kept, ({ notification }) => notification);
    const rules = rows.map((row) => ({ ...toRule(row), memories: memories.get(row.key) ?? [] }));
    const named = new Set(rules.flatMap(({ devices }) => devices));
    for (const { device } of kept) named.add(device);
    const present = await presentIdsOf(this.#registry, [...named]);
    return present.size === 0 ? rules : rules.map((rule) => withPresentIds(rule, present));
  }
}

/**
 * Rules of others than a device's owner go on naming an id that it had before: they watch the device, as long as nobody else has
 * taken that id. Where a rule remembers something of several ids of a device, the latest counts.
 */
function withPresentIds(rule: WatchedRule, present: ReadonlyMap<DeviceId, FormerDeviceId>): WatchedRule {
  const idOf = (device: DeviceId) => present.get(device)?.id ?? device;
  const devices = [...new Set(rule.devices.map(idOf))];
  const sinceOf = ({ device }: { readonly device: DeviceId }) =>
    present.get(device)?.untilMs ?? Number.POSITIVE_INFINITY;
  const latest = new Map<DeviceId, WatchedRule['memories'][number]>();
  for (const memory of rule.memories.toSorted((one, other) => sinceOf(one) - sinceOf(other)))
    latest.set(idOf(memory.device), { ...memory, device: idOf(memory.device) });
  const isSame = rule.devices.every((device) => !present.has(device));
  const conditionJson = isSame
    ? rule.conditionJson
    : JSON.stringify({ ...(JSON.parse(rule.conditionJson) as object), devices });
  return { ...rule, devices, conditionJson, memories: [...latest.values()] };
}

function hasMemory({
  hysteresis,
  hold,
  silence,
  recovery_message,
}: Pick<Row, 'hysteresis' | 'hold' | 'silence' | 'recovery_message'>): boolean {
  return hysteresis !== null || hold !== null || silence !== null || recovery_message !== null;
}

function toRule(row: Row): Omit<WatchedRule, 'memories'> {
  const condition = JSON.parse(row.condition) as NotificationFields['condition'];
  return {
    key: row.key,
    id: row.id,
    author: row.author,
    devices: textsOf(condition['devices']) as readonly DeviceId[],
    hasTimes: row.hold !== null || row.silence !== null,
    conditionJson: row.condition,
    actionJson: row.action,
    throttlingS: row.throttling,
    expiresMs: row.expires ?? undefined,
    extras: extrasOf(row),
    timesSent: row.times_sent,
    lastFiredMs: row.last_notification ?? undefined,
    afterSeq: row.after_seq,
    watchedSinceMs: row.watched_since,
  };
}

const noExtras: RuleExtras = {};

function extrasOf({ hysteresis, hold, silence, recovery_message }: Row): RuleExtras {
  if (!hasMemory({ hysteresis, hold, silence, recovery_message })) return noExtras;
  return {
    ...(hysteresis === null ? {} : { hysteresis }),
    ...(hold === null ? {} : { forS: hold }),
    ...(silence === null ? {} : { silenceS: silence }),
    ...(recovery_message === null ? {} : { recoveryMessage: recovery_message }),
  };
}

/** What the firings of one unit change in a rule. */
interface RuleSummary {
  /** `times_sent` when its first firing was decided. */
  readonly before: number;
  fired: number;
  lastMs?: number;
  seq: number;
  /** Set where a firing needs no message to be sent: the outbox will not report its success. */
  successMs?: number;
  failureMs?: number;
  failureReason?: string;
}

/**
 * Summarises firings by rule. A recovery does not change the rule, but is recorded only where the rule has not changed.
 */
function summarise(firings: readonly RecordedFiring[]): Map<RuleKey, RuleSummary> {
  const rules = new Map<RuleKey, RuleSummary>();
  for (const { rule, timesSent, isCounted, atMs, seq, messages } of firings) {
    const summary = rules.get(rule) ?? { before: timesSent, fired: 0, seq: 0 };
    rules.set(rule, summary);
    if (!isCounted) continue;
    summary.fired += 1;
    summary.lastMs = atMs;
    summary.seq = Math.max(summary.seq, seq ?? 0);
    if (messages.some(({ state }) => state === 'sent')) summary.successMs = atMs;
    const reason = messages.find(({ state }) => state === 'failed' || state === 'undelivered')?.reason;
    if (reason === undefined) continue;
    summary.failureMs = atMs;
    summary.failureReason = reason;
  }
  return rules;
}

function rulesJson(rules: ReadonlyMap<RuleKey, RuleSummary>): string {
  const rows = [...rules].map(([key, { before, fired, seq, ...outcome }]) => {
    const { lastMs = null, successMs = null, failureMs = null, failureReason = null } = outcome;
    return [key, before, fired, lastMs, seq, successMs, failureMs, failureReason];
  });
  return JSON.stringify(rows);
}

function messageRows({ rule, seq, messages }: RecordedFiring, before: number): unknown[] {
  return messages.map(({ id, username, channel, text, state, reason, createdMs, occasion }) => {
    const finishedMs = state === 'queued' ? null : createdMs;
    return [
      rule,
      before,
      id,
      seq ?? null,
      username,
      channel,
      text,
      state,
      reason ?? null,
      createdMs,
      finishedMs,
      occasion ?? null,
    ];
  });
}

const messageColumns = {
  ...({ rule: 'integer', before: 'integer', id: 'text', seq: 'integer', username: 'text', channel: 'text' } as const),
  ...({
    text: 'text',
    state: 'text',
    reason: 'text',
    created: 'integer',
    finished: 'integer',
    occasion: 'text',
  } as const),
};

/** Only for rules that have not changed since the decision. In the order of the entries, which SQLite keeps in a CROSS JOIN. */
const insertMessages = ({ rows }: SqlDialect) => sql`INSERT INTO message
    (author, notification, id, seq, username, channel, text, state, reason, created, due, finished, occasion)
  SELECT notification.author, notification.key, entry.id, entry.seq, entry.username, entry.channel, entry.text,
    entry.state, entry.reason, entry.created, entry.created, entry.finished, entry.occasion
  FROM ${rows(parameter(0), messageColumns)} AS entry CROSS JOIN notification
  WHERE notification.key = entry.rule AND notification.status = 'active' AND notification.times_sent = entry.before
  ORDER BY entry.position`;

const ruleColumns = {
  ...({ key: 'integer', before: 'integer', fired: 'integer', last: 'integer', seq: 'integer' } as const),
  ...({ success: 'integer', failure: 'integer', reason: 'text' } as const),
};

const updateRules = ({ rows, greater }: SqlDialect) => sql`UPDATE notification SET
    times_sent = times_sent + summary.fired,
    last_notification = coalesce(summary.last, last_notification),
    after_seq = ${greater(sql`after_seq`, sql`summary.seq`)},
    last_success = coalesce(summary.success, last_success),
    last_success_code = CASE WHEN summary.success IS NULL THEN last_success_code ELSE ${sql.lit(recordedStatus)} END,
    last_failure = coalesce(summary.failure, last_failure),
    last_failure_code = CASE WHEN summary.failure IS NULL THEN last_failure_code END,
    last_failure_reason = coalesce(summary.reason, last_failure_reason)
  FROM ${rows(parameter(0), ruleColumns)} AS summary
  WHERE notification.key = summary.key AND notification.status = 'active' AND notification.times_sent = summary.before`;

/** The rules for which the unit was recorded. Changes of rules wait until this has been read. */
const recordedRules = ({ rows }: SqlDialect) => sql<{ readonly key: RuleKey }>`SELECT notification.key
  FROM ${rows(parameter(0), ruleColumns)} AS summary CROSS JOIN notification WHERE notification.key = summary.key
    AND notification.status = 'active' AND notification.times_sent = summary.before + summary.fired`;

const memoryColumns = { rule: 'integer', device: 'text', memory: 'text', since: 'integer' } as const;

const putMemories = ({ rows }: SqlDialect) => sql`INSERT INTO notification_memory (notification, device, memory)
  SELECT notification.key, entry.device, entry.memory
  FROM ${rows(parameter(0), memoryColumns)} AS entry CROSS JOIN notification
  WHERE notification.key = entry.rule AND notification.watched_since = entry.since
  ON CONFLICT (notification, device) DO UPDATE SET memory = excluded.memory`;

/** What the rule remembers by other ids of the device: else that would count again after the device had gone back to one. */
const forgetFormerMemories = ({ rows }: SqlDialect) => sql`DELETE FROM notification_memory
  WHERE (notification, device) IN (SELECT notification.key, former.id
    FROM ${rows(parameter(0), memoryColumns)} AS entry CROSS JOIN device CROSS JOIN former_device_id AS former
      CROSS JOIN notification
    WHERE device.id = entry.device AND former.device = device.key
      AND notification.key = entry.rule AND notification.watched_since = entry.since)`;

const putFollowed = ({ greater }: SqlDialect) => sql`INSERT INTO counter (name, value)
  VALUES ('followed_seq', ${parameter(0)})
  ON CONFLICT (name) DO UPDATE SET value = ${greater(sql`counter.value`, sql`excluded.value`)}`;
