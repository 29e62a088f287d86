// How changes of alarms are stored: by the watcher in one unit with its firings, and by what looks for silence.
import { type Compilable, sql } from 'kysely';
import { limits } from '../../../../config/limits.ts';
import type { AlarmChange } from '../../../../domain/alarms/alarm.ts';
import { FixedQuery, parameter } from '../fixed-query.ts';
import type { Registry } from '../registry.ts';
import type { SqlDialect } from '../sql-dialect.ts';

export class AlarmRows {
  readonly #count: FixedQuery;
  readonly #change: FixedQuery;
  readonly #insert: FixedQuery;

  constructor(registry: Registry) {
    this.#count = new FixedQuery(registry, countChange);
    this.#change = new FixedQuery(registry, changeAlarms(registry.dialect));
    this.#insert = new FixedQuery(registry, insertAlarms(registry.dialect));
  }

  /** The statements that store the changes, to be run in one unit. */
  statements(changes: readonly AlarmChange[]): Compilable[] {
    if (changes.length === 0) return [];
    const json = JSON.stringify(changes.map(rowOf));
    return [this.#count.with(), this.#change.with(json), this.#insert.with(json)];
  }
}

function rowOf(change: AlarmChange): unknown[] {
  const { rule, threshold } = change;
  return [
    ...[change.id, change.kind, change.subject, change.begins, change.sinceMs, change.clearedMs ?? null],
    ...[change.atMs - limits.alarmReopenMs, change.keeper ?? null, change.author ?? null],
    ...[rule?.key ?? null, rule?.watchedSinceMs ?? null, change.device ?? null, change.sensor ?? null],
    ...[change.gateway ?? null, change.valueJson ?? null, change.condition ?? null],
    ...[threshold === undefined ? null : String(threshold), change.usualS ?? null],
  ];
}

const columns = {
  ...({ id: 'text', kind: 'text', subject: 'text', begins: 'integer', since: 'integer', cleared: 'integer' } as const),
  ...({ reopen: 'integer', keeper: 'integer', author: 'integer' } as const),
  ...({ rule: 'integer', watched: 'integer', device: 'integer', sensor: 'integer' } as const),
  ...({ gateway: 'integer', value: 'text', condition: 'text', threshold: 'text', usual: 'integer' } as const),
};

/** Counts a change of alarms; rows that change in the same unit get the new count. */
export const countChange = sql`INSERT INTO counter (name, value) VALUES ('alarm_changes', 1)
  ON CONFLICT (name) DO UPDATE SET value = counter.value + 1`;

/** The count of changes, for rows that change. */
export const changeCount = sql<number>`(SELECT counter.value FROM counter WHERE counter.name = 'alarm_changes')`;

/** The rule is as it was evaluated, where the alarm has one. */
const isOfRule = sql`(entry.rule IS NULL OR EXISTS (SELECT 1 FROM notification
  WHERE notification.key = entry.rule AND notification.status = 'active' AND notification.watched_since = entry.watched))`;

const changeAlarms = ({ rows }: SqlDialect) => sql`UPDATE alarm SET
    since = CASE WHEN entry.begins > 0 AND alarm.kind IN ('silence', 'gateway') THEN entry.since ELSE alarm.since END,
    cleared = entry.cleared,
    times = alarm.times + entry.begins,
    value = coalesce(entry.value, alarm.value),
    changed = ${changeCount}
  FROM ${rows(parameter(0), columns)} AS entry
  WHERE alarm.subject = entry.subject AND ${isOfRule}
    AND (alarm.cleared IS NULL OR (entry.begins > 0 AND alarm.cleared >= entry.reopen))`;

/** What began without an alarm of before. Records that were removed meanwhile get none. */
const insertAlarms = ({ rows }: SqlDialect) => sql`INSERT INTO alarm
    (id, kind, subject, keeper, author, notification, device, sensor, gateway, since, cleared, times, value, condition,
      threshold, usual, changed)
  SELECT entry.id, entry.kind, entry.subject, entry.keeper, entry.author, entry.rule, entry.device, entry.sensor,
    entry.gateway, entry.since, entry.cleared, entry.begins, entry.value, entry.condition, entry.threshold, entry.usual,
    ${changeCount}
  FROM ${rows(parameter(0), columns)} AS entry
  WHERE entry.begins > 0 AND ${isOfRule}
    AND (entry.keeper IS NULL OR EXISTS (SELECT 1 FROM "user" WHERE "user".key = entry.keeper))
    AND (entry.author IS NULL OR EXISTS (SELECT 1 FROM "user" WHERE "user".key = entry.author))
    AND (entry.device IS NULL OR EXISTS (SELECT 1 FROM device WHERE device.key = entry.device))
    AND (entry.sensor IS NULL OR EXISTS (SELECT 1 FROM sensor WHERE sensor.key = entry.sensor))
    AND (entry.gateway IS NULL OR EXISTS (SELECT 1 FROM gateway WHERE gateway.key = entry.gateway))
    AND NOT EXISTS (SELECT 1 FROM alarm WHERE alarm.subject = entry.subject
      AND (alarm.cleared IS NULL OR alarm.cleared >= entry.reopen))
  ORDER BY entry.position`;
